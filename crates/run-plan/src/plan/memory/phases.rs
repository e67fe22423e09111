//! Buffers of each phase of a training step.

use super::{Counts, Item, Phase, item};
use model_files::buffer_limits::{BUCKET_BYTES, CHUNK_LOGITS, WAITING_LOGITS};
use training_run::config::RolloutEngine;

use crate::plan::ModelSizes;
use crate::plan::setup::Probe;

/// Bytes of each logit of the probe's chunk: distributions before and after, in f32 and f64, and the products of Lemma 1.
const PROBE_BYTES: u64 = 48;

impl Counts<'_> {
    pub(super) fn cached_bytes(&self, element: u64, rows: u64, tokens: u64) -> u64 {
        let per_token = self.setup.model.cached_elements_per_token() as u64;
        (per_token * element * rows * tokens).div_ceil(self.setup.key_shards() as u64)
    }

    /// Gathered parameters: the block, embedding or head in use, and the block that is being gathered.
    pub(super) fn gathered(&self) -> Item {
        let count =
            if self.setup.cuts_blocks() { self.block + self.block.max(self.head) } else { 0 };
        item("gathered parameters", self.element * count, "what is open, and what is on its way")
    }

    pub(super) fn rollout(&self) -> Phase {
        let setup = self.setup;
        if setup.run.rollout.engine != RolloutEngine::Own {
            return Phase { name: "sampling", items: Vec::new() };
        }
        // Slots of the KV cache are reserved for the longest response, however short it stays.
        let mut prompt = self.lengths.prompt_tokens as u64;
        let mut capacity = (setup.run.data.max_prompt_tokens.min(self.lengths.prompt_tokens.max(1))
            + setup.run.rollout.max_response_tokens) as u64;
        let most = setup.prompts_per_rank() * setup.run.rollout.group_size;
        let mut rows = setup.run.rollout.rows.min(most) as u64;
        if let Some(environment) = &setup.run.rollout.environment {
            capacity = environment.context_tokens as u64;
            prompt = capacity;
            rows = rows.min(environment.workers as u64);
        }
        // Truncated sampling needs the logits of the whole vocabulary.
        let parts = if setup.truncates() { 1 } else { setup.run.parallel.tensor };
        let vocabulary = setup.model.vocabulary.div_ceil(parts) as u64;
        let by_kernels = setup.decodes_by_cpu_kernels();
        let kind = if by_kernels { 4 } else { self.element };
        let cache = self.cached_bytes(kind, rows, capacity);
        let sampled = rows * vocabulary * (kind + if setup.truncates() { 56 } else { 32 });
        let read = self.forward_bytes(prompt)
            + self.widened_block_bytes(prompt)
            + self.cached_bytes(self.element, 1, prompt);
        let widened = if by_kernels { 0 } else { self.widened_head_bytes() };
        let merged = by_kernels && setup.run.lora.is_some();
        let merged = if merged { self.element * self.blocks } else { 0 };
        let all = self.element * (self.blocks + self.outer);
        let gathered = if setup.cuts_blocks() { all } else { 0 };
        let items = vec![
            item("KV cache", cache, format!("{rows} rows of {capacity} tokens")),
            item("logits and sampling", sampled, "logits, and four columns in f64"),
            item("reading a prompt", read, "one at a time"),
            item("head in f32", widened, "for its product"),
            item("weights with the adapter", merged, "rollout.cpu_kernels merges them"),
            item("gathered parameters", gathered, "all of them, for as long as is sampled"),
        ];
        Phase { name: "sampling", items }
    }

    /// Bytes of one block's forward pass without a graph: three vectors of the residual's width and four of the MLP's, and three more
    /// for each expert of a token.
    pub(super) fn forward_bytes(&self, tokens: u64) -> u64 {
        let ModelSizes { hidden, intermediate, .. } = self.setup.model;
        let shared = (4 * intermediate).div_ceil(self.tensor);
        let copies = 3 * self.setup.model.routed_copies();
        tokens * self.element * ((3 + copies) * hidden + shared) as u64
    }

    /// Bytes of the head in f32, where products of bf16 are taken in f32.
    pub(super) fn widened_head_bytes(&self) -> u64 {
        if self.setup.widens_products { self.wide * self.head } else { 0 }
    }

    /// Bytes of a block's widest product, that of gate and up, with its input, where products of bf16 are taken in f32.
    pub(super) fn widened_block_bytes(&self, tokens: u64) -> u64 {
        let ModelSizes { hidden, intermediate, .. } = self.setup.model;
        let shared = (2 * intermediate as u64).div_ceil(self.tensor as u64);
        let hidden = hidden as u64;
        let numbers = hidden * shared + tokens * (hidden + shared);
        if self.setup.widens_products { self.wide * numbers } else { 0 }
    }

    /// Bytes of the rotary angles of `tokens` tokens, in f32.
    pub(super) fn angle_bytes(&self, tokens: u64) -> u64 {
        tokens * self.setup.model.head_dim as u64 * 4
    }

    pub(super) fn residual_bytes(&self, tokens: u64) -> u64 {
        tokens * self.setup.model.hidden as u64 * self.element
    }

    /// The residual stream of `tokens` tokens, and their rotary angles.
    fn residual(&self, tokens: u64, because: String) -> Item {
        item("residual stream", self.residual_bytes(tokens) + self.angle_bytes(tokens), because)
    }

    pub(super) fn micro_batch(&self, tokens: u64) -> u64 {
        tokens.min(self.setup.run.training.micro_batch_tokens as u64)
    }

    /// Tokens of the vocabulary that one rank has.
    pub(super) fn vocabulary(&self) -> u64 {
        self.setup.model.vocabulary.div_ceil(self.tensor) as u64
    }

    /// True if one kernel computes the gradient of the head's logits in place: on CUDA in bf16, without shards of the vocabulary and
    /// without sampling masks.
    pub(super) fn has_fused_head(&self) -> bool {
        let is_whole = self.tensor == 1 && !self.setup.truncates();
        self.narrow && !self.setup.on_cpu && is_whole
    }

    /// Most logits of a chunk of the head.
    pub(super) fn chunk_logits(&self) -> u32 {
        if self.has_fused_head() { WAITING_LOGITS } else { CHUNK_LOGITS }
    }

    /// Bytes of one chunk of logits and of what is computed from it: `buffers` buffers, and the logits in bf16; for the kernel the
    /// logits alone.
    pub(super) fn chunk_bytes(&self, tokens: u64, buffers: u64) -> u64 {
        let vocabulary = self.vocabulary();
        let most = u64::from(self.chunk_logits()).max(vocabulary);
        let logits = most.min(tokens.saturating_mul(vocabulary));
        if self.has_fused_head() {
            return logits * self.element;
        }
        logits * (buffers * self.wide + if self.narrow { self.element } else { 0 })
    }

    pub(super) fn scoring(&self) -> Phase {
        let sequences = self.setup.sequences_per_rank() as u64;
        let tokens = sequences * self.lengths.sequence_tokens() as u64;
        let micro = self.micro_batch(tokens);
        let responses = micro.min(sequences * self.lengths.response_tokens as u64);
        let head = self.chunk_bytes(responses, 3) + 3 * self.residual_bytes(micro);
        let widened = self.widened_head_bytes().max(self.widened_block_bytes(micro));
        let items = vec![
            self.residual(tokens, format!("of all {tokens} tokens of the rank's part of the step")),
            item("one block", self.forward_bytes(micro), format!("{micro} tokens at a time")),
            item("head", head, format!("in chunks of 2^{} logits", self.chunk_logits().ilog2())),
            item("weights in f32", widened, "of one product, of the head or a block"),
            self.gathered(),
        ];
        Phase { name: "scoring", items }
    }

    /// Size of the largest tensor in bytes: the gradient of the head, gate and up of a micro-batch, or logits.
    pub(super) fn largest_tensor_bytes(&self) -> u64 {
        let head = self.wide * self.trained_table();
        let tokens = self.setup.sequences_per_rank() * self.lengths.sequence_tokens();
        let micro = self.micro_batch(tokens as u64);
        let shared = (2 * self.setup.model.intermediate).div_ceil(self.tensor);
        let gate_and_up = micro * self.element * shared as u64;
        head.max(gate_and_up).max(self.chunk_bytes(micro, 1))
    }

    /// Number of copies that Gloo makes of what it sums on the CPU.
    pub(super) fn copies(&self) -> u64 {
        u64::from(self.setup.on_cpu)
    }

    pub(super) fn optimizer(&self) -> Phase {
        let widest =
            if self.setup.run.lora.is_some() { self.trained } else { self.head.max(self.block) };
        let mut items = vec![self.whole_gradients()];
        if self.setup.cuts_gradients() {
            items.push(self.gradient_shards());
            let updated = if self.setup.cuts_blocks() { 0 } else { 2 * self.element * widest };
            items.push(item("exchange", updated, "the widest matrix or block, gathered again"));
        } else if self.setup.cuts_optimizer() {
            let bytes = widest * ((2 + self.copies()) * self.wide + self.element)
                + self.wide * self.shard(widest);
            let because = "the widest matrix or block: sum, shard, gathered again";
            items.push(item("exchange", bytes, because));
            if !self.setup.run.parallel.offload_optimizer {
                items.push(self.gradient_shards());
            }
        } else if self.data_ranks > 1 {
            let bucket = (u64::from(BUCKET_BYTES) / self.element).max(self.head).min(self.trained);
            let wide = if self.narrow { self.wide } else { 0 };
            let bytes = bucket * (self.element + wide);
            items.push(item("exchange", bytes, "64 MiB or the widest matrix"));
        }
        Phase { name: "optimiser step", items }
    }

    pub(super) fn probe(&self) -> Phase {
        let probe = Probe::of(self.setup, self.lengths);
        let logits = probe.chunk(self.setup.model.vocabulary as u64);
        // On a CPU the copy in the host's memory is used as it is.
        let head = if self.setup.on_cpu { 0 } else { self.element * self.head };
        let micro = self.micro_batch(probe.read);
        let states = 2 * self.residual_bytes(probe.states);
        let because = format!("of {} tokens of the sequences that are probed", probe.read);
        Phase {
            name: "measuring the entropy's change",
            items: vec![
                item("distributions", PROBE_BYTES * logits, "in chunks of 2^22 logits, in f64"),
                item("head before the update", head, "back from the host's memory"),
                item("probed states", states, "of metrics.probe_tokens, before and after"),
                self.residual(probe.read, because),
                item("one block", self.forward_bytes(micro), format!("{micro} tokens at a time")),
                self.gathered(),
            ],
        }
    }
}
