//! Published settings by name.

use crate::{
    CeGppo, Cispo, ClipCov, ClipRange, DppoTv, DualClip, EntropyRatioClip, Gspo, KlCov, PolicyLoss,
    PpoClip, Scope, Semantics, SignWeight,
};

/// A loss with published numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Preset {
    /// Name, in kebab case.
    pub name: &'static str,
    /// Source of the numbers.
    pub source: &'static str,
    /// The loss.
    pub loss: PolicyLoss,
}

impl PolicyLoss {
    /// The loss that a published run used, by the preset's name.
    pub fn preset(name: &str) -> Option<Self> {
        presets().iter().find(|preset| preset.name == name).map(|preset| preset.loss)
    }
}

const fn ppo_clip(low: f64, high: f64, dual_clip: DualClip) -> PolicyLoss {
    PolicyLoss::PpoClip(PpoClip::new(ClipRange { low, high }, dual_clip))
}

/// Every published run has verl's arithmetic and the same fraction and band; only the trust region differs.
const fn clip_cov(clip: f64) -> PolicyLoss {
    let (clip_ratio_low, clip_ratio_high, semantics) = (clip, clip, Semantics::Verl);
    PolicyLoss::ClipCov(ClipCov { clip_ratio_low, clip_ratio_high, semantics, ..ClipCov::DEFAULT })
}

const fn kl_cov(fraction: f64, coefficient: f64) -> PolicyLoss {
    let semantics = Semantics::Verl;
    PolicyLoss::KlCov(KlCov { fraction, coefficient, semantics, ..KlCov::DEFAULT })
}

/// Configures a loss as the authors' fork runs it: with its arithmetic, within micro-batches.
const fn forked(loss: PolicyLoss) -> PolicyLoss {
    let (scope, semantics) = (Scope::MicroBatch, Semantics::Prime);
    match loss {
        PolicyLoss::KlCov(loss) => PolicyLoss::KlCov(KlCov { scope, semantics, ..loss }),
        PolicyLoss::ClipCov(loss) => PolicyLoss::ClipCov(ClipCov { scope, semantics, ..loss }),
        PolicyLoss::PpoClip(loss) => PolicyLoss::PpoClip(PpoClip { semantics, ..loss }),
        other => other,
    }
}

const fn sign_weight(positive: f64, negative: f64) -> PolicyLoss {
    PolicyLoss::SignWeight(SignWeight { positive, negative, ..SignWeight::DEFAULT })
}

/// Makes the table of the presets. Each row: name, source of the numbers, loss.
macro_rules! presets {
    ($($name:literal, $source:literal, $loss:expr;)+) => {
        /// Every preset, in the order of the paper: baselines, Clip-Cov, KL-Cov, library defaults.
        pub fn presets() -> &'static [Preset] {
            const { &[$(Preset { name: $name, source: $source, loss: $loss }),+] }
        }
    };
}

