//! Tests of `control`.

mod annealing;
mod difficulty;
mod knob;
mod skywork;
mod target;
