//! `[optimizer]`: `AdamW` and its learning rate.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::{Problems, written};
use crate::schedule::Decay;
use model_files::dtype::Dtype;
use model_files::section;

/// Master weight of a parameter that is too coarse for small steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MasterWeights {
    /// The parameter in f32: 4 bytes beside it.
    #[default]
    F32,
    /// The lower half of the parameter in f32, whose upper half it is, rounded: 2 bytes beside it, the same results to the bit.
    Split,
    /// Nothing: what a step makes of the parameter is rounded stochastically.
    None,
}

impl MasterWeights {
    /// All.
    pub const ALL: [Self; 3] = [Self::F32, Self::Split, Self::None];

    /// Size of the master weight of one parameter of a model in `dtype`, in bytes.
    pub fn bytes_beside(self, dtype: Dtype) -> u64 {
        match (dtype, self) {
            (Dtype::F32 | Dtype::F64, _) | (Dtype::Bf16, Self::None) => 0,
            (Dtype::Bf16, Self::F32) => 4,
            (Dtype::Bf16, Self::Split) => 2,
        }
    }
}

section! {
    /// `[optimizer]`: `AdamW`.
    pub struct OptimizerSection {
        /// Peak learning rate of `AdamW`.
        #[schemars(extend("exclusiveMinimum" = 0))]
        pub learning_rate: f64 = 1e-6,
        /// Decoupled weight decay.
        #[schemars(range(min = 0.0))]
        pub weight_decay: f64 = 0.0,
        /// Decay of the first and second moment, each at least 0 and below 1.
        pub betas: (f64, f64) = (0.9, 0.999),
        /// Number added to the root of the second moment.
        #[schemars(extend("exclusiveMinimum" = 0))]
        pub epsilon: f64 = 1e-8,
        /// Master weight of a bf16 parameter: `"f32"` (4 bytes), `"split"` (2 bytes, the same bits) or
        /// `"none"` (updates round stochastically). The last two need `model.dtype = "bf16"`, which
        /// alone is too coarse for small steps. `"split"` is the lower half of the f32 whose upper half
        /// the parameter is.
        pub master: MasterWeights = MasterWeights::default(),
        /// Number format of both moments: `"f32"`, 8 bytes per parameter, or `"bf16"`, 4 bytes, rounded
        /// stochastically. The mean is exact. Seed, optimiser step, parameter and element determine the
        /// noise. It is the same on any number of threads and after a resume.
        pub moments: Dtype = Dtype::F32,
        /// Largest L2 norm of the gradient; a larger one is scaled down to it.
        #[schemars(extend("exclusiveMinimum" = 0))]
        pub max_grad_norm: f64 = 1.0,
        /// Optimiser steps of warm-up: step k runs at `(k + 1) / (warmup_steps + 1)` of the peak.
        pub warmup_steps: u64 = 0,
        /// Learning rate after the warm-up: `"constant"`, or down to 0 at the end by `"linear"` or
        /// `"cosine"`.
        pub schedule: Decay = Decay::default(),
    }
}

impl OptimizerSection {
    /// Ranges, and what a model in `dtype` can have, or a state in the host's memory; `section` is where it stands.
    pub(super) fn check(
        &self,
        section: &str,
        dtype: Dtype,
        is_offloaded: bool,
        problems: &mut Problems,
    ) {
        let field = |name: &str| format!("{section}.{name}");
        let wide = self.moments == Dtype::F64;
        let expected = "\"f32\" (f64 where model.dtype is) or \"bf16\"";
        problems.add_unless(!wide, &field("moments"), "f64".to_owned(), expected);
        let is_usual = self.master == MasterWeights::F32;
        let fits = is_usual || dtype == Dtype::Bf16;
        let expected =
            "\"f32\" unless model.dtype is \"bf16\": wider parameters are stepped as they are";
        let value = written(&self.master);
        problems.add_unless(fits, &field("master"), &value, expected);
        // In the host's memory what stands behind a parameter is all of it.
        let expected = "\"f32\" with parallel.offload_optimizer";
        problems.add_unless(is_usual || !is_offloaded, &field("master"), value, expected);
        let (first, second) = self.betas;
        let good = (0.0..1.0).contains(&first) && (0.0..1.0).contains(&second);
        let value = format!("[{first}, {second}]");
        problems.add_unless(good, &field("betas"), value, "two numbers in 0..1, 1 excluded");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_states_need_narrow_parameters() {
        for master in MasterWeights::ALL {
            let section = OptimizerSection { master, ..OptimizerSection::default() };
            let text = toml::to_string(&section).unwrap();
            assert!(text.contains(&format!("master = {}", written(&master))), "{text}");
            for dtype in [Dtype::F32, Dtype::F64, Dtype::Bf16] {
                let mut problems = Problems::default();
                section.check("reward_model.optimizer", dtype, false, &mut problems);
                let messages: Vec<String> = problems.0.iter().map(ToString::to_string).collect();
                if dtype == Dtype::Bf16 || master == MasterWeights::F32 {
                    assert!(messages.is_empty(), "{messages:?}");
                } else {
                    let start = format!("`reward_model.optimizer.master` is {}", written(&master));
                    assert!(messages.len() == 1 && messages[0].contains(&start), "{messages:?}");
                }
            }
        }
    }
}
