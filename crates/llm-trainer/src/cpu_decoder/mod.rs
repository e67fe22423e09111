//! Decoding on the CPU: one token a row through the model, by products made for few rows.
//!
//! libtorch's matrix products with few rows reach a fifth of the memory's bandwidth, and sum in an order that depends on the
//! number of rows. These read each weight once at full width, and give a row the same bits whatever decodes beside it.
//! Activations are rounded to the model's kind where libtorch rounds them, so sampling and training differ by the order of
//! sums alone.

mod attention;
mod matrix;

use std::sync::atomic::{AtomicBool, Ordering};

use pulp::Arch;
use tch::{Device, Kind, Tensor};

use crate::model::{BlockParts, Decoder};
use attention::{Heads, Memory};
use matrix::Matrix;

/// A decoder's weights, read where the decoder keeps them.
#[derive(Debug)]
pub(crate) struct CpuDecoder {
    arch: Arch,
    threads: rayon::ThreadPool,
    /// Whether activations are rounded to bf16.
    rounds: bool,
    embedding: Matrix,
    /// `None` where the embedding serves.
    head: Option<Matrix>,
    blocks: Vec<CpuBlock>,
    final_norm: Vec<f32>,
    eps: f64,
    heads: Heads,
    /// Radians per position, `[head_dim / 2]`.
    frequency: Vec<f32>,
}

/// One block's weights.
#[derive(Debug)]
pub(crate) struct CpuBlock {
    attention_norm: Vec<f32>,
    /// Queries, keys, values.
    query_key_value: Matrix,
    query_key_value_bias: Option<Vec<f32>>,
    output: Matrix,
    output_bias: Option<Vec<f32>>,
    mlp_norm: Vec<f32>,
    gate_up: Matrix,
    down: Matrix,
}

/// What a sequence has read; see [`CpuDecoder::read`].
#[derive(Debug, Clone, Default)]
pub(crate) struct CpuMemory(Memory);

impl CpuDecoder {
    /// Over the weights of `decoder`, which must not move meanwhile; `None` where the model is not on the CPU or of another kind than f32 and bf16.
    pub(crate) fn new(decoder: &Decoder) -> Option<Self> {
        let kind = decoder.kind();
        if decoder.device() != Device::Cpu || !matches!(kind, Kind::Float | Kind::BFloat16) {
            return None;
        }
        let config = decoder.config();
        let threads = usize::try_from(tch::get_num_threads()).unwrap_or(1).max(1);
        let parts = decoder.parts();
        Some(Self {
            arch: Arch::new(),
            threads: rayon::ThreadPoolBuilder::new().num_threads(threads).build().ok()?,
            rounds: kind == Kind::BFloat16,
            embedding: Matrix::new(&[parts.embedding]),
            head: parts.untied_head.map(|head| Matrix::new(&[head])),
            blocks: parts.blocks.into_iter().map(CpuBlock::new).collect(),
            final_norm: numbers(&parts.final_norm),
            eps: config.rms_norm_eps,
            heads: Heads {
                queries: config.num_attention_heads,
                keys: config.num_key_value_heads,
                width: config.head_dim,
            },
            frequency: numbers(&parts.frequency),
        })
    }

    /// What a prompt leaves: `prefilled` are keys and values of each block, `[1, kv_heads, tokens, head_dim]`.
    pub(crate) fn read(prefilled: &[(Tensor, Tensor)]) -> CpuMemory {
        let by_head = |tensor: &Tensor| -> Vec<Vec<f32>> {
            let heads = tensor.squeeze_dim(0);
            (0..heads.size()[0]).map(|head| numbers(&heads.get(head))).collect()
        };
        let tokens = prefilled.first().map_or(0, |(key, _)| key.size()[2]);
        CpuMemory(Memory {
            keys: prefilled.iter().flat_map(|(key, _)| by_head(key)).collect(),
            values: prefilled.iter().flat_map(|(_, value)| by_head(value)).collect(),
            tokens: usize::try_from(tokens).expect("a length"),
        })
    }

    /// Logits `[rows, vocab]` of final-normed hidden states `[rows, hidden]`.
    pub(crate) fn logits(&self, hidden: &[f32]) -> Tensor {
        let head = self.head.as_ref().unwrap_or(&self.embedding);
        let mut logits = awake(&self.threads, || head.multiply(self.arch, hidden));
        self.round(&mut logits);
        let columns = i64::try_from(head.outputs()).expect("a vocabulary");
        Tensor::from_slice(&logits).view([-1, columns])
    }

