//! The update of a mini-batch: its backward pass goes from the head through the blocks to the embedding. Inputs and graphs of blocks go as
//! gradients come, so its peak is at one of these moments.

use model_files::buffer_limits::WAITING_LOGITS;

use super::{Counts, Item, Phase, bytes_per_token, item, kept_activation_bytes};

impl Counts<'_> {
    pub(super) fn update(&self) -> Phase {
        let blocks =
            (0..self.setup.model.blocks as u64).map(|reversed| self.block_moment(reversed));
        let ends = [self.head_moment()].into_iter();
        let phases = ends.chain(blocks).chain([self.embedding_moment()]);
        let phases = phases.map(|items| Phase { name: "updating", items });
        phases.max_by_key(Phase::bytes).expect("a head")
    }

    /// Tokens of the rank's part of an optimiser step.
    pub(super) fn update_tokens(&self) -> u64 {
        (self.setup.mini_batch_sequences_per_rank() * self.lengths.sequence_tokens()) as u64
    }

    /// Inputs and graphs of the blocks before block `left`, which wait for the backward pass, and the residual's gradient.
    fn waiting(&self, left: u64) -> [Item; 2] {
        let tokens = self.update_tokens();
        let blocks = self.setup.model.blocks as u64;
        let kept = self.kept_bytes(left);
        let inputs = if self.setup.run.parallel.offload_block_inputs {
            self.inputs_of_graphs(kept) + self.residual_bytes(self.micro_batch(tokens))
        } else {
            left * self.residual_bytes(tokens)
        };
        let inputs = inputs + self.residual_bytes(tokens) + self.angle_bytes(tokens);
        let because = format!(
            "{tokens} tokens of the rank's part of an optimiser step, {left} of {blocks} blocks"
        );
        [
            item("block inputs", inputs, because),
            item("activations that are kept", kept, "training.activation_bytes at most"),
        ]
    }

    /// Bytes of the graphs that are kept of the first `left` blocks; graphs are kept from the first block on.
    fn kept_bytes(&self, left: u64) -> u64 {
        let (kept, wanted) = kept_activation_bytes(self.setup, self.lengths);
        kept.min(wanted / self.setup.model.blocks as u64 * left)
    }

    fn trained_of_block(&self) -> u64 {
        let all = if self.setup.run.lora.is_some() { self.trained } else { self.blocks };
        all.div_ceil(self.setup.model.blocks as u64)
    }

    /// Trained parameters of the head, or the embedding.
    pub(super) fn trained_table(&self) -> u64 {
        if self.setup.run.lora.is_some() { 0 } else { self.head }
    }

    /// Gradients of `tables` tables and of `reversed` blocks: whole, or the rank's shards of their sums.
    fn gradients(&self, tables: u64, reversed: u64) -> Item {
        let count = tables * self.trained_table() + reversed * self.trained_of_block();
        let because = format!("of {reversed} blocks, which the backward pass has left");
        if self.setup.cuts_gradients() {
            return item("gradient shards", self.wide * self.shard(count), because);
        }
        item("gradients", self.element * count, because)
    }

    fn head_moment(&self) -> Vec<Item> {
        let tokens = self.update_tokens();
        let micro = self.micro_batch(tokens);
        let responses = micro.min(
            (self.setup.mini_batch_sequences_per_rank() * self.lengths.response_tokens) as u64,
        );
        let (products, sum, after) = self.head_gradient_bytes(responses);
        let during = self
            .chunk_bytes(responses, if self.setup.has_entropy_gradient() { 5 } else { 4 })
            + 3 * self.residual_bytes(micro)
            + products
            + self.widened_head_bytes();
        let gathered = if self.setup.cuts_blocks() { self.block + self.head } else { 0 };
        let chunk = self.chunk_logits().ilog2();
        let because = format!("in chunks of 2^{chunk} logits; the sum of several products in f32");
        let head = item("head, forward and back", sum + during.max(after), because);
        let because = "the head, and the last block on its way";
        let gathered = item("gathered parameters", self.element * gathered, because);
        self.waiting(self.setup.model.blocks as u64).into_iter().chain([head, gathered]).collect()
    }

    /// Bytes of the head's gradient: of logits' gradients that wait for one product; of the sum; and of what the sum is passed on as.
    fn head_gradient_bytes(&self, responses: u64) -> (u64, u64, u64) {
        let trained = self.trained_table();
        if trained == 0 {
            return (0, 0, 0);
        }
        let vocabulary = self.vocabulary();
        let room = (u64::from(WAITING_LOGITS) / vocabulary).max(1);
        let waits = self.narrow && !self.has_fused_head();
        let products = if waits { responses.min(room) * vocabulary * self.element } else { 0 };
        if self.setup.cuts_gradients() {
            // A tied head's sum waits for the embedding's.
            let sent = if self.setup.model.tied { 0 } else { self.sent_table_bytes() };
            return (products, self.wide * trained, sent);
        }
        // The first product is the gradient; a second makes it a sum in f32, which is rounded at the end.
        let is_one = self.setup.micro_batches(self.lengths) == 1 && responses <= room;
        if self.narrow && !is_one {
            return (products, self.wide * trained, self.element * trained);
        }
        (products, self.element * trained, 0)
    }

    /// Bytes of a table's gradient on its way, beside its sum: the buffer that is sent, Gloo's copies, and the shard that comes back.
    fn sent_table_bytes(&self) -> u64 {
        let table = self.trained_table();
        self.wide * (table * (1 + self.copies()) + self.shard(table))
    }

    /// The backward pass of a block when `reversed` blocks behind it are done.
    fn block_moment(&self, reversed: u64) -> Vec<Item> {
        let tokens = self.update_tokens();
        let micro = self.micro_batch(tokens);
        let left = self.setup.model.blocks as u64 - reversed;
        let (kept, wanted) = kept_activation_bytes(self.setup, self.lengths);
        let is_kept = kept >= wanted / self.setup.model.blocks as u64 * left;
        let recomputed = if is_kept { 0 } else { micro * bytes_per_token(self.setup) };
        let block = recomputed
            + self.cotangent_bytes(micro)
            + self.block_gradient_bytes(reversed)
            + self.widened_block_bytes(micro);
        // The gradient of a tied head is not in a shard before the embedding's is.
        let tables = u64::from(!self.setup.cuts_gradients() || !self.setup.model.tied);
        let gathered = if self.setup.cuts_blocks() { 2 * self.block } else { 0 };
        let because = format!("{micro} tokens, with their gradients and the block's");
        let block = item("one block, again and back", block, because);
        let because = "the block, and the next on its way";
        let gathered = item("gathered parameters", self.element * gathered, because);
        let others = [self.gradients(tables, reversed), block, gathered];
        self.waiting(left).into_iter().chain(others).collect()
    }

    /// Gradients of a block's activations, in bytes: the MLP's three wide vectors, and two of the residual's width, also
    /// for each expert of a token.
    fn cotangent_bytes(&self, tokens: u64) -> u64 {
        let model = &self.setup.model;
        let shared = (3 * model.intermediate).div_ceil(self.tensor);
        let copies = 2 * model.routed_copies();
        tokens * self.element * ((2 + copies) * model.hidden + shared) as u64
    }

    /// Bytes of a block's gradient. Summed over the ranks: the sum, autograd's gradient of one micro-batch, the send buffer of the
    /// block before, and Gloo's copy; and the head's, which is sent as the last block begins, or waits for the embedding's. Else: the
    /// gradient of the widest matrix, before it is added.
    fn block_gradient_bytes(&self, reversed: u64) -> u64 {
        if self.setup.run.lora.is_some() {
            return 0;
        }
        if self.setup.cuts_gradients() {
            let head =
                if self.setup.model.tied || reversed == 0 { self.wide * self.head } else { 0 };
            return head + self.block * ((2 + self.copies()) * self.wide + self.element);
        }
        let model = &self.setup.model;
        self.element * (model.hidden * model.intermediate).div_ceil(self.tensor) as u64
    }

    fn embedding_moment(&self) -> Vec<Item> {
        let blocks = self.setup.model.blocks as u64;
        let (cuts, tied) = (self.setup.cuts_gradients(), self.setup.model.tied);
        let table = if cuts {
            self.wide * self.trained_table() + self.sent_table_bytes()
        } else if tied && !self.narrow {
            // Rows are added to the head's gradient.
            0
        } else {
            self.element * self.trained_table()
        };
        let gradients = self.gradients(u64::from(!cuts || !tied), blocks);
        let embedding = item("embedding, back", table, "the gradient of its table");
        self.waiting(0).into_iter().chain([gradients, embedding]).collect()
    }
}
