//! Trains Qwen2.5- and Llama-architecture language models with the losses of `rl-losses`.

mod bf16_matmul;
pub mod command;
mod cpu_decoder;
pub mod device;
pub mod evaluation;
pub mod generation;
pub mod head;
pub mod host_memory;
pub mod interruption;
mod kernel_self_test;
pub mod launch;
mod machine;
mod memory_check;
pub mod model;
pub mod one_line;
pub mod openmp;
pub mod out_of_memory;
pub mod progress;
pub mod ranks;
pub mod sampling_mask;
pub mod scoring;
pub mod serve;
mod signals;
pub mod tensor_file;
pub mod training;
pub mod warmup;
