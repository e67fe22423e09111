//! Every method once: its name, where it comes from, its defaults and what to know of it.

use std::sync::LazyLock;

use crate::{
    Aggregation, CeGppo, Cispo, ClipCov, CovarianceControl, DppoKl, DppoTv, Dro, DynamicClip,
    EntropyRatioClip, Gmpo, Gspo, HighEntropy, KlCov, LossSums, PolicyLoss, PpoClip, Preset, Sapo,
    ScoreFunction, SignWeight, Steer, Treatment, presets,
};

/// How well a method is established.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// In two frameworks or more.
    Established,
    /// Code of one laboratory; as published.
    SingleLab,
    /// A combination that is this project's own.
    Ours,
}

/// One policy loss.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Method {
    /// Name in a configuration.
    pub name: &'static str,
    /// Name in prose.
    pub title: &'static str,
    /// Where it is published.
    pub source: &'static str,
    /// How well it is established.
    pub standing: Standing,
    /// The loss with its defaults.
    pub default: PolicyLoss,
    /// The aggregation it was published with.
    pub aggregation: Aggregation,
    /// Whether it drives the entropy by design, and how, in half a sentence.
    pub effect: &'static str,
}

impl Method {
    /// Published settings of this method.
    pub fn presets(&self) -> impl Iterator<Item = &'static Preset> {
        let name = self.name;
        presets().iter().filter(move |preset| preset.loss.name() == name)
    }
}

/// A method that has changed no gradient: it is configured, and does nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{method}` is inert: none of {tokens} tokens has another gradient than the plain policy \
     gradient; it acts from the second update of a rollout batch on"
)]
pub struct Inert {
    /// The method.
    pub method: &'static str,
    /// Tokens it has seen.
    pub tokens: usize,
}

impl PolicyLoss {
    /// Name in a configuration.
    pub fn name(&self) -> &'static str {
        match self {
            Self::PpoClip(_) => "ppo-clip",
            Self::ClipCov(_) => "clip-cov",
            Self::KlCov(_) => "kl-cov",
            Self::CovarianceControl(_) => "covariance-control",
            Self::Cispo(_) => "cispo",
            Self::Gspo(_) => "gspo",
            Self::Gmpo(_) => "gmpo",
            Self::Sapo(_) => "sapo",
            Self::DppoTv(_) => "dppo-tv",
            Self::DppoKl(_) => "dppo-kl",
            Self::Reinforce(_) => "reinforce",
            Self::Dro(_) => "dro",
            Self::HighEntropy(_) => "high-entropy",
            Self::Steer(_) => "steer",
            Self::CeGppo(_) => "ce-gppo",
            Self::SignWeight(_) => "sign-weight",
            Self::EntropyRatioClip(_) => "entropy-ratio-clip",
            Self::DynamicClip(_) => "dynamic-clip",
        }
    }

    /// Whether the gradient is that of the plain policy gradient wherever policy and old policy are
    /// the same, as in the first update of a rollout batch: then the method needs a second one to do
    /// anything. (Of GMPO, where a sequence has one advantage.)
    pub fn is_inert_on_policy(&self) -> bool {
        match self {
            Self::ClipCov(_) | Self::HighEntropy(_) | Self::Steer(_) | Self::SignWeight(_) => false,
            Self::KlCov(_) | Self::CovarianceControl(_) => {
                self.treatment().is_some_and(Treatment::is_inert_on_policy)
            }
            Self::PpoClip(_)
            | Self::Cispo(_)
            | Self::Gspo(_)
            | Self::Gmpo(_)
            | Self::Sapo(_)
            | Self::DppoTv(_)
            | Self::DppoKl(_)
            | Self::Reinforce(_)
            | Self::Dro(_)
            | Self::CeGppo(_)
            | Self::EntropyRatioClip(_)
            | Self::DynamicClip(_) => true,
        }
    }

    /// A warning if the method has changed the gradient of no token so far: what KL-Cov is strictly
    /// on-policy. Pass the sums of a whole run of updates.
    pub fn inertness(&self, sums: &LossSums) -> Option<Inert> {
        let inert = sums.tokens > 0 && sums.altered == 0;
        inert.then(|| Inert { method: self.name(), tokens: sums.tokens })
    }
}

/// Every method, the published baselines first.
pub fn registry() -> &'static [Method] {
    static METHODS: LazyLock<Vec<Method>> = LazyLock::new(methods);
    &METHODS
}

/// The method of a name.
pub fn method(name: &str) -> Option<&'static Method> {
    registry().iter().find(|method| method.name == name)
}

