//! Controllers of a coefficient or a fraction.

mod annealing;
mod difficulty;
mod knob;
mod skywork;
mod target;
