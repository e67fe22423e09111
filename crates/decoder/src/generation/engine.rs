//! The engine that runs the model: libtorch, or this project's own CPU kernels.

use std::slice::from_ref;

use cpu_products::KeyValueCache;
use entropy_core::LogitsError;
use tch::Tensor;
use torch_ext::{HostNumbers, Numbers};

use super::custom_kernels::custom_kernels;
use super::host_sampler::draw_on_host;
use super::kv_cache::KvCache;
use super::request::GenerationOptions;
use super::sampler::{Drawn, draw, drawn};
use super::vocabulary_parallel_sampler::draw_from_shards;
use crate::bf16_matmul::linear;
use crate::cpu_decoder::CpuDecoder;
use crate::kernel_self_test::may_use_kernels;
use crate::model::{
    Decoder, FusedOperations, KernelOperation, Residual, Routing, causal_attention, numbers,
};
use crate::routes::Routes;

/// Logits from which on drawing uses all threads of libtorch: a dozen rows of a large vocabulary.
const WORTH_MORE_THREADS: usize = 1 << 21;

/// Restores libtorch's number of threads.
struct Threads(i32);

impl Drop for Threads {
    fn drop(&mut self) {
        tch::set_num_threads(self.0);
    }
}

/// Restricts libtorch to the calling thread if there are few logits. Its idle threads spin for some milliseconds, on the processors that
/// the CPU kernels need next.
fn one_thread_for(logits: usize) -> Option<Threads> {
    (logits < WORTH_MORE_THREADS).then(|| {
        let before = Threads(tch::get_num_threads());
        tch::set_num_threads(1);
        before
    })
}

/// Kernels that an engine may use where it can.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kernels {
    /// On the CPU: the project's own products, where supported, in place of libtorch's.
    pub(super) cpu: bool,
    /// See [`CpuDecoder::new`].
    pub(super) packs: bool,
    /// On CUDA: one attention kernel for all rows, and the project's own kernels.
    pub(super) cuda: bool,
}

/// State after reading a prompt, shared by its samples.
#[derive(Debug)]
pub(super) struct Prefilled {
    pub(super) prompt: u64,
    /// Final-normed hidden state of the last token, `[1, hidden]`.
    last_hidden: Tensor,
    /// Keys and values of each block, `[1, kv_heads, len, head_dim]`.
    cache: Vec<(Tensor, Tensor)>,
    /// KV cache of the prompt for the CPU kernels.
    memory: Option<KeyValueCache>,
    /// Experts of its tokens, if they are recorded.
    pub(super) routes: Option<Routes>,
}

/// Rows that decode together, each with its own context.
#[derive(Debug)]
pub(super) enum Engine<'a> {
    /// Decodes by libtorch.
    Torch {
        decoder: &'a Decoder,
        fused: FusedOperations,
        cache: KvCache,
        /// Final-normed hidden states that predict the next token of each row, one tensor or several.
        hidden: Vec<Tensor>,
        /// True if the experts of the tokens are recorded.
        records: bool,
    },
    /// Decodes by the project's own CPU kernels.
    Cpu {
        decoder: &'a Decoder,
        own: Box<CpuDecoder>,
        rows: Vec<KeyValueCache>,
        /// `[rows, hidden]`.
        hidden: Vec<f32>,
        /// Most tokens of a row.
        capacity: usize,
    },
}

impl<'a> Engine<'a> {
    /// Makes room for `slots` rows of at most `capacity` tokens. `records` asks for the experts of the tokens.
    pub(super) fn new(
        decoder: &'a Decoder,
        slots: usize,
        capacity: usize,
        Kernels { cpu, packs, cuda }: Kernels,
        records: bool,
    ) -> Self {
        if cpu && let Some(cpu_decoder) = CpuDecoder::new(decoder, packs) {
            let (boxed, rows, hidden) = (Box::new(cpu_decoder), Vec::new(), Vec::new());
            return Self::Cpu { decoder, own: boxed, rows, hidden, capacity };
        }
        let cuda = cuda && may_use_kernels();
        let fused = if cuda {
            custom_kernels(decoder.device(), decoder.kind(), decoder.config())
        } else {
            FusedOperations::default()
        };
        let cache = KvCache::new(decoder, slots, capacity, cuda);
        let records = records && decoder.config().experts.is_some();
        Self::Torch { decoder, fused, cache, hidden: Vec::new(), records }
    }