#[expect(clippy::too_many_lines, reason = "a table")]
fn methods() -> Vec<Method> {
    use Standing::{Established, Ours, SingleLab};
    let entry = |title, default: PolicyLoss, standing, source, effect| Method {
        name: default.name(),
        title,
        source,
        standing,
        default,
        aggregation: match default {
            PolicyLoss::Gspo(_) | PolicyLoss::Gmpo(_) | PolicyLoss::Sapo(_) => {
                Aggregation::SeqMeanTokenMean
            }
            _ => Aggregation::TokenMean,
        },
        effect,
    };
    vec![
        entry(
            "PPO clip, clip-higher, dual clip",
            PolicyLoss::PpoClip(PpoClip::default()),
            Established,
            "arXiv:1707.06347, 1912.09729, 2503.14476",
            "lowers it; less so with a higher upper bound",
        ),
        entry(
            "Clip-Cov",
            PolicyLoss::ClipCov(ClipCov::default()),
            Established,
            "arXiv:2505.22617 Eqs. 11-12",
            "holds it: a few tokens of high covariance lose their gradient",
        ),
        entry(
            "KL-Cov",
            PolicyLoss::KlCov(KlCov::default()),
            Established,
            "arXiv:2505.22617 Eqs. 13-14",
            "holds it: tokens of highest covariance are held to the old policy",
        ),
        entry(
            "covariance selector and treatment",
            PolicyLoss::CovarianceControl(CovarianceControl::default()),
            Ours,
            "generalises arXiv:2505.22617",
            "holds it, by the parts chosen",
        ),
        entry(
            "CISPO",
            PolicyLoss::Cispo(Cispo::default()),
            Established,
            "arXiv:2506.13585, 2510.13786",
            "keeps the gradient of rare tokens",
        ),
        entry(
            "GSPO",
            PolicyLoss::Gspo(Gspo::default()),
            Established,
            "arXiv:2507.18071",
            "none by design",
        ),
        entry(
            "GMPO",
            PolicyLoss::Gmpo(Gmpo::default()),
            Established,
            "arXiv:2507.20673",
            "lowers it more slowly: outliers of the ratio count less",
        ),
        entry(
            "SAPO",
            PolicyLoss::Sapo(Sapo::default()),
            Established,
            "arXiv:2511.20347",
            "none by design",
        ),
        entry(
            "DPPO, total variation",
            PolicyLoss::DppoTv(DppoTv::default()),
            Established,
            "arXiv:2602.04879",
            "lets rare tokens rise",
        ),
        entry(
            "DPPO, KL divergence",
            PolicyLoss::DppoKl(DppoKl::default()),
            Established,
            "arXiv:2602.04879",
            "lets rare tokens rise",
        ),
        entry(
            "REINFORCE, GPG",
            PolicyLoss::Reinforce(ScoreFunction {}),
            Established,
            "Williams 1992; arXiv:2504.02546",
            "lowers it",
        ),
        entry(
            "DRO",
            PolicyLoss::Dro(Dro::default()),
            Established,
            "arXiv:2405.19107",
            "slows its change: every token is held to the old policy",
        ),
        entry(
            "80/20, high-entropy tokens",
            PolicyLoss::HighEntropy(HighEntropy::default()),
            Established,
            "arXiv:2506.01939",
            "spares the tokens that have little left",
        ),
        entry(
            "STEER",
            PolicyLoss::Steer(Steer::default()),
            SingleLab,
            "arXiv:2510.10150",
            "slows its change: tokens that change it most weigh less",
        ),
        entry(
            "CE-GPPO",
            PolicyLoss::CeGppo(CeGppo::default()),
            SingleLab,
            "arXiv:2509.20712",
            "raises it by the upper, lowers it by the lower coefficient",
        ),
        entry(
            "NSR, PSR, weighted REINFORCE",
            PolicyLoss::SignWeight(SignWeight::default()),
            SingleLab,
            "arXiv:2506.01347, 2511.05993",
            "holds it: positive samples weigh less",
        ),
        entry(
            "entropy-ratio clip",
            PolicyLoss::EntropyRatioClip(EntropyRatioClip::default()),
            SingleLab,
            "arXiv:2512.05591",
            "slows its change: tokens whose entropy jumped are dropped",
        ),
        entry(
            "DCPO, dynamic clip bounds",
            PolicyLoss::DynamicClip(DynamicClip::default()),
            SingleLab,
            "arXiv:2509.02333",
            "lets rare tokens rise",
        ),
    ]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_name_is_that_of_the_configuration_and_stands_once() {
        let names: BTreeSet<&str> = registry().iter().map(|method| method.name).collect();
        assert_eq!(names.len(), registry().len());
        for entry in registry() {
            assert_eq!(method(entry.name), Some(entry));
            assert_eq!(entry.name, entry.default.name());
        }
    }

    #[test]
    fn every_preset_belongs_to_a_method() {
        let listed: usize = registry().iter().map(|method| method.presets().count()).sum();
        assert_eq!(listed, presets().len());
    }
}
