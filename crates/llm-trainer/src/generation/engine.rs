//! What runs the model: libtorch, or the CPU's own products.

use tch::Tensor;

use super::kv_cache::KvCache;
use crate::cpu_decoder::{CpuDecoder, CpuMemory, numbers};
use crate::model::{Decoder, causal_attention};
use crate::product::linear;

/// Logits from which on all threads of libtorch draw tokens: a dozen rows of a large vocabulary.
const WORTH_MORE_THREADS: usize = 1 << 21;

/// Keeps libtorch to the calling thread.
#[derive(Debug)]
struct OneThread {
    before: i32,
}

impl OneThread {
    fn new() -> Self {
        let before = tch::get_num_threads();
        tch::set_num_threads(1);
        Self { before }
    }
}

impl Drop for OneThread {
    fn drop(&mut self) {
        tch::set_num_threads(self.before);
    }
}

/// Who multiplies a model's weights with rows on the CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Products {
    /// libtorch.
    Torch,
    /// Products of our own, where they can; `packs` as [`CpuDecoder::new`] has it.
    Own { packs: bool },
}

/// What an engine may use where it can.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kernels {
    pub(super) products: Products,
    /// One kernel for the attention of all rows.
    pub(super) fused_attention: bool,
}

/// What reading a prompt leaves; shared by its samples.
#[derive(Debug)]
pub(super) struct Prefilled {
    /// Index of the prompt.
    pub(super) prompt: usize,
    /// Final-normed hidden state of the last token, `[1, hidden]`.
    last_hidden: Tensor,
    /// Keys and values of each block, `[1, kv_heads, len, head_dim]`.
    cache: Vec<(Tensor, Tensor)>,
    /// The same for the CPU's own products.
    memory: Option<CpuMemory>,
}

/// Rows that decode together, each after what it has read.
#[derive(Debug)]
pub(super) enum Engine<'a> {
    /// By libtorch.
    Torch {
        decoder: &'a Decoder,
        cache: KvCache,
        /// Final-normed hidden states that predict the next token of each row, one tensor or several.
        hidden: Vec<Tensor>,
    },
    /// By the CPU's own products.
    Cpu {
        decoder: &'a Decoder,
        own: Box<CpuDecoder>,
        rows: Vec<CpuMemory>,
        /// `[rows, hidden]`.
        hidden: Vec<f32>,
        /// Most tokens of a row.
        capacity: usize,
    },
}

impl<'a> Engine<'a> {
    /// Room for `slots` rows of at most `capacity` tokens.
    pub(super) fn new(
        decoder: &'a Decoder,
        (slots, capacity): (usize, usize),
        Kernels { products, fused_attention }: Kernels,
    ) -> Self {
        // The CPU's own products know whole models alone.
        let own = match products {
            Products::Own { packs } if decoder.group().is_none() => CpuDecoder::new(decoder, packs),
            _ => None,
        };
        if let Some(own) = own {
            let own = Box::new(own);
            return Self::Cpu { decoder, own, rows: Vec::new(), hidden: Vec::new(), capacity };
        }
        let cache = KvCache::new(decoder, slots, capacity, fused_attention);
        Self::Torch { decoder, cache, hidden: Vec::new() }
    }

    /// Reads one prompt. Always one at a time, so that what it leaves does not depend on what else is asked.
    pub(super) fn prefill(&self, prompt: usize, token_ids: &[u32]) -> Prefilled {
        let (Self::Torch { decoder, .. } | Self::Cpu { decoder, .. }) = self;
        let ids: Vec<i64> = token_ids.iter().map(|&id| i64::from(id)).collect();
        let ids = Tensor::from_slice(&ids).unsqueeze(0).to_device(decoder.device());
        let length = ids.size()[1];
        let angles = decoder.angles(&decoder.positions(length));
        let mut cache = Vec::with_capacity(decoder.block_count());
        let mut x = decoder.embed(&ids);
        for index in 0..decoder.block_count() {
            x = decoder.block(index, &x, &angles, |query, key, value| {
                // Views of what the queries are a part of; those need not be kept.
                cache.push((key.copy(), value.copy()));
                causal_attention(query, key, value)
            });
        }
        let last_hidden = decoder.final_norm(&x.select(1, length - 1));
        let memory = matches!(self, Self::Cpu { .. }).then(|| CpuDecoder::read(&cache));
        Prefilled { prompt, last_hidden, cache, memory }
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
                hidden.extend(numbers(&read.last_hidden));
            }
        }
    }

    /// Logits of every row's next token, `[rows, vocab]`, or of this rank's part of the vocabulary.
    pub(super) fn logits(&self) -> Tensor {
        match self {
            Self::Torch { decoder, hidden, .. } => {
                linear(&Tensor::cat(hidden, 0), decoder.head(), None)
            }
            Self::Cpu { own, hidden, .. } => own.logits(hidden),
        }
    }

    /// Runs libtorch's operators on `logits` between two steps.
    ///
    /// On this thread alone, where these are few numbers and the CPU's own products come next: threads of libtorch that have
    /// done their work look for more for some milliseconds, on the processors that the products need.
    pub(super) fn beside_decoding<T>(&self, logits: &Tensor, work: impl FnOnce() -> T) -> T {
        let few = matches!(self, Self::Cpu { .. }) && logits.numel() < WORTH_MORE_THREADS;
        let _alone = few.then(OneThread::new);
        work()
    }

    /// Gives the place of a row to the last one.
    pub(super) fn swap_remove(&mut self, place: usize) {
        match self {
            Self::Torch { cache, .. } => cache.move_last_to(place),
            Self::Cpu { rows, .. } => drop(rows.swap_remove(place)),
        }
    }

    /// Reads one token a row.
    pub(super) fn step(&mut self, token_ids: &[u32]) {
        let none = token_ids.is_empty();
        match self {
            Self::Torch { hidden, .. } if none => hidden.clear(),
            Self::Cpu { hidden, .. } if none => hidden.clear(),
            Self::Torch { decoder, cache, hidden } => {
                *hidden = vec![torch_step(decoder, cache, token_ids)];
            }
            Self::Cpu { own, rows, hidden, .. } => *hidden = own.step(token_ids, rows),
        }
    }
}

/// Reads one token a row and answers with its final-normed hidden states, `[rows, hidden]`.
fn torch_step(decoder: &Decoder, cache: &mut KvCache, token_ids: &[u32]) -> Tensor {
    let step = cache.advance();
    let token_ids: Vec<i64> = token_ids.iter().map(|&id| i64::from(id)).collect();
    let token_ids = Tensor::from_slice(&token_ids).unsqueeze(1).to_device(decoder.device());
    let angles = decoder.angles(&step.positions());
    let mut x = decoder.embed(&token_ids);
    for index in 0..decoder.block_count() {
        x = decoder.block(index, &x, &angles, |query, key, value| {
            cache.attend(index, &step, query, key, value)
        });
    }
    decoder.final_norm(&x.squeeze_dim(1))
}
