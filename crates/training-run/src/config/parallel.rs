//! `[parallel]`: how a run is spread over processes and memory.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use model_files::section;

section! {
    /// `[parallel]`
    #[derive(Copy, Eq)]
    pub struct ParallelSection {
        /// Stage of `ZeRO`: 1 shards the optimiser's state over the processes, 2 also gradients, 3 also
        /// parameters; 0 shards nothing. Stages 2 and 3 shard those of blocks, embedding and head
        /// (arXiv:1910.02054). With 3 a block is whole only while it is computed, and all are while
        /// responses are sampled. Changes memory, speed and rounding; a run may continue with another
        /// stage.
        pub zero: Zero = Zero::default(),
        /// Processes that hold one model together, each a shard of every large matrix (tensor
        /// parallelism). It divides the number of processes, the model's heads, `intermediate_size` and
        /// `vocab_size`. It divides the key/value heads or is a multiple of them. The other processes
        /// are replicas, over which `zero` shards. A run may continue with another value.
        #[schemars(range(min = 1, max = 1024))]
        pub tensor: usize = 1,
        /// Exchange gradients and parameters of blocks while other blocks are computed; the numbers are
        /// the same. `false` waits for each exchange, to measure the difference.
        pub overlap: bool = true,
        /// Keep f32 master weights (`optimizer.master`) and both moments in host memory, and step
        /// there. The device keeps the parameters. The numbers are those of the CPU's optimiser.
        pub offload_optimizer: bool = false,
        /// Keep the inputs of blocks in host memory until the backward pass; the numbers are the same.
        /// Those that `training.activation_bytes` covers are excepted.
        pub offload_block_inputs: bool = false,
        /// Longest wait of a rank for another; then the run ends on every rank (`docs/distributed.md`).
        /// It names the missing rank, its host and the operation.
        #[schemars(range(min = 1, max = 86_400))]
        // The default of torch's own process groups on the CPU.
        pub timeout_seconds: u64 = 1800,
        /// Longest wait of a rank for the store at its start; raise it if nodes start apart.
        #[schemars(range(min = 1, max = 86_400))]
        pub connect_seconds: u64 = 60,
    }
}

impl ParallelSection {
    /// Longest wait of a rank for another.
    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout_seconds)
    }

    /// Longest wait of a rank for the store at its start.
    pub fn connect_timeout(&self) -> Duration {
        Duration::from_secs(self.connect_seconds)
    }
}

/// Stage of `ZeRO`: what is cut over the ranks in place of being on each.
///
/// Source: Rajbhandari et al. 2020, *`ZeRO`*, [arXiv:1910.02054](https://arxiv.org/abs/1910.02054), Sec. 5.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "u8", into = "u8")]
#[schemars(extend("maximum" = 3))]
pub enum Zero {
    /// Nothing.
    #[default]
    Nothing = 0,
    /// Stage 1: the optimiser's state.
    Optimizer = 1,
    /// Stage 2: that and the gradients of blocks, embedding and head.
    Gradients = 2,
    /// Stage 3: those and their parameters.
    Parameters = 3,
}

impl TryFrom<u8> for Zero {
    type Error = String;

    fn try_from(stage: u8) -> Result<Self, String> {
        let stages = [Self::Nothing, Self::Optimizer, Self::Gradients, Self::Parameters];
        let known = stages.get(usize::from(stage)).copied();
        known.ok_or_else(|| format!("zero is {stage}, expected 0, 1, 2 or 3"))
    }
}

impl From<Zero> for u8 {
    fn from(stage: Zero) -> Self {
        stage as Self
    }
}

impl Zero {
    /// True if the optimiser's state is sharded.
    pub fn shards_optimizer(self) -> bool {
        self != Self::Nothing
    }

    /// True if the gradients of blocks, embedding and head are sharded.
    pub fn shards_gradients(self) -> bool {
        matches!(self, Self::Gradients | Self::Parameters)
    }

    /// True if the parameters of blocks, embedding and head are sharded.
    pub fn shards_parameters(self) -> bool {
        self == Self::Parameters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_is_its_number() {
        for stage in 0..=3 {
            let text = format!("zero = {stage}\n");
            let section: ParallelSection = toml::from_str(&text).unwrap();
            assert!(toml::to_string(&section).unwrap().starts_with(&text), "{section:?}");
            assert_eq!(section.zero.shards_optimizer(), stage > 0);
        }
        let error = toml::from_str::<ParallelSection>("zero = 7").unwrap_err().to_string();
        assert!(error.contains("zero is 7, expected 0, 1, 2 or 3"), "{error}");
    }
}
