//! Plan of one optimiser step over its mini-batch, and how ranks make it together.

mod error;
mod planning;
mod share;
mod step_plan;

pub use error::PlanError;
pub use share::Share;
pub use step_plan::{PlanPart, StepPlan};
