//! Entropy as part of the objective: the plain bonus, entropy over part of the vocabulary, and an
//! anchor on uncertain tokens.

mod anchored;
mod entropy_bonus;
mod restricted;

pub use anchored::{AnchoredEntropy, AnchoredEntropyTerm, EntropySums, uncertain_tokens};
pub use entropy_bonus::entropy_bonus;
pub use restricted::{RestrictedEntropy, RestrictedEntropyError, Restriction, restricted_entropy};
