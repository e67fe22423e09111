//! Matrix products and attention of few rows on the CPU: what decoding one token a row takes most of its time for.
//!
//! Vector instructions of the processor, chosen at run time; weights stay where libtorch keeps them, or in a packed copy. A row
//! gives the same bits whatever is computed beside it, on any number of threads.

mod attention;
mod matrix;
mod rows;
mod spinning_pool;

pub use attention::{Heads, KeyValueCache};
pub use matrix::{Matrix, WAIT_FOR_WEIGHTS};
pub use rows::each_row;
pub use spinning_pool::run_spinning;
