//! `[optimizer]`: `AdamW` and its learning rate.

use serde::{Deserialize, Serialize};

use super::Dtype;
use super::problems::Problems;
use crate::schedule::Decay;

/// `[optimizer]`: `AdamW`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OptimizerSection {
    /// Peak learning rate.
    pub learning_rate: f64,
    /// Decoupled weight decay.
    pub weight_decay: f64,
    /// Decay of the first and second moment.
    pub betas: (f64, f64),
    /// Added to the root of the second moment.
    pub epsilon: f64,
    /// Number format of both moments; bf16 is rounded stochastically, so that small changes are not lost.
    pub moments: Dtype,
    /// The gradient is scaled down to this L2 norm.
    pub max_grad_norm: f64,
    /// Optimiser steps below the peak at the start.
    pub warmup_steps: u64,
    /// Shape of the learning rate afterwards.
    pub schedule: Decay,
}

impl Default for OptimizerSection {
    fn default() -> Self {
        Self {
            learning_rate: 1e-6,
            weight_decay: 0.0,
            betas: (0.9, 0.999),
            epsilon: 1e-8,
            moments: Dtype::F32,
            max_grad_norm: 1.0,
            warmup_steps: 0,
            schedule: Decay::default(),
        }
    }
}

impl OptimizerSection {
    /// Ranges; `section` is where it stands.
    pub(super) fn check(&self, section: &str, problems: &mut Problems) {
        let field = |name: &str| format!("{section}.{name}");
        problems.positive(&field("learning_rate"), self.learning_rate);
        problems.positive(&field("epsilon"), self.epsilon);
        problems.positive(&field("max_grad_norm"), self.max_grad_norm);
        let wide = self.moments == Dtype::F64;
        let expected = "\"f32\" (f64 where model.dtype is) or \"bf16\"";
        problems.add_unless(!wide, &field("moments"), "f64".to_owned(), expected);
        let decay = self.weight_decay;
        let good = decay.is_finite() && decay >= 0.0;
        let expected = "a finite number of at least 0";
        problems.require(good, &field("weight_decay"), decay, expected);
        let (first, second) = self.betas;
        let good = (0.0..1.0).contains(&first) && (0.0..1.0).contains(&second);
        let value = format!("[{first}, {second}]");
        problems.add_unless(good, &field("betas"), value, "two numbers in 0..1, 1 excluded");
    }
}
