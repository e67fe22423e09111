//! Every estimator once: its name, where it comes from and its defaults.

use serde::{Deserialize, Serialize};

use super::{Gae, Gdpo, PassAtK, Prime, QuantileBaseline, Reinforce, ReinforcePlusPlus};

/// One estimator.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EstimatorEntry {
    /// Name in a configuration.
    pub name: &'static str,
    /// Definition of its advantage, in half a sentence.
    pub effect: &'static str,
    /// Publication.
    pub source: &'static str,
    /// The estimator with its defaults.
    pub default: AdvantageEstimator,
}

/// Makes [`AdvantageEstimator`] and [`estimators`] of one table. Each row: documentation, variant with its settings if it has any,
/// name; publication; definition.
macro_rules! estimators {
    ($(
        $(#[$attribute:meta])+
        $variant:ident $(($settings:ident))? $name:literal, $source:literal, $effect:literal;
    )+) => {
        /// How rewards become the advantage of each token.
        ///
        /// In TOML a name, or a table for those with settings; a key that is left out has its default:
        ///
        /// ```toml
        /// advantage = "dr-grpo"
        /// # or
        /// advantage.gae = { lambda = 0.95 }
        /// ```
        #[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(deny_unknown_fields)]
        pub enum AdvantageEstimator {
            $($(#[$attribute])+ #[serde(rename = $name)] $variant $(($settings))?,)+
        }

        impl AdvantageEstimator {
            /// Name in a configuration.
            pub fn name(&self) -> &'static str {
                match self { $(Self::$variant { .. } => $name,)+ }
            }
        }

        /// Every estimator, that of the paper first.
        pub fn estimators() -> [EstimatorEntry; [$($name),+].len()] {
            [$(EstimatorEntry {
                name: $name,
                effect: $effect,
                source: $source,
                default: AdvantageEstimator::$variant $(($settings::DEFAULT))?,
            },)+]
        }
    };
}

estimators! {
    /// `(R - mean) / (std + 1e-6)` in the group.
    #[default]
    Grpo "grpo", "arXiv:2402.03300",
    "reward less the mean of the group, over the standard deviation + 1e-6";

    /// `R - mean` in the group.
    DrGrpo "dr-grpo", "arXiv:2503.20783",
    "reward less the mean of the group";

    /// `R -` mean of the others in the group; a group of one keeps its reward.
    Rloo "rloo", "arXiv:2402.14740",
    "reward less the mean of the others of the group; alone, it is kept";

    /// `R -` mean of the others in the group; a group of one gets 0.
    RlooVectorized "rloo-vectorized", "arXiv:2402.14740",
    "the same; alone, it counts 0";

    /// Return of each token.
    Reinforce(Reinforce) "reinforce", "Williams 1992",
    "return of each token, with a baseline or without";

    /// Return of each token, whitened over the batch.
    ReinforcePlusPlus(ReinforcePlusPlus) "reinforce-plus-plus", "arXiv:2501.03262",
    "return of each token, whitened over the batch";

    /// `R - mean` in the group, whitened over the tokens of the batch.
    ReinforcePlusPlusBaseline "reinforce-plus-plus-baseline", "arXiv:2501.03262",
    "reward less the mean of the group, whitened over the tokens of the batch";

    /// Return less the reward of a greedy response.
    Remax "remax", "arXiv:2310.10505",
    "return less the reward of a greedy response";

    /// `R -` length-weighted mean of the group.
    Opo "opo", "arXiv:2505.23585",
    "reward less the mean of the group weighted by length";

    /// `R - mean` in the group, times samples over rewarded samples.
    Gpg "gpg", "arXiv:2504.02546",
    "reward less the mean of the group, times samples over rewarded samples";

    /// `(R - mean) / mean` in the group, 0 where the mean is not positive: rewards of 0 or above.
    MaxRl "max-rl", "arXiv:2602.02710",
    "reward less the mean of the group, over that mean; 0 unless it is positive";

    /// `(R -` quantile of the group`) / (std + 1e-6)`.
    Quantile(QuantileBaseline) "quantile", "arXiv:2509.22611",
    "reward less a quantile of the group, over the standard deviation + 1e-6";

    /// Each component of the reward as in `grpo`, their sum whitened over the tokens of the batch.
    Gdpo(Gdpo) "gdpo", "arXiv:2601.05242",
    "each component of the reward as in grpo, their sum whitened over the tokens of the batch";

    /// Return of each token less the baseline of least variance at its place in the group.
    OptimalTokenBaseline "optimal-token-baseline", "arXiv:2602.07078",
    "return less the mean at its place in the group, weighed by the score's squares so far";

    /// Best of the group over the second best, divided by `std + 1e-6`; the others 0.
    GrpoPassk "grpo-passk", "arXiv:2503.19595",
    "best of the group less the second best, over the standard deviation + 1e-6";

    /// Mean advantage of the sets of `k` samples that hold this one.
    PassAtK(PassAtK) "pass-at-k", "arXiv:2508.10751",
    "mean advantage of the sets of k samples that hold this one";

    /// Implicit process rewards and outcome.
    Prime(Prime) "prime", "arXiv:2502.01456",
    "implicit process rewards and outcome, each less its baseline";

    /// Generalised advantages over a critic.
    Gae(Gae) "gae", "arXiv:1506.02438",
    "generalised advantages over a critic";
}
