//! Decoding on the CPU: one token per row through the model, by matrix products made for few rows.
//!
//! libtorch's matrix products with few rows reach a fifth of the memory's bandwidth, and sum in an order that depends on the
//! number of rows. These read each weight once at full width, and give a row the same bits whatever decodes beside it.
//! Activations are rounded to the model's kind where libtorch rounds them, so sampling and training differ by the order of
//! sums alone.

use cpu_products::{Heads, KeyValueCache, Matrix, WAIT_FOR_WEIGHTS, each_row, run_spinning};
use model_files::model_config::BlockOptions;
use pulp::Arch;
use rayon::prelude::*;
use tch::{Device, Kind, Tensor};
use torch_ext::size;

use crate::model::{Block, Decoder, Projection, narrowed, numbers};
use ranks::device::memory_bytes;

/// Models with fewer bytes of weights stay in the processor's caches from token to token, so packing gains nothing.
const LEAVES_CACHES: usize = 64 << 20;

/// Fewest decode steps for which a packed copy pays. For the 0.5B shape packing took 0.2 to 0.66 s and saves 8 to 21 ms per token: 12 to
/// 84 tokens (`docs/benchmarks.md`).
const REPAYS_PACKING: usize = 64;

/// Fewest rows per task when heads are rotated.
const WORTH_A_TASK: usize = 8;

/// A decoder's weights, read in place or from a packed copy.
#[derive(Debug)]
pub struct CpuDecoder {
    arch: Arch,
    pub(crate) threads: rayon::ThreadPool,
    /// True for bf16 models: activations are rounded to bf16.
    rounds: bool,
    embedding: Matrix,
    /// `None` for a head tied to the embedding.
    head: Option<Matrix>,
    blocks: Vec<CpuBlock>,
    final_norm: Vec<f32>,
    eps: f64,
    heads: Heads,
    /// Radians per position, `[head_dim / 2]`.
    frequency: Vec<f32>,
    /// Factor of cosine and sine.
    attention_factor: f32,
}

#[derive(Debug)]
pub(crate) struct CpuBlock {
    attention_norm: Vec<f32>,
    /// Queries, keys, values.
    query_key_value: Matrix,
    query_key_value_bias: Option<Vec<f32>>,
    /// Norms of a head's queries and keys.
    head_norms: Option<[Vec<f32>; 2]>,
    /// Tokens that a token attends to, itself included; `None` for all.
    window: Option<usize>,
    output: Matrix,
    output_bias: Option<Vec<f32>>,
    mlp_norm: Vec<f32>,
    gate_up: Matrix,
    down: Matrix,
}

impl CpuDecoder {
    /// Returns true if the model is on the CPU, in f32 or bf16, with the block of Llama and Qwen and no experts.
    pub fn serves(decoder: &Decoder) -> bool {
        decoder.device() == Device::Cpu
            && matches!(decoder.kind(), Kind::Float | Kind::BFloat16)
            && decoder.config().experts.is_none()
            && decoder.config().architecture.block() == BlockOptions::PLAIN
    }

    /// Builds on the weights of `decoder`, which must not move meanwhile; `None` for models that it does not [serve](Self::serves).
    ///
    /// `packs` allows a packed copy of large bf16 weights if the system has the memory; see [`packing_pays`].
    pub(crate) fn new(decoder: &Decoder, packs: bool) -> Option<Self> {
        if !Self::serves(decoder) || decoder.full_head().group.is_some() {
            return None;
        }
        let _no_grad = tch::no_grad_guard();
        let config = decoder.config();
        let threads = usize::try_from(tch::get_num_threads()).unwrap_or(1).max(1);
        let weight = |table: &Tensor| Matrix::new(std::slice::from_ref(table));
        let mut cpu_decoder = Self {
            arch: Arch::new(),
            threads: rayon::ThreadPoolBuilder::new().num_threads(threads).build().ok()?,
            rounds: decoder.kind() == Kind::BFloat16,
            embedding: weight(&decoder.embedding),
            head: decoder.untied_head.as_ref().map(weight),
            blocks: (decoder.blocks.iter().enumerate())
                .map(|(index, block)| CpuBlock::new(block, config.attention.window_of(index)))
                .collect::<Option<_>>()?,
            final_norm: numbers(&decoder.final_norm.weight),
            eps: config.rms_norm_eps,
            heads: Heads {
                queries: config.num_attention_heads,
                keys: config.num_key_value_heads,
                width: config.head_dim,
            },
            frequency: numbers(&decoder.rope.frequency),
            attention_factor: narrowed(decoder.rope.attention_factor.unwrap_or(1.0)),
        };
        if packs && cpu_decoder.rounds && packing_fits(decoder) {
            cpu_decoder.pack();
        }
        Some(cpu_decoder)
    }