presets! {
    "grpo", "arXiv:2402.03300 Eq. 3; baseline of arXiv:2505.22617 (ratio clipped at 0.2)",
        ppo_clip(0.2, 0.2, DualClip::OFF);
    "clip-higher", "baseline of arXiv:2505.22617, Sec. 4.3 (upper bound 0.28)",
        ppo_clip(0.2, 0.28, DualClip::OFF);
    "dapo", "arXiv:2503.14476; verl recipe/dapo (clip-higher, dual clip at 10)",
        ppo_clip(0.2, 0.28, DualClip { ceiling: 10.0 });
    "paper-7b-clip-cov", "arXiv:2505.22617 Sec. 4.3; verl-recipe entropy/7b_clip_cov.sh",
        clip_cov(1.0);
    "paper-32b-clip-cov", "arXiv:2505.22617 Sec. 4.3; verl-recipe entropy/32b_clip_cov.sh",
        clip_cov(1.0);
    "paper-7b-kl-cov", "arXiv:2505.22617 Sec. 4.3; verl-recipe entropy/7b_kl_cov.sh",
        kl_cov(2e-3, 1.0);
    "paper-32b-kl-cov", "arXiv:2505.22617 Sec. 4.3; verl-recipe entropy/32b_kl_cov.sh",
        kl_cov(2e-4, 1.0);
    "prime-ppo-clip", "Entropy-Mechanism-of-RL baseline: no dual clip, no limit on the log-ratio",
        forked(ppo_clip(0.2, 0.2, DualClip::OFF));
    "prime-7b-clip-cov", "Entropy-Mechanism-of-RL recipe/dapo/7b_clip_cov.sh, within micro-batches",
        forked(clip_cov(1.0));
    "prime-7b-kl-cov", "Entropy-Mechanism-of-RL recipe/dapo/7b_kl_cov.sh (0.2 percent), within micro-batches",
        forked(kl_cov(2e-3, 1.0));
    "prime-32b-kl-cov", "Entropy-Mechanism-of-RL recipe/dapo/32b_kl_cov.sh (0.02 percent), within micro-batches",
        forked(kl_cov(2e-4, 1.0));
    "verl-default-ppo-clip", "verl v0.6.1 actor configuration: clip 0.2, dual clip at 3",
        ppo_clip(0.2, 0.2, DualClip { ceiling: 3.0 });
    "verl-default-clip-cov", "verl v0.6.1 policy_loss configuration, with its default clip of 0.2",
        clip_cov(0.2);
    "verl-default-kl-cov", "verl v0.6.1 policy_loss configuration: ppo_kl_coef 0.1",
        kl_cov(2e-4, 0.1);
    "verl-default-cispo", "verl: both bounds from clip_ratio",
        PolicyLoss::Cispo(Cispo { clip_ratio_low: 0.2, clip_ratio_high: 0.2 });
    "verl-default-gspo", "verl: both bounds from clip_ratio",
        PolicyLoss::Gspo(Gspo { clip_ratio_low: 0.2, clip_ratio_high: 0.2 });
    "nsr", "arXiv:2506.01347: negative samples only",
        sign_weight(0.0, 1.0);
    "psr", "arXiv:2506.01347: positive samples only",
        sign_weight(1.0, 0.0);
    "w-reinforce", "arXiv:2506.01347: positive samples at 0.1",
        sign_weight(0.1, 1.0);
    "klear-ce-gppo-explore", "arXiv:2509.20712: the smaller lower coefficient",
        PolicyLoss::CeGppo(CeGppo { beta_low: 0.5, ..CeGppo::DEFAULT });
    "erc-wide", "arXiv:2512.05591: the band of the earlier runs",
        PolicyLoss::EntropyRatioClip(EntropyRatioClip {
            entropy_ratio_low: 0.8, entropy_ratio_high: 1.2, ..EntropyRatioClip::DEFAULT
        });
    "scale-rl-cispo", "arXiv:2510.13786: the weight at most 5",
        PolicyLoss::Cispo(Cispo { clip_ratio_low: 1.0, clip_ratio_high: 4.0 });
    "dppo-tv-squared", "prime-rl's default loss: dppo_mask_low and dppo_mask_high 0.2, kl_tau 1e-3, no ceiling of the ratio",
        PolicyLoss::DppoTv(DppoTv { ratio_ceiling: 1e9, pull: 1e-3, ..DppoTv::DEFAULT });
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique() {
        let names: BTreeSet<&str> = presets().iter().map(|preset| preset.name).collect();
        assert_eq!(names.len(), presets().len());
    }

    #[test]
    fn defaults_are_the_presets_they_are_documented_as() {
        let preset = |name| PolicyLoss::preset(name).unwrap();
        assert_eq!(preset("verl-default-ppo-clip"), PolicyLoss::PpoClip(PpoClip::default()));
        let verl = Semantics::Verl;
        let clip_cov = ClipCov { semantics: verl, ..ClipCov::default() };
        assert_eq!(preset("paper-7b-clip-cov"), PolicyLoss::ClipCov(clip_cov));
        let kl_cov = KlCov { semantics: verl, ..KlCov::default() };
        assert_eq!(preset("paper-7b-kl-cov"), PolicyLoss::KlCov(kl_cov));
    }
}
