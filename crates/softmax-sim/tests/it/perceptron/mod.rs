//! The networks of the cart and pole.

mod adam;