    fn pack(&mut self) {
        let Self { threads, embedding, head, blocks, .. } = self;
        // An embedding that is no head is read one row a token.
        head.as_mut().unwrap_or(embedding).pack(threads);
        for block in blocks {
            let CpuBlock { query_key_value, output, gate_up, down, .. } = block;
            for matrix in [query_key_value, output, gate_up, down] {
                matrix.pack(threads);
            }
        }
    }

    /// Builds the KV cache of a prompt from `prefilled`, keys and values of each block, `[1, kv_heads, tokens, head_dim]`.
    pub(crate) fn read(prefilled: &[(Tensor, Tensor)]) -> KeyValueCache {
        let by_head = |tensor: &Tensor| -> Vec<Vec<f32>> {
            let heads = tensor.squeeze_dim(0);
            (0..heads.size()[0]).map(|head| numbers(&heads.get(head))).collect()
        };
        let tokens = prefilled.first().map_or(0, |(key, _)| key.size()[2]);
        KeyValueCache {
            keys: prefilled.iter().flat_map(|(key, _)| by_head(key)).collect(),
            values: prefilled.iter().flat_map(|(_, value)| by_head(value)).collect(),
            tokens: usize::try_from(tokens).expect("a length"),
        }
    }

    /// Logits `[rows, vocab]` of final-normed hidden states `[rows, hidden]`.
    pub(crate) fn logits(&self, hidden: &[f32]) -> Tensor {
        let head = self.head.as_ref().unwrap_or(&self.embedding);
        let logits = run_spinning(&self.threads, || self.product(head, None, hidden));
        Tensor::from_slice(&logits).view([-1, size(head.outputs())])
    }