    /// Reads one prompt. Never batched, so that the result does not depend on other prompts.
    pub(super) fn prefill(&self, prompt: u64, token_ids: &[u32]) -> Prefilled {
        let (Self::Torch { decoder, .. } | Self::Cpu { decoder, .. }) = self;
        let ids: Vec<i64> = token_ids.iter().map(|&id| i64::from(id)).collect();
        let ids = Tensor::from_slice(&ids).unsqueeze(0).to_device(decoder.device());
        let length = ids.size()[1];
        let angles = decoder.angles(&decoder.positions(length));
        let (mut cache, mut used) = (Vec::with_capacity(decoder.block_count()), Vec::new());
        let mut x = decoder.embed(&ids);
        for index in 0..decoder.block_count() {
            let mut routing = Routing::default();
            x = decoder.block(
                index,
                &x,
                &angles,
                |three, window| {
                    // Copies: views would keep the fused projection alive, queries included.
                    cache.push((three[1].copy(), three[2].copy()));
                    causal_attention(three, window)
                },
                &mut routing,
            );
            used.extend(routing.taken.map(|[_, used]| used));
        }
        let last_hidden = decoder.final_norm(&x.select(1, length - 1));
        let memory = matches!(self, Self::Cpu { .. }).then(|| CpuDecoder::read(&cache));
        let records = matches!(self, Self::Torch { records: true, .. });
        let routes = records.then(|| Routes::of_blocks(&used)).flatten();
        Prefilled { prompt, last_hidden, cache, memory, routes }
    }

    /// Adds a row that has read a prompt.
    pub(super) fn place(&mut self, read: &Prefilled) {
        match self {
            Self::Torch { cache, hidden, .. } => {
                cache.place(&read.cache);
                hidden.push(read.last_hidden.shallow_clone());
            }
            Self::Cpu { rows, hidden, capacity, .. } => {
                let mut memory = read.memory.clone().expect("read by this engine");
                memory.reserve(*capacity);
                rows.push(memory);
                hidden.extend(numbers::<f32>(&read.last_hidden));
            }
        }
    }

    /// Logits of every row's next token, `[rows, vocab]`, or of this rank's vocabulary shard.
    pub(super) fn logits(&self) -> Tensor {
        match self {
            Self::Torch { decoder, hidden, .. } => {
                linear(&Tensor::cat(hidden, 0), decoder.head(), None)
            }
            Self::Cpu { decoder, own, rows, hidden, .. } => {
                let _alone = one_thread_for(rows.len() * decoder.config().vocab_size);
                own.logits(hidden)
            }
        }
    }

    /// Draws one token per row, as [`draw`] does, between two steps.
    pub(super) fn draw(
        &self,
        logits: &Tensor,
        uniforms: &[f64],
        options: &GenerationOptions,
    ) -> Result<Vec<Drawn>, LogitsError> {
        let is_plain = !options.truncates() && options.band.is_none();
        match self {
            Self::Torch { decoder, fused, .. } => {
                if let Some(group) = decoder.full_head().group {
                    return draw_from_shards(group, logits, uniforms, options);
                }
                let kernels = fused.kernels(KernelOperation::Drawing);
                let kernels = kernels.filter(|_| is_plain && !options.measure_entropy);
                let by_kernel = kernels.and_then(|kernels| {
                    let uniforms = Tensor::from_slice(uniforms).to_device(logits.device());
                    kernels.draw(logits, &uniforms, options.sampling.temperature).ok()
                });
                if let Some([tokens, log_prob]) = by_kernel {
                    let logits = || logits.shallow_clone();
                    return drawn([&tokens, &log_prob], Vec::new(), Vec::new(), logits);
                }
                draw(logits, uniforms, options)
            }
            Self::Cpu { own, .. } => {
                let on_host = || {
                    HostNumbers::of(from_ref(logits))?.read(|parts| match parts {
                        [Numbers::F32(logits)] => {
                            Some(own.threads.install(|| draw_on_host(logits, uniforms, options)))
                        }
                        _ => None,
                    })
                };
                if is_plain && let Some(drawn) = on_host() {
                    return drawn;
                }
                let _alone = one_thread_for(logits.numel());
                draw(logits, uniforms, options)
            }
        }
    }

    /// Removes row `place`; the last row takes its place.
    pub(super) fn swap_remove(&mut self, place: usize) {
        match self {
            Self::Torch { cache, .. } => cache.move_last_to(place),
            Self::Cpu { rows, .. } => drop(rows.swap_remove(place)),
        }
    }

    /// Reads one token per row. Returns their experts, if they are recorded.
    pub(super) fn step(&mut self, token_ids: &[u32]) -> Option<Routes> {
        let none = token_ids.is_empty();
        match self {
            Self::Torch { hidden, .. } if none => hidden.clear(),
            Self::Cpu { hidden, .. } if none => hidden.clear(),
            Self::Torch { decoder, fused, cache, hidden, records } => {
                let (states, used) = torch_step(decoder, fused, cache, token_ids);
                *hidden = vec![states];
                return records.then(|| Routes::of_blocks(&used)).flatten();
            }
            Self::Cpu { own, rows, hidden, .. } => *hidden = own.step(token_ids, rows),
        }
        None
    }
}

