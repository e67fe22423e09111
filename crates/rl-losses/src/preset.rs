//! Published settings by name.

use thiserror::Error;

use crate::{ClipCov, ClipRange, CovarianceBand, DualClip, KlCov, PolicyLoss, PpoClip};

/// A loss with published numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Preset {
    /// Name, in kebab case.
    pub name: &'static str,
    /// Where the numbers stand.
    pub source: &'static str,
    /// The loss.
    pub loss: PolicyLoss,
}

/// No preset has this name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("no preset is named `{name}`, expected one of {}", known_names())]
pub struct UnknownPreset {
    /// The name asked for.
    pub name: String,
}

/// Every preset, in the order of the paper: baselines, Clip-Cov, KL-Cov, library defaults.
pub fn presets() -> &'static [Preset] {
    &PRESETS
}

impl PolicyLoss {
    /// The loss that a published run used.
    ///
    /// # Errors
    ///
    /// [`UnknownPreset`], which lists the names there are.
    pub fn preset(name: &str) -> Result<Self, UnknownPreset> {
        let found = PRESETS.iter().find(|preset| preset.name == name);
        found.map(|preset| preset.loss).ok_or_else(|| UnknownPreset { name: name.to_owned() })
    }
}

fn known_names() -> String {
    PRESETS.map(|preset| format!("`{}`", preset.name)).join(", ")
}

const fn ppo_clip(low: f64, high: f64, dual_clip: DualClip) -> PolicyLoss {
    PolicyLoss::PpoClip(PpoClip { clip: ClipRange { low, high }, dual_clip })
}

/// Every published run has the same fraction and band; only the trust region differs.
const fn clip_cov(clip: f64) -> PolicyLoss {
    PolicyLoss::ClipCov(ClipCov {
        fraction: 2e-4,
        band: CovarianceBand { low: 1.0, high: 5.0 },
        clip: ClipRange { low: clip, high: clip },
    })
}

const fn kl_cov(fraction: f64, coefficient: f64) -> PolicyLoss {
    PolicyLoss::KlCov(KlCov { fraction, coefficient })
}

const PRESETS: [Preset; 10] = [
    Preset {
        name: "grpo",
        source: "arXiv:2402.03300 Eq. 3; baseline of arXiv:2505.22617 (ratio clipped at 0.2)",
        loss: ppo_clip(0.2, 0.2, DualClip::OFF),
    },
    Preset {
        name: "clip-higher",
        source: "baseline of arXiv:2505.22617, Sec. 4.3 (upper bound 0.28)",
        loss: ppo_clip(0.2, 0.28, DualClip::OFF),
    },
    Preset {
        name: "dapo",
        source: "arXiv:2503.14476; verl recipe/dapo (clip-higher, dual clip at 10)",
        loss: ppo_clip(0.2, 0.28, DualClip { ceiling: 10.0 }),
    },
    Preset {
        name: "paper-7b-clip-cov",
        source: "arXiv:2505.22617 Sec. 4.3; verl-recipe entropy/7b_clip_cov.sh",
        loss: clip_cov(1.0),
    },
    Preset {
        name: "paper-32b-clip-cov",
        source: "arXiv:2505.22617 Sec. 4.3; verl-recipe entropy/32b_clip_cov.sh",
        loss: clip_cov(1.0),
    },
    Preset {
        name: "paper-7b-kl-cov",
        source: "arXiv:2505.22617 Sec. 4.3; verl-recipe entropy/7b_kl_cov.sh",
        loss: kl_cov(2e-3, 1.0),
    },
    Preset {
        name: "paper-32b-kl-cov",
        source: "arXiv:2505.22617 Sec. 4.3; verl-recipe entropy/32b_kl_cov.sh",
        loss: kl_cov(2e-4, 1.0),
    },
    Preset {
        name: "verl-default-ppo-clip",
        source: "verl v0.6.1 actor configuration: clip 0.2, dual clip at 3",
        loss: ppo_clip(0.2, 0.2, DualClip { ceiling: 3.0 }),
    },
    Preset {
        name: "verl-default-clip-cov",
        source: "verl v0.6.1 policy_loss configuration, with its default clip of 0.2",
        loss: clip_cov(0.2),
    },
    Preset {
        name: "verl-default-kl-cov",
        source: "verl v0.6.1 policy_loss configuration: ppo_kl_coef 0.1",
        loss: kl_cov(2e-4, 0.1),
    },
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_an_unknown_one_lists_them() {
        let names: BTreeSet<&str> = presets().iter().map(|preset| preset.name).collect();
        assert_eq!(names.len(), presets().len());
        let error = PolicyLoss::preset("paper-8b").unwrap_err().to_string();
        assert!(error.starts_with("no preset is named `paper-8b`, expected one of `grpo`, "));
    }

    #[test]
    fn defaults_are_the_presets_they_are_documented_as() {
        let preset = |name| PolicyLoss::preset(name).unwrap();
        assert_eq!(preset("verl-default-ppo-clip"), PolicyLoss::PpoClip(PpoClip::default()));
        assert_eq!(preset("paper-7b-clip-cov"), PolicyLoss::ClipCov(ClipCov::default()));
        assert_eq!(preset("paper-7b-kl-cov"), PolicyLoss::KlCov(KlCov::default()));
    }
}
