//! Size limits of trainer buffers, shared by the code that allocates them and the code that plans them.

/// Most logits of a chunk of the head: 64 MiB in `f32`, a few such buffers live at once.
pub const CHUNK_LOGITS: u32 = 1 << 24;

/// Most gradients of logits that wait to become one product of the head's gradient: 256 MiB in bf16.
pub const WAITING_LOGITS: u32 = 1 << 27;

/// Most bytes of tensors that are summed over the ranks at once: large enough to keep a network busy, small beside a model.
pub const BUCKET_BYTES: u32 = 64 << 20;
