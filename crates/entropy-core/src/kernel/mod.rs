//! Row kernels: one softmax row at a time, over contiguous slices, at the speed of the machine.
//!
//! [`Categorical`](crate::Categorical) is the reference: it allocates, checks once and sums with
//! compensation. The kernels here compute the same quantities in place, in one or two passes, for
//! simulators and vocabularies:
//!
//! - [`row`]: softmax, log-softmax, log-sum-exp and entropy of a row;
//! - [`short_row`]: the same for rows of a few actions, where choosing instructions would cost more than the row;
//! - [`ExactStep`]: exact policy-gradient steps with entropy, covariance and value of each.
//!
//! The exponential underneath is exact to 1 unit in the last place, subnormal numbers included.
//!
//! **The same bits everywhere.** Every sum runs in eight lanes that are added in one fixed tree, and every
//! multiply-add is fused, in hardware or not. So the instruction set, which is chosen at run time
//! ([`InstructionSet`]), changes the speed of a result and never a bit of it.
//!
//! Sums are anchored at the mode, as `docs/theory.md#numerics` derives, but not compensated: relative errors grow
//! with the length of a lane, to about 1e-13 for 10⁵ actions.

mod exact_step;
mod exp;
mod instruction_set;
mod lanes;
pub mod row;
pub mod short_row;
mod tempered;

pub use exact_step::{ExactStep, StepSummary};
pub use instruction_set::InstructionSet;
pub(crate) use tempered::tempered;
