//! Trains Qwen2, Qwen3, Llama, Mistral and Gemma 3 language models with the losses of `rl-losses`.

mod child_group;
pub mod command;
pub mod evaluation;
pub mod host_memory;
pub mod interruption;
pub mod launch;
mod machine;
mod memory_check;
pub mod openmp;
pub mod out_of_memory;
pub mod progress;
pub mod reproduce;
pub mod serve;
mod signals;
pub mod training;
pub mod warmup;
