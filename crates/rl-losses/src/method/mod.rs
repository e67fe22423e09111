//! The policy losses: each in a file of its own, and once in the table below.

mod bapo;
mod ce_gppo;
mod cispo;
mod clip_cov;
mod covariance_control;
mod covariance_weight;
mod dppo;
mod dro;
mod dynamic_clip;
mod entropy_discriminator;
mod entropy_ratio_clip;
mod gmpo;
mod gspo;
mod high_entropy;
mod kl_cov;
mod per_sequence;
mod policy_method;
mod ppo_clip;
mod preset;
mod reinforce;
mod sapo;
mod sequence_mask;
mod sign_weight;
mod steer;
mod topr;
mod treatment;
mod vespo;

use serde::{Deserialize, Serialize};

use crate::{
    Aggregation, Column, ParameterError, Real,
    parameter::Settings,
    selection::Selection,
    term::{Visited, Visitor},
};

pub use bapo::Bapo;
pub use ce_gppo::CeGppo;
pub use cispo::Cispo;
pub use clip_cov::ClipCov;
pub use covariance_control::{Base, CovarianceBand, CovarianceControl, Select};
pub use covariance_weight::CovarianceWeight;
pub use dppo::{DppoKl, DppoTv};
pub use dro::Dro;
pub use dynamic_clip::DynamicClip;
pub use entropy_discriminator::EntropyDiscriminator;
pub use entropy_ratio_clip::EntropyRatioClip;
pub use gmpo::Gmpo;
pub use gspo::Gspo;
pub use high_entropy::HighEntropy;
pub use kl_cov::KlCov;
#[cfg(test)]
pub(crate) use kl_cov::Plain;
use policy_method::PolicyMethod;
pub use ppo_clip::{DualClip, PpoClip};
pub use preset::{Preset, presets};
pub use reinforce::ScoreFunction;
pub use sapo::Sapo;
pub use sequence_mask::SequenceMask;
pub use sign_weight::SignWeight;
pub use steer::Steer;
pub use topr::Topr;
pub use treatment::{Anchor, Penalty, Reweight, Treatment};
pub use vespo::Vespo;

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
    /// Publication.
    pub source: &'static str,
    /// How well it is established.
    pub standing: Standing,
    /// The loss with its defaults.
    pub default: PolicyLoss,
    /// The aggregation it was published with.
    pub aggregation: Aggregation,
    /// Effect on the entropy by design, if any, in half a sentence.
    pub effect: &'static str,
}

/// A method by its name in a configuration.
pub fn method(name: &str) -> Option<&'static Method> {
    registry().iter().find(|method| method.name == name)
}

/// Makes [`PolicyLoss`] and all that is told by method of one table. Each row: documentation, variant with its settings, name;
/// title; source; standing, aggregation; columns needed besides those of selection and constants; the test of whether it is inert
/// on-policy, if it is not always; effect.
macro_rules! methods {
    ($(
        $(#[doc = $doc:literal])+
        $variant:ident($settings:ident) $name:literal, $title:literal,
        $source:literal, $standing:ident, $aggregation:ident,
        $(needs: [$($column:ident),+],)? $(inert_on_policy: $inert:expr,)?
        $effect:literal;
    )+) => {
        /// A policy loss: the configuration is the algorithm.
        ///
        /// In TOML the table names the loss, and a key that is left out has the default of its struct:
        ///
        /// ```toml
        /// [policy_loss.clip-cov]
        /// fraction = 2e-4
        /// covariance_low = 1.0
        /// covariance_high = 5.0
        /// ```
        #[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(deny_unknown_fields)]
        pub enum PolicyLoss {
            $($(#[doc = $doc])+ #[serde(rename = $name)] $variant($settings),)+
        }

        /// Every method, the published baselines first.
        pub fn registry() -> &'static [Method] {
            const { &[$(Method {
                name: $name,
                title: $title,
                source: $source,
                standing: Standing::$standing,
                default: PolicyLoss::$variant($settings::DEFAULT),
                aggregation: Aggregation::$aggregation,
                effect: $effect,
            },)+] }
        }

        impl PolicyLoss {
            /// Name in a configuration.
            pub fn name(&self) -> &'static str {
                match self { $(Self::$variant(_) => $name,)+ }
            }

            /// Returns true if the gradient is the plain policy gradient wherever policy and old policy are
            /// the same, as in the first update of a rollout batch. Such a method needs a second update to do
            /// anything. (For GMPO, if a sequence has one advantage.)
            pub fn is_inert_on_policy(&self) -> bool {
                match self { $(
                    Self::$variant(loss) => {
                        let tests: &[fn(&$settings) -> bool] = &[$($inert)?];
                        tests.iter().all(|test| test(loss))
                    }
                )+ }
            }

            /// The method, which plans over columns of `R`.
            pub(crate) fn method<R: Real>(&self) -> &dyn PolicyMethod<R> {
                match self { $(Self::$variant(loss) => loss,)+ }
            }

            fn own_columns(&self) -> &'static [Column] {
                match self { $(Self::$variant(_) => &[$($(Column::$column),+)?],)+ }
            }
        }

        impl Settings for PolicyLoss {
            fn check(&self) -> Result<(), ParameterError> {
                match self { $(Self::$variant(loss) => loss.check(),)+ }
            }
        }

        impl Visited for PolicyLoss {
            fn visit<V: Visitor>(&self, visitor: V) -> V::Output {
                match self { $(Self::$variant(loss) => loss.visit(visitor),)+ }
            }
        }
    };
}

