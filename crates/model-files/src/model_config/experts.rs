//! Mixtures of experts in place of the feed-forward layer.

/// A mixture of experts in place of the feed-forward layer of some blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpertOptions {
    /// Experts of a block.
    pub count: usize,
    /// Experts that a token goes to, at most `count`.
    pub per_token: usize,
    /// Width of one expert.
    pub intermediate_size: usize,
    /// True if the weights of a token's experts are divided by their sum.
    pub normalised: bool,
    /// Every `block_step`-th block has experts.
    pub block_step: usize,
    /// Blocks that have none all the same.
    pub dense_blocks: Vec<usize>,
}

/// Most experts of a block: a recorded choice takes two bytes.
const MOST_EXPERTS: usize = u16::MAX as usize;

impl ExpertOptions {
    /// Returns true if block `index` has experts.
    pub(super) fn stand_in(&self, index: usize) -> bool {
        (index + 1).is_multiple_of(self.block_step) && !self.dense_blocks.contains(&index)
    }

    /// Returns field, value and expected values of the first invalid field.
    pub(super) fn fault(&self) -> Option<(&'static str, String, &'static str)> {
        let fault = |field, value: usize, expected| Some((field, value.to_string(), expected));
        if !(1..=MOST_EXPERTS).contains(&self.count) {
            return fault("num_experts", self.count, "a whole number from 1 to 65535");
        }
        if !(1..=self.count).contains(&self.per_token) {
            return fault("num_experts_per_tok", self.per_token, "from 1 to num_experts");
        }
        if !(1..=1 << 31).contains(&self.intermediate_size) {
            let expected = "a whole number from 1 to 2^31";
            return fault("moe_intermediate_size", self.intermediate_size, expected);
        }
        if self.block_step == 0 {
            return fault("decoder_sparse_step", 0, "at least 1");
        }
        None
    }
}
