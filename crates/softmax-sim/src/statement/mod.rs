//! One module per statement of the theory; each takes the formula it checks as an argument, so that a
//! wrong one can be shown to fail.

mod entropy_prediction;
pub mod lemma1;
pub mod proposition1;
pub mod theorem1;
pub mod theorem2;
