//! Size limits of trainer buffers, shared by the code that allocates them and the code that plans them.

/// Most logits of a chunk of the head: 64 MiB in `f32`, a few such buffers live at once.
pub const CHUNK_LOGITS: u32 = 1 << 24;

/// Most logits of a chunk of the entropy probe, which holds several copies of them in `f64`.
pub const PROBE_LOGITS: u32 = CHUNK_LOGITS / 4;

/// Tokens that may be read for each state of the entropy probe: sequences are drawn until they have so many. A step can have a
/// thousand times more tokens than are probed; to read all of them twice would cost as much as scoring them twice.
pub const READ_TOKENS_PER_PROBED: u32 = 8;

/// Most gradients of logits that wait to become one product of the head's gradient: 256 MiB in bf16. Also most logits of a chunk where
/// one kernel turns them into their gradient, and needs no other buffer.
pub const WAITING_LOGITS: u32 = 1 << 27;

/// Most bytes of tensors that are summed over the ranks at once: large enough to keep a network busy, small beside a model.
pub const BUCKET_BYTES: u32 = 64 << 20;
