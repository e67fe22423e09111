//! What lies in the host's memory in place of the device's.

use super::{Counts, Item, item, kept_activation_bytes};
use crate::config::Dtype;

/// The name of those that wait there.
pub(in crate::plan) const BLOCK_INPUTS: &str = "block inputs";

impl Counts<'_> {
    /// What lies there.
    pub(super) fn host(&self) -> Vec<Item> {
        let mut items = Vec::new();
        if self.setup.offload_optimizer {
            items.extend(self.optimizer_state());
            items.extend(self.reward_optimizer());
        }
        let (_, away) = self.block_inputs();
        items.push(item(BLOCK_INPUTS, away, "of the rank's part of an optimiser step"));
        items
    }

    /// Inputs of blocks that stay on the device, and that lie in the host's memory, of the rank's part of an optimiser step.
    pub(super) fn block_inputs(&self) -> (u64, u64) {
        let setup = self.setup;
        let tokens =
            (setup.mini_batch_sequences_per_rank() * self.lengths.sequence_tokens()) as u64;
        let all = self.residual_bytes(tokens) * setup.model.blocks as u64;
        if !setup.offload_block_inputs {
            return (all, 0);
        }
        // Those of graphs that are kept stay, and those of the micro-batch that is worked on.
        let (kept, wanted) = kept_activation_bytes(setup, self.lengths);
        let stay = u128::from(all) * u128::from(kept) / u128::from(wanted.max(1));
        let stay = u64::try_from(stay).unwrap_or(all);
        (stay + self.residual_bytes(self.micro_batch(tokens)), all - stay)
    }

    /// What the reward model learns with, where it learns.
    pub(super) fn reward_optimizer(&self) -> Option<Item> {
        let copies = self.setup.reward_model.filter(|copies| copies.learns)?;
        let moment = if copies.moments == Dtype::Bf16 { 2 } else { self.wide };
        let master = if self.setup.offload_optimizer {
            self.wide
        } else {
            copies.master.bytes_beside(self.setup.dtype)
        };
        let bytes = self.setup.trained_parameters() as u64 * (2 * moment + master);
        Some(item("its optimiser", bytes, "the reward model's, whole on each rank"))
    }
}
