//! Buffers in host memory that would else be on the device.

use super::{Counts, Item, Lengths, Setup, item, kept_activation_bytes};
use training_run::config::Dtype;

/// Bytes of the block inputs in host memory, and of the head that the probe of entropy change keeps there.
pub(in crate::plan) fn offloaded_bytes(setup: &Setup, lengths: Lengths) -> (u64, u64) {
    let counts = Counts::new(setup, lengths);
    (counts.offloaded_inputs(), counts.probed_head())
}

impl Counts<'_> {
    pub(super) fn host(&self) -> Vec<Item> {
        let mut items = Vec::new();
        if self.setup.run.parallel.offload_optimizer {
            items.extend([self.master(), self.moments(), self.gradient_shards()]);
            items.extend(self.reward_optimizer());
        }
        let away = self.offloaded_inputs();
        let rounded = self.pinned_block_inputs(away) + self.pinned_masters();
        items.extend([
            item("block inputs", away, "of the rank's part of an optimiser step"),
            item("head before the update", self.probed_head(), "for the probe of entropy change"),
            item("rounding of it", rounded, "libtorch pins powers of two"),
        ]);
        items
    }

    fn probed_head(&self) -> u64 {
        if self.setup.run.metrics.probe_tokens > 0 { self.element * self.head } else { 0 }
    }

    /// Bytes lost to rounding of pinned block inputs, which are one micro-batch of one block each.
    fn pinned_block_inputs(&self, away: u64) -> u64 {
        let setup = self.setup;
        let tokens = self.update_tokens();
        // A micro-batch holds whole sequences only.
        let sequences = setup.micro_batch_sequences(self.lengths) as u64;
        let full = sequences * self.lengths.sequence_tokens() as u64;
        let one = self.residual_bytes(full.min(tokens)).max(1);
        away.div_ceil(one) * self.lost(one)
    }

    /// Bytes lost to rounding of master weights, pinned for their copy back: per tensor where they are whole, per block where they
    /// are sharded. Vectors are left out; the small matrices of an adapter count twice.
    fn pinned_masters(&self) -> u64 {
        let setup = self.setup;
        if !setup.run.parallel.offload_optimizer {
            return 0;
        }
        if setup.run.lora.is_some() {
            return if setup.on_cpu { 0 } else { self.wide * self.trained };
        }
        let model = &setup.model;
        let tables =
            if model.tied { 1 } else { 2 } * self.lost(self.wide * self.shard_of(self.head));
        let blocks = model.blocks as u64;
        if setup.cuts_optimizer() {
            return tables + blocks * self.lost(self.wide * self.shard(self.block));
        }
        let lost = |outputs: usize, parts: usize| {
            self.lost(self.wide * (model.hidden * outputs.div_ceil(parts)) as u64)
        };
        let query = lost(model.query_width, self.tensor);
        let key = lost(model.key_width, setup.key_shards());
        let gate = lost(model.intermediate, self.tensor);
        tables + blocks * (2 * query + 2 * key + 3 * gate)
    }

    /// Numbers that one rank keeps of `count`: its shard where the optimiser is sharded, else all.
    pub(super) fn shard_of(&self, count: u64) -> u64 {
        if self.setup.cuts_optimizer() { self.shard(count) } else { count }
    }

    /// Pinned bytes beyond `bytes`: libtorch pins blocks of powers of two. A CPU's memory is not pinned.
    fn lost(&self, bytes: u64) -> u64 {
        if self.setup.on_cpu { 0 } else { bytes.next_power_of_two() - bytes }
    }

    /// Bytes of block inputs that lie in host memory, for the rank's part of an optimiser step.
    fn offloaded_inputs(&self) -> u64 {
        if !self.setup.run.parallel.offload_block_inputs {
            return 0;
        }
        self.all_inputs() - self.inputs_of_graphs(kept_activation_bytes(self.setup, self.lengths).0)
    }

    fn all_inputs(&self) -> u64 {
        self.residual_bytes(self.update_tokens()) * self.setup.model.blocks as u64
    }

    /// Bytes of the inputs of blocks whose graphs are kept in `kept` bytes: these stay on the device.
    pub(super) fn inputs_of_graphs(&self, kept: u64) -> u64 {
        let (_, wanted) = kept_activation_bytes(self.setup, self.lengths);
        let all = self.all_inputs();
        let stay = u128::from(all) * u128::from(kept) / u128::from(wanted.max(1));
        u64::try_from(stay).unwrap_or(all)
    }

    /// Optimiser state of the reward model; `None` if it does not learn.
    pub(super) fn reward_optimizer(&self) -> Option<Item> {
        let section = self.setup.run.reward_model.as_ref().filter(|section| section.learns())?;
        let optimizer = &section.optimizer;
        let moment = if optimizer.moments == Dtype::Bf16 { 2 } else { self.wide };
        let master = if self.setup.run.parallel.offload_optimizer {
            self.wide
        } else {
            optimizer.master.bytes_beside(self.setup.run.model.dtype)
        };
        let bytes = self.setup.trained_parameters() as u64 * (2 * moment + master);
        Some(item("its optimiser", bytes, "the reward model's, whole on each rank"))
    }
}
