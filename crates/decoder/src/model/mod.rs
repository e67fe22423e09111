//! Decoders over libtorch, read from and written to Hugging Face directories.
//!
//! The architectures share one block; they differ in attention's biases, norms of heads and windows, as
//! [`AttentionOptions`](model_files::model_config::AttentionOptions) says, in activation and norms, as
//! [`BlockOptions`](model_files::model_config::BlockOptions) says, and in experts in place of the MLP.
//! A decoder is `embed → blocks → final_norm → head`, and each part can be called alone.

mod adapter;
mod adapter_config;
mod attention;
mod block;
mod block_backward;
mod block_gradients;
mod decoder;
mod draw;
mod error;
mod experts;
mod feed_forward;
mod fused;
mod gate;
mod mlp;
mod operand;
mod packed_attention;
mod placement;
mod projection;
mod residual;
mod rms_norm;
mod rope;
mod save;
mod shape;
mod sharded_blocks;
mod sharded_decoder;
mod stacked;
mod table_gradients;
mod tensor_group;
mod tensor_parallel_decoder;
mod tensor_shard;
mod training_kernels;
mod weights;

pub use attention::causal_attention;
pub(crate) use attention::{Heads, by_position};
pub(crate) use block::Block;
pub use block_backward::BlockBackward;
pub use block_gradients::block_of;
pub use decoder::Decoder;
pub use error::DecoderError;
pub use experts::Routing;
pub use fused::KernelOperation;
pub(crate) use fused::{FusedOperations, rotate_and_store, test_norm, test_rotation};
pub use packed_attention::{PackedLengths, test_fused_training};
pub use placement::Placement;
pub(crate) use projection::Projection;
pub(crate) use residual::Residual;
pub use rope::Angles;
pub(crate) use shape::{narrowed, numbers};
pub use table_gradients::{EmbeddingSum, HeadSum};
pub(crate) use tensor_group::{TensorGroup, sum_over};
pub use tensor_parallel_decoder::FullModel;
pub use tensor_shard::TensorShard;
pub use training_kernels::test_training_kernels;
