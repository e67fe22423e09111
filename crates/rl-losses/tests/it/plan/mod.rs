//! Plans of the losses.

mod step_plan;
