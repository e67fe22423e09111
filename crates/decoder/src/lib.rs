//! Decoders of the Qwen2, Qwen3, Llama, Mistral and Gemma 3 architectures on libtorch, mixtures of experts included: they read
//! models, compute, and sample. They know no reward, loss or optimiser. What allocates tensors panics if the device has too little
//! memory.
//!
//! | module | holds |
//! |---|---|
//! | [`model`] | decoder, blocks, adapters, and the shards of a model over ranks |
//! | [`head`] | log-probabilities and entropies from hidden states, and their gradient |
//! | [`generation`], [`sampling_mask`] | sampling, and the tokens that truncated sampling keeps |
//! | [`routes`] | experts that sampled, for passes that replay them |
//! | [`scoring`] | log-probabilities of given tokens |
//! | [`cpu_decoder`], [`bf16_matmul`] | decoding of few rows on a CPU, bf16 products where libtorch has no fast ones |
//! | [`tensor_file`] | tensors in safetensors files |
//! | [`kernel_self_test`] | tests of the device's kernels before they are used |

pub mod bf16_matmul;
pub mod cpu_decoder;
pub mod generation;
pub mod head;
pub mod kernel_self_test;
pub mod model;
pub mod routes;
pub mod sampling_mask;
pub mod scoring;
pub mod tensor_file;