    /// Reads one token a row and answers with the final-normed hidden states, `[rows, hidden]`.
    pub(crate) fn step(&self, token_ids: &[u32], rows: &mut [CpuMemory]) -> Vec<f32> {
        awake(&self.threads, || {
            let mut x = Vec::new();
            for &token_id in token_ids {
                self.embedding.push_row(token_id as usize, &mut x);
            }
            let angles: Vec<Vec<(f32, f32)>> =
                rows.iter().map(|row| self.angles(row.0.tokens)).collect();
            for row in &mut *rows {
                row.0.tokens += 1;
            }
            for (index, block) in self.blocks.iter().enumerate() {
                self.attention(index, block, &mut x, rows, &angles);
                self.mlp(block, &mut x);
            }
            self.norm(&x, &self.final_norm)
        })
    }

    fn attention(
        &self,
        index: usize,
        block: &CpuBlock,
        x: &mut [f32],
        rows: &mut [CpuMemory],
        angles: &[Vec<(f32, f32)>],
    ) {
        let Heads { queries, keys, width } = self.heads;
        let normed = self.norm(x, &block.attention_norm);
        let all = block.query_key_value.multiply(self.arch, &normed);
        let all = self.with_bias(all, block.query_key_value_bias.as_deref());
        let mut query = Vec::with_capacity(rows.len() * queries * width);
        let own = all.chunks_exact((queries + 2 * keys) * width);
        for ((own, row), angles) in own.zip(rows.iter_mut()).zip(angles) {
            let (own_query, rest) = own.split_at(queries * width);
            let (own_key, own_value) = rest.split_at(keys * width);
            for head in own_query.chunks_exact(width) {
                self.push_rotated(head, angles, &mut query);
            }
            let places = row.0.keys[index * keys..].iter_mut();
            for (place, head) in places.zip(own_key.chunks_exact(width)) {
                self.push_rotated(head, angles, place);
            }
            let places = row.0.values[index * keys..].iter_mut();
            for (place, head) in places.zip(own_value.chunks_exact(width)) {
                place.extend_from_slice(head);
            }
        }
        let memories: Vec<&Memory> = rows.iter().map(|row| &row.0).collect();
        let mut mixed = self.heads.attend(self.arch, index, &query, &memories);
        self.round(&mut mixed);
        let output = block.output.multiply(self.arch, &mixed);
        self.add(x, &self.with_bias(output, block.output_bias.as_deref()));
    }

    fn mlp(&self, block: &CpuBlock, x: &mut [f32]) {
        let normed = self.norm(x, &block.mlp_norm);
        let mut gate_up = block.gate_up.multiply(self.arch, &normed);
        self.round(&mut gate_up);
        let width = block.gate_up.outputs();
        let mut gated = Vec::with_capacity(gate_up.len() / 2);
        for own in gate_up.chunks_exact(width) {
            let (gate, up) = own.split_at(width / 2);
            gated.extend(gate.iter().zip(up).map(|(gate, up)| {
                let silu = self.rounded(gate / (1.0 + (-gate).exp()));
                self.rounded(silu * up)
            }));
        }
        let mut down = block.down.multiply(self.arch, &gated);
        self.round(&mut down);
        self.add(x, &down);
    }