/// Reads one token per row and returns the final-normed hidden states, `[rows, hidden]`, and the experts of each block that has some.
fn torch_step(
    decoder: &Decoder,
    fused: &FusedOperations,
    cache: &mut KvCache,
    token_ids: &[u32],
) -> (Tensor, Vec<Tensor>) {
    let step = cache.advance();
    let token_ids: Vec<i64> = token_ids.iter().map(|&id| i64::from(id)).collect();
    let token_ids = Tensor::from_slice(&token_ids).unsqueeze(1).to_device(decoder.device());
    let angles = decoder.angles(&step.positions);
    let (mut residual, mut used) = (Residual::new(decoder.embed(&token_ids)), Vec::new());
    for index in 0..decoder.block_count() {
        let mut routing = Routing::default();
        decoder.blocks[index].advance(
            &mut residual,
            fused,
            |heads| cache.attend(index, &step, &heads, &angles, fused),
            &mut routing,
            decoder.full_head().group,
        );
        used.extend(routing.taken.map(|[_, used]| used));
    }
    let hidden = residual.normalised(&decoder.final_norm, fused).into_value();
    (hidden.squeeze_dim(1), used)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use tch::{Device, Kind};
    use torch_ext::CudaKernels;

    use super::*;
    use crate::kernel_self_test::{TINY, largest_off};
    use crate::model::rotate_and_store;

    fn decoder() -> Decoder {
        Decoder::load(Path::new(TINY), Device::Cpu, Kind::BFloat16).unwrap()
    }

    fn fused(right: &[KernelOperation]) -> FusedOperations {
        FusedOperations::new(CudaKernels::emulated().unwrap(), right.to_vec())
    }

    /// Builds an engine of three rows of different lengths.
    fn engine(decoder: &Decoder, fused: FusedOperations) -> Engine<'_> {
        let cache = KvCache::new(decoder, 3, 12, false);
        let mut engine =
            Engine::Torch { decoder, fused, cache, hidden: Vec::new(), records: false };
        for (prompt, token_ids) in (0..).zip([&[5, 7, 11][..], &[3], &[2, 9]]) {
            let read = engine.prefill(prompt, token_ids);
            engine.place(&read);
        }
        engine
    }

    /// Logits after each of three steps; the first row leaves before the last.
    fn logits(decoder: &Decoder, fused: FusedOperations) -> Vec<Tensor> {
        let _no_grad = tch::no_grad_guard();
        let mut engine = engine(decoder, fused);
        let mut collected = Vec::new();
        for token_ids in [&[4, 8, 15][..], &[16, 23, 42], &[99, 100]] {
            if token_ids.len() == 2 {
                engine.swap_remove(0);
            }
            engine.step(token_ids);
            collected.push(engine.logits());
        }
        collected
    }

    #[test]
    fn kernels_of_our_own_decode_as_libtorch_does() {
        let decoder = decoder();
        let plain = logits(&decoder, FusedOperations::default());
        // Rotation rounds as libtorch does.
        let rotated = logits(&decoder, fused(&[KernelOperation::Rotation]));
        assert!(rotated.iter().zip(&plain).all(|(computed, plain)| computed.equal(plain)));
        // A norm may be rounded to the other side, as its squares are summed in another order.
        for (computed, plain) in logits(&decoder, fused(&KernelOperation::ALL)).iter().zip(&plain) {
            let off = largest_off(computed, plain);
            assert!(off <= 0.02 * plain.abs().max().double_value(&[]), "{off}");
        }
    }

    /// Without this test, a kernel that refuses its inputs would go unnoticed: libtorch would compute instead.
    #[test]
    fn every_kernel_takes_what_decoding_gives_it() {
        let _no_grad = tch::no_grad_guard();
        let (decoder, fused) = (decoder(), fused(&KernelOperation::ALL));
        let Engine::Torch { mut cache, .. } = engine(&decoder, FusedOperations::default()) else {
            panic!("an engine of libtorch")
        };
        let step = cache.advance();
        let angles = decoder.angles(&step.positions);
        let x = decoder.embed(&Tensor::from_slice(&[4_i64, 8, 15]).unsqueeze(1));
        let before = x.copy();
        let mut residual = Residual::new(x.shallow_clone());
        decoder.blocks[0].advance(
            &mut residual,
            &fused,
            |heads| {
                let room = || Tensor::zeros([36, 2, 16], (Kind::BFloat16, Device::Cpu));
                let (places, mut other) = (Tensor::from_slice(&[1_i64, 2, 0]), [room(), room()]);
                let kernels = fused.kernels(KernelOperation::Rotation).unwrap();
                let query = rotate_and_store(kernels, &heads, &angles, &places, other.each_mut());
                assert_eq!(query.unwrap().size(), [3, 4, 1, 16]);
                cache.attend(0, &step, &heads, &angles, &fused)
            },
            &mut Routing::default(),
            None,
        );
        assert!(!x.equal(&before), "what attention adds is added in place");
        let hidden = residual.normalised(&decoder.final_norm, &fused).into_value();
        let logits = hidden.squeeze_dim(1).linear(decoder.head(), None::<&Tensor>);
        let kernels = fused.kernels(KernelOperation::Drawing).unwrap();
        assert!(kernels.draw(&logits, &Tensor::from_slice(&[0.1, 0.5, 0.9]), 1.0).is_ok());
    }
}
