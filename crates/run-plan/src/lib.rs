//! A run before it starts: [`plan`] says whether it fits, what it sends and how long it takes; [`preflight`] whether it can
//! learn, from a few samples.

pub mod plan;
pub mod preflight;
