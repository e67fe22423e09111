//! Trains Qwen2.5- and Llama-architecture language models with the losses of `rl-losses`.

pub mod generation;
pub mod head;
pub mod model;