methods! {
    /// Clipped surrogate (PPO; GRPO with group advantages).
    PpoClip(PpoClip) "ppo-clip", "PPO clip, clip-higher, dual clip",
    "arXiv:1707.06347, 1912.09729, 2503.14476", Established, TokenMean,
    "lowers it; less so with a higher upper bound";

    /// Clip-Cov.
    ClipCov(ClipCov) "clip-cov", "Clip-Cov",
    "arXiv:2505.22617 Eqs. 11-12", Established, TokenMean,
    inert_on_policy: |_| false,
    "holds it: a few tokens of high covariance lose their gradient";

    /// KL-Cov.
    KlCov(KlCov) "kl-cov", "KL-Cov",
    "arXiv:2505.22617 Eqs. 13-14", Established, TokenMean,
    inert_on_policy: |loss| loss.treatment().is_inert_on_policy(),
    "holds it: tokens of highest covariance are held to the old policy";

    /// Any selector of tokens by covariance, with any treatment, over any surrogate.
    CovarianceControl(CovarianceControl) "covariance-control", "covariance selector and treatment",
    "generalises arXiv:2505.22617", Ours, TokenMean,
    inert_on_policy: |loss| loss.treatment.is_inert_on_policy(),
    "holds it, by the parts chosen";

    /// CISPO: the clipped ratio as a weight.
    Cispo(Cispo) "cispo", "CISPO",
    "arXiv:2506.13585, 2510.13786", Established, TokenMean,
    "keeps the gradient of rare tokens";

    /// GSPO: the ratio of the sequence.
    Gspo(Gspo) "gspo", "GSPO",
    "arXiv:2507.18071", Established, SeqMeanTokenMean,
    "none by design";

    /// GMPO: the geometric mean of the ratios of a sequence.
    Gmpo(Gmpo) "gmpo", "GMPO",
    "arXiv:2507.20673", Established, SeqMeanTokenMean,
    "lowers it more slowly: outliers of the ratio count less";

    /// SAPO: a smooth gate in place of the clip.
    Sapo(Sapo) "sapo", "SAPO",
    "arXiv:2511.20347", Established, SeqMeanTokenMean,
    "none by design";

    /// DPPO with total variation.
    DppoTv(DppoTv) "dppo-tv", "DPPO, total variation",
    "arXiv:2602.04879", Established, TokenMean,
    "lets rare tokens rise";

    /// DPPO with the KL divergence.
    DppoKl(DppoKl) "dppo-kl", "DPPO, KL divergence",
    "arXiv:2602.04879", Established, TokenMean,
    "lets rare tokens rise";

    /// REINFORCE and GPG: the score function alone.
    Reinforce(ScoreFunction) "reinforce", "REINFORCE, GPG",
    "Williams 1992; arXiv:2504.02546", Established, TokenMean,
    "lowers it";

    /// DRO: a quadratic pull to the old policy.
    Dro(Dro) "dro", "DRO",
    "arXiv:2405.19107", Established, TokenMean,
    "slows its change: every token is held to the old policy";

    /// 80/20: the tokens of highest entropy alone.
    HighEntropy(HighEntropy) "high-entropy", "80/20, high-entropy tokens",
    "arXiv:2506.01939", Established, TokenMean,
    inert_on_policy: |_| false,
    "spares the tokens that have little left";

    /// STEER: weights by the change of entropy.
    Steer(Steer) "steer", "STEER",
    "arXiv:2510.10150", SingleLab, TokenMean,
    inert_on_policy: |_| false,
    "slows its change: tokens that change it most weigh less";

    /// CE-GPPO: clipped tokens keep a bounded gradient.
    CeGppo(CeGppo) "ce-gppo", "CE-GPPO",
    "arXiv:2509.20712", SingleLab, TokenMean,
    "raises it by the upper, lowers it by the lower coefficient";

    /// Positive and negative advantages weighed apart (NSR, PSR, weighted REINFORCE).
    SignWeight(SignWeight) "sign-weight", "NSR, PSR, weighted REINFORCE",
    "arXiv:2506.01347, 2511.05993", SingleLab, TokenMean,
    inert_on_policy: |_| false,
    "holds it: positive samples weigh less";

    /// ERC: tokens whose entropy changed too much are dropped.
    EntropyRatioClip(EntropyRatioClip) "entropy-ratio-clip", "entropy-ratio clip",
    "arXiv:2512.05591", SingleLab, TokenMean,
    needs: [Entropy, OldEntropy],
    "slows its change: tokens whose entropy jumped are dropped";

    /// DCPO: bounds that depend on the old probability.
    DynamicClip(DynamicClip) "dynamic-clip", "DCPO, dynamic clip bounds",
    "arXiv:2509.02333", SingleLab, TokenMean,
    "lets rare tokens rise";

    /// Off-policy sequence masking: stale sequences of negative advantage are left out.
    SequenceMask(SequenceMask) "sequence-mask", "off-policy sequence masking",
    "arXiv:2512.02556 Eq. 9", Established, TokenMean,
    needs: [RolloutLogProb], inert_on_policy: |_| false,
    "holds it: mistakes that the policy has left lower no rare token further";

    /// VESPO: a smooth weight of the sequence's ratio in place of a clip.
    Vespo(Vespo) "vespo", "VESPO",
    "arXiv:2602.10693", SingleLab, TokenMean,
    "none by design";

    /// TOPR: positive samples as they are, negative ones by a ratio of at most 1.
    Topr(Topr) "topr", "TOPR, tapered off-policy REINFORCE",
    "arXiv:2503.14286 Eq. 8", SingleLab, SeqMeanTokenSum,
    inert_on_policy: Topr::is_inert_on_policy,
    "lowers it: positive samples are learnt without a bound";

    /// BAPO: bounds of the ratio that balance positive and negative tokens.
    Bapo(Bapo) "bapo", "BAPO, balanced adaptive clipping",
    "arXiv:2510.18927", SingleLab, TokenMean,
    "holds it: rare tokens may rise further, and fewer of them fall";

    /// Entropy-discriminator clip: tokens of negative advantage that would lower the entropy most are dropped.
    EntropyDiscriminator(EntropyDiscriminator) "entropy-discriminator", "entropy-discriminator clip, Clip_B",
    "arXiv:2602.03392", SingleLab, TokenMean,
    needs: [Entropy], inert_on_policy: |_| false,
    "holds it: unlikely tokens fall no further";

    /// CW-GRPO: tokens of extreme covariance weigh less.
    CovarianceWeight(CovarianceWeight) "covariance-weight", "CW-GRPO, Gaussian covariance weights",
    "arXiv:2605.11538", SingleLab, TokenMean,
    inert_on_policy: |_| false,
    "slows its change: tokens of extreme covariance weigh less";
}

/// Implements [`PolicyMethod`] for methods that need nothing of a plan.
macro_rules! of_tokens_alone {
    ($($method:ident),+) => { $(impl<R: Real> PolicyMethod<R> for $method {})+ };
}

of_tokens_alone! { Cispo, CeGppo, DppoKl, DppoTv, Dro, DynamicClip, PpoClip, Sapo, ScoreFunction, SignWeight }

impl PolicyLoss {
    /// The share of the tokens that is singled out, if any is.
    pub(crate) fn selection(&self) -> Option<Selection> {
        self.method::<f64>().selection()
    }

    /// The columns this method reads besides the three.
    pub fn requirements(&self) -> Vec<Column> {
        let mut columns = self.own_columns().to_vec();
        let selection = self.selection().and_then(|selection| selection.column());
        for column in [selection, self.method::<f64>().column()].into_iter().flatten() {
            if !columns.contains(&column) {
                columns.push(column);
            }
        }
        columns
    }
}