    /// `x / sqrt(mean(x²) + eps) · weight`, row by row.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the statistics are taken in f64 and the activations are f32"
    )]
    fn norm(&self, x: &[f32], weight: &[f32]) -> Vec<f32> {
        let mut normed = Vec::with_capacity(x.len());
        for row in x.chunks_exact(weight.len()) {
            let squares: f64 = row.iter().map(|value| f64::from(*value).powi(2)).sum();
            let factor = (squares / row.len() as f64 + self.eps).sqrt().recip() as f32;
            normed.extend(
                row.iter().zip(weight).map(|(x, weight)| self.rounded(x * factor * weight)),
            );
        }
        normed
    }

    fn with_bias(&self, mut rows: Vec<f32>, bias: Option<&[f32]>) -> Vec<f32> {
        if let Some(bias) = bias {
            for row in rows.chunks_exact_mut(bias.len()) {
                row.iter_mut().zip(bias).for_each(|(value, bias)| *value += bias);
            }
        }
        self.round(&mut rows);
        rows
    }

    fn add(&self, x: &mut [f32], more: &[f32]) {
        x.iter_mut().zip(more).for_each(|(x, more)| *x = self.rounded(*x + more));
    }

    /// Cosine and sine of a position's angles, `[head_dim / 2]`.
    fn angles(&self, position: usize) -> Vec<(f32, f32)> {
        #[expect(clippy::cast_precision_loss, reason = "positions are far below 2^24")]
        let position = position as f32;
        let angle = |frequency: &f32| (position * frequency).sin_cos();
        self.frequency.iter().map(angle).map(|(sine, cosine)| (cosine, sine)).collect()
    }

    /// Adds a head, `[head_dim]`, turned by its angles, to the end of `place`.
    fn push_rotated(&self, head: &[f32], angles: &[(f32, f32)], place: &mut Vec<f32>) {
        let (first, second) = head.split_at(head.len() / 2);
        let halves = || first.iter().zip(second).zip(angles);
        place.extend(halves().map(|((a, b), (cosine, sine))| self.rounded(a * cosine - b * sine)));
        place.extend(halves().map(|((a, b), (cosine, sine))| self.rounded(b * cosine + a * sine)));
    }

    fn round(&self, values: &mut [f32]) {
        if self.rounds {
            for value in values {
                *value = self.rounded(*value);
            }
        }
    }

    /// `value` as the model's kind has it: nearest bf16, ties to even, or itself.
    fn rounded(&self, value: f32) -> f32 {
        if self.rounds { half::bf16::from_f32(value).to_f32() } else { value }
    }
}

/// Runs `work` in the pool, whose other threads look for work all the while: a token is a hundred products of a tenth of a
/// millisecond, and to wake a thread for each takes as long.
///
/// The thread that works never comes to look for work itself, which would be for ever: it waits for a piece only if another
/// thread took that, and these take the oldest first, the watches before any piece.
fn awake<T: Send>(pool: &rayon::ThreadPool, work: impl FnOnce() -> T + Send) -> T {
    /// Says that the work is over, also when it panics: the scope waits for those who look for work.
    struct Over<'a>(&'a AtomicBool);
    impl Drop for Over<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let over = AtomicBool::new(false);
    pool.scope(|scope| {
        for _ in 1..pool.current_num_threads() {
            scope.spawn(|_| {
                while !over.load(Ordering::Relaxed) {
                    if rayon::yield_now() != Some(rayon::Yield::Executed) {
                        std::hint::spin_loop();
                    }
                }
            });
        }
        let _over = Over(&over);
        work()
    })
}

impl CpuBlock {
    fn new(tensors: BlockParts) -> Self {
        let bias = tensors.query_key_value_bias.map(|bias| numbers(&Tensor::cat(&bias, 0)));
        Self {
            attention_norm: numbers(&tensors.attention_norm),
            query_key_value: Matrix::new(&tensors.query_key_value),
            query_key_value_bias: bias,
            output: Matrix::new(&[tensors.output]),
            output_bias: tensors.output_bias.as_ref().map(numbers),
            mlp_norm: numbers(&tensors.mlp_norm),
            gate_up: Matrix::new(&tensors.gate_up),
            down: Matrix::new(&[tensors.down]),
        }
    }
}

impl CpuMemory {
    /// Makes room for so many tokens in all.
    pub(crate) fn reserve(&mut self, tokens: usize) {
        let Memory { keys, values, tokens: read } = &mut self.0;
        for own in keys.iter_mut().chain(values) {
            let width = own.len() / (*read).max(1);
            own.reserve_exact(tokens.saturating_sub(*read) * width);
        }
    }
}

/// All numbers of a tensor, in f32.
pub(crate) fn numbers(tensor: &Tensor) -> Vec<f32> {
    let flat = tensor.detach().to_device(Device::Cpu).to_kind(Kind::Float).reshape(-1);
    Vec::try_from(flat).expect("a one-dimensional tensor of f32")
}

#[cfg(test)]
mod tests {
    use rayon::prelude::*;

    use super::awake;

    #[test]
    fn work_ends_with_any_number_of_threads_and_when_it_panics() {
        for threads in 1..=5 {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            for round in 0..200_u64 {
                let sum: u64 =
                    awake(&pool, || (0..64_u64).into_par_iter().map(|n| n * round).sum());
                assert_eq!(sum, 2016 * round);
            }
            let work =
                || awake(&pool, || assert!(pool.current_num_threads() == 0, "meant to fail"));
            assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).is_err());
        }
    }
}
