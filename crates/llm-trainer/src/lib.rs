//! Trains Qwen2, Qwen3, Llama, Mistral and Gemma 3 language models with the losses of `rl-losses`.

mod child_group;
pub mod command;
mod evaluation;
pub mod host_memory;
pub mod interruption;
mod launch;
mod machine;
pub mod openmp;
pub mod out_of_memory;
mod progress;
mod reproduce;
mod serve;
pub mod training;
mod warmup;
