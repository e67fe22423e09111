//! Controllers: from what a step measured to a knob of the next.

mod error;

pub use error::ControlError;
