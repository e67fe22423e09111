//! Every estimator once: its name, where it comes from and its defaults.

use super::{
    AdvantageEstimator, Gae, Gdpo, PassAtK, Prime, QuantileBaseline, Reinforce, ReinforcePlusPlus,
};

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

/// Every estimator, that of the paper first.
#[expect(clippy::too_many_lines, reason = "one table")]
pub fn estimators() -> [EstimatorEntry; 18] {
    let entry = |default: AdvantageEstimator, source, effect| EstimatorEntry {
        name: default.name(),
        effect,
        source,
        default,
    };
    [
        entry(
            AdvantageEstimator::Grpo,
            "arXiv:2402.03300",
            "reward less the mean of the group, over the standard deviation + 1e-6",
        ),
        entry(AdvantageEstimator::DrGrpo, "arXiv:2503.20783", "reward less the mean of the group"),
        entry(
            AdvantageEstimator::Rloo,
            "arXiv:2402.14740",
            "reward less the mean of the others of the group; alone, it is kept",
        ),
        entry(
            AdvantageEstimator::RlooVectorized,
            "arXiv:2402.14740",
            "the same; alone, it counts 0",
        ),
        entry(
            AdvantageEstimator::Reinforce(Reinforce::default()),
            "Williams 1992",
            "return of each token, with a baseline or without",
        ),
        entry(
            AdvantageEstimator::ReinforcePlusPlus(ReinforcePlusPlus::default()),
            "arXiv:2501.03262",
            "return of each token, whitened over the batch",
        ),
        entry(
            AdvantageEstimator::ReinforcePlusPlusBaseline,
            "arXiv:2501.03262",
            "reward less the mean of the group, whitened over the tokens of the batch",
        ),
        entry(
            AdvantageEstimator::Remax,
            "arXiv:2310.10505",
            "return less the reward of a greedy response",
        ),
        entry(
            AdvantageEstimator::Opo,
            "arXiv:2505.23585",
            "reward less the mean of the group weighted by length",
        ),
        entry(
            AdvantageEstimator::Gpg,
            "arXiv:2504.02546",
            "reward less the mean of the group, times samples over rewarded samples",
        ),
        entry(
            AdvantageEstimator::MaxRl,
            "arXiv:2602.02710",
            "reward less the mean of the group, over that mean; 0 unless it is positive",
        ),
        entry(
            AdvantageEstimator::Quantile(QuantileBaseline::default()),
            "arXiv:2509.22611",
            "reward less a quantile of the group, over the standard deviation + 1e-6",
        ),
        entry(
            AdvantageEstimator::Gdpo(Gdpo::default()),
            "arXiv:2601.05242",
            "each component of the reward as in grpo, their sum whitened over the tokens of the batch",
        ),
        entry(
            AdvantageEstimator::OptimalTokenBaseline,
            "arXiv:2602.07078",
            "return less the mean at its place in the group, weighed by the score's squares so far",
        ),
        entry(
            AdvantageEstimator::GrpoPassk,
            "arXiv:2503.19595",
            "best of the group less the second best, over the standard deviation + 1e-6",
        ),
        entry(
            AdvantageEstimator::PassAtK(PassAtK::default()),
            "arXiv:2508.10751",
            "mean advantage of the sets of k samples that hold this one",
        ),
        entry(
            AdvantageEstimator::Prime(Prime::default()),
            "arXiv:2502.01456",
            "implicit process rewards and outcome, each less its baseline",
        ),
        entry(
            AdvantageEstimator::Gae(Gae::default()),
            "arXiv:1506.02438",
            "generalised advantages over a critic",
        ),
    ]
}
