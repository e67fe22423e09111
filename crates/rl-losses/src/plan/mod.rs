//! What one optimiser step decides over its whole mini-batch, and how ranks decide it together.

mod error;
mod planning;
mod share;
mod step_plan;

pub use error::PlanError;
pub use share::Share;
pub use step_plan::{PlanPart, StepPlan};