    /// Reads one token per row and returns the final-normed hidden states, `[rows, hidden]`.
    pub(crate) fn step(&self, token_ids: &[u32], rows: &mut [KeyValueCache]) -> Vec<f32> {
        run_spinning(&self.threads, || {
            let mut x = Vec::new();
            for &token_id in token_ids {
                self.embedding.push_row(token_id as usize, &mut x);
            }
            let angles: Vec<Vec<(f32, f32)>> =
                rows.iter().map(|row| self.angles(row.tokens)).collect();
            for row in &mut *rows {
                row.tokens += 1;
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
        rows: &mut [KeyValueCache],
        angles: &[Vec<(f32, f32)>],
    ) {
        let Heads { queries, keys, width } = self.heads;
        let normed = self.norm(x, &block.attention_norm);
        let bias = block.query_key_value_bias.as_deref();
        let all = self.product(&block.query_key_value, bias, &normed);
        let mut query = vec![0.0; rows.len() * queries * width];
        let projected = all.par_chunks_exact((queries + 2 * keys) * width);
        let turned = query.par_chunks_exact_mut(queries * width);
        let each = projected.zip(turned).zip(rows.par_iter_mut()).zip(angles);
        each.with_min_len(WORTH_A_TASK).for_each(|(((projected, turned), row), angles)| {
            let (own_query, rest) = projected.split_at(queries * width);
            let (own_key, own_value) = rest.split_at(keys * width);
            turned.copy_from_slice(own_query);
            let [query_norm, key_norm] =
                [0, 1].map(|index| Some(&block.head_norms.as_ref()?[index]));
            for head in turned.chunks_exact_mut(width) {
                self.rotate(head, query_norm, angles);
            }
            let places = row.keys[index * keys..].iter_mut();
            for (place, head) in places.zip(own_key.chunks_exact(width)) {
                let read = place.len();
                place.extend_from_slice(head);
                self.rotate(&mut place[read..], key_norm, angles);
            }
            let places = row.values[index * keys..].iter_mut();
            for (place, head) in places.zip(own_value.chunks_exact(width)) {
                place.extend_from_slice(head);
            }
        });
        let caches: Vec<&KeyValueCache> = rows.iter().collect();
        let mut mixed = self.heads.attend(self.arch, index, &query, &caches, block.window);
        self.round(&mut mixed, queries * width);
        self.add(x, &self.product(&block.output, block.output_bias.as_deref(), &mixed));
    }

    fn mlp(&self, block: &CpuBlock, x: &mut [f32]) {
        let normed = self.norm(x, &block.mlp_norm);
        let gate_up = self.product(&block.gate_up, None, &normed);
        let width = block.gate_up.outputs();
        let mut gated = vec![0.0; gate_up.len() / 2];
        each_row(&mut gated, width / 2, |index, gated| {
            let (gate, up) = gate_up[index * width..][..width].split_at(width / 2);
            for ((gated, gate), up) in gated.iter_mut().zip(gate).zip(up) {
                let silu = self.rounded(gate / (1.0 + (-gate).exp()));
                *gated = self.rounded(silu * up);
            }
        });
        self.add(x, &self.product(&block.down, None, &gated));
    }

    /// `x / sqrt(mean(x²) + eps) · weight`, row by row.
    fn norm(&self, x: &[f32], weight: &[f32]) -> Vec<f32> {
        let mut normed = x.to_vec();
        each_row(&mut normed, weight.len(), |_, row| self.norm_row(row, weight));
        normed
    }

    fn norm_row(&self, row: &mut [f32], weight: &[f32]) {
        let squares: f64 = row.iter().map(|value| f64::from(*value).powi(2)).sum();
        let factor = narrowed((squares / row.len() as f64 + self.eps).sqrt().recip());
        for (x, weight) in row.iter_mut().zip(weight) {
            *x = self.rounded(*x * factor * weight);
        }
    }

    /// Product of `matrix` with `x`, with the bias added, if any, in the model's kind.
    fn product(&self, matrix: &Matrix, bias: Option<&[f32]>, x: &[f32]) -> Vec<f32> {
        let mut product = matrix.multiply(self.arch, x);
        if let Some(bias) = bias {
            each_row(&mut product, bias.len(), |_, row| {
                row.iter_mut().zip(bias).for_each(|(value, bias)| *value += bias);
            });
        }
        self.round(&mut product, matrix.outputs());
        product
    }

    fn add(&self, x: &mut [f32], more: &[f32]) {
        let width = self.final_norm.len();
        each_row(x, width, |index, row| {
            let more = &more[index * width..];
            row.iter_mut().zip(more).for_each(|(x, more)| *x = self.rounded(*x + more));
        });
    }

    /// Scaled cosine and sine of a position's angles, `[head_dim / 2]`.
    fn angles(&self, position: usize) -> Vec<(f32, f32)> {
        #[expect(clippy::cast_precision_loss, reason = "positions are far below 2^24")]
        let position = position as f32;
        let angle = |frequency: &f32| (position * frequency).sin_cos();
        let scale = self.attention_factor;
        let angles = self.frequency.iter().map(angle);
        angles.map(|(sine, cosine)| (cosine * scale, sine * scale)).collect()
    }

    /// Rotates a head, `[head_dim]`, by its angles, after its norm if there is one.
    fn rotate(&self, head: &mut [f32], norm: Option<&Vec<f32>>, angles: &[(f32, f32)]) {
        if let Some(weight) = norm {
            self.norm_row(head, weight);
        }
        let (first, second) = head.split_at_mut(head.len() / 2);
        for ((a, b), (cosine, sine)) in first.iter_mut().zip(second).zip(angles) {
            let turned = [*a * cosine - *b * sine, *b * cosine + *a * sine];
            [*a, *b] = turned.map(|number| self.rounded(number));
        }
    }

    fn round(&self, values: &mut [f32], width: usize) {
        if self.rounds {
            each_row(values, width, |_, row| {
                for value in row {
                    *value = self.rounded(*value);
                }
            });
        }
    }

    /// Rounds `value` to the model's kind: to the nearest bf16, ties to even, or not at all.
    fn rounded(&self, value: f32) -> f32 {
        if self.rounds { half::bf16::from_f32(value).to_f32() } else { value }
    }
}

/// Returns true if packing the weights pays for `rows` rows that decode together for `steps` steps.
pub(crate) fn packing_pays(rows: usize, steps: usize) -> bool {
    rows <= WAIT_FOR_WEIGHTS && steps >= REPAYS_PACKING
}

/// Returns true if a packed copy of a bf16 model is faster to read and leaves half of the available memory free.
fn packing_fits(decoder: &Decoder) -> bool {
    let bytes = 2 * decoder.config().parameter_count();
    let packed = u64::try_from(bytes / 4 * 3).unwrap_or(u64::MAX);
    let fits = |(_, available)| packed < available / 2;
    bytes >= LEAVES_CACHES && memory_bytes().is_some_and(fits)
}

impl CpuBlock {
    /// Takes a block's weights, corrections of an adapter added; `None` for a block with experts.
    fn new(block: &Block, window: Option<usize>) -> Option<Self> {
        let (attention, mlp) = (&block.attention, block.feed_forward.mlp()?);
        let three = [&attention.query, &attention.key, &attention.value];
        let biases: Option<Vec<&Tensor>> = three.iter().map(|own| own.bias.as_ref()).collect();
        let norms = attention.head_norms.as_ref();
        Some(Self {
            attention_norm: numbers(&block.attention_norm.weight),
            query_key_value: Matrix::new(&three.map(Projection::merged_weight)),
            query_key_value_bias: biases.map(|biases| numbers(&Tensor::cat(&biases, 0))),
            head_norms: norms.map(|norms| norms.each_ref().map(|norm| numbers(&norm.weight))),
            window,
            output: Matrix::new(&[attention.output.merged_weight()]),
            output_bias: attention.output.bias.as_ref().map(numbers),
            mlp_norm: numbers(&block.mlp_norm.weight),
            gate_up: Matrix::new(&[&mlp.gate, &mlp.up].map(Projection::merged_weight)),
            down: Matrix::new(&[mlp.down.merged_weight()]),
        })
    }
}

#[cfg(test)]
mod tests {
    use model_files::model_config::{ModelConfig, ModelShape};

    use super::*;
    use crate::kernel_self_test::tiny_config;

    /// Rows that read packed weights, and more than these; a head of its own, and one that is the embedding.
    #[test]
    fn a_packed_decoder_gives_the_bits_of_one_that_is_not() {
        for tie_word_embeddings in [true, false] {
            let shape = ModelShape { tie_word_embeddings, ..(*tiny_config()).clone() };
            let config = ModelConfig::new(shape).unwrap();
            let decoder = Decoder::initialise(config, 7, Device::Cpu, Kind::BFloat16);
            let read = |cpu_decoder: &CpuDecoder, rows: usize| -> Vec<u32> {
                let empty = KeyValueCache {
                    keys: vec![Vec::new(); 4],
                    values: vec![Vec::new(); 4],
                    tokens: 0,
                };
                let mut caches = vec![empty; rows];
                cpu_decoder.step(&vec![3; rows], &mut caches);
                let hidden = cpu_decoder.step(&vec![141; rows], &mut caches);
                let logits = numbers(&cpu_decoder.logits(&hidden));
                hidden.into_iter().chain(logits).map(f32::to_bits).collect()
            };
            let mut cpu_decoder = CpuDecoder::new(&decoder, false).unwrap();
            let before = [1, 2, 3].map(|rows| read(&cpu_decoder, rows));
            cpu_decoder.pack();
            assert!([1, 2, 3].map(|rows| read(&cpu_decoder, rows)) == before);
        }
    }
}
