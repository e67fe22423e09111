//! Laws every advantage estimator keeps, its configuration, and its numbers on one batch.

use std::fmt::Write;

use insta::assert_snapshot;
use proptest::prelude::*;
use rl_losses::{
    AdvantageEstimator, Gae, Gdpo, PassAtK, Prime, QuantileBaseline, Reinforce, ReinforcePlusPlus,
    RolloutColumns,
};
use serde::{Deserialize, Serialize};

const LEARNT: [AdvantageEstimator; 3] =
    [AdvantageEstimator::Grpo, AdvantageEstimator::DrGrpo, AdvantageEstimator::Rloo];

fn all() -> Vec<AdvantageEstimator> {
    let mut all = LEARNT.to_vec();
    all.extend([
        AdvantageEstimator::RlooVectorized,
        AdvantageEstimator::Reinforce(Reinforce::default()),
        AdvantageEstimator::ReinforcePlusPlus(ReinforcePlusPlus::default()),
        AdvantageEstimator::ReinforcePlusPlusBaseline,
        AdvantageEstimator::Remax,
        AdvantageEstimator::Opo,
        AdvantageEstimator::Gpg,
        AdvantageEstimator::MaxRl,
        AdvantageEstimator::Quantile(QuantileBaseline::default()),
        AdvantageEstimator::Gdpo(Gdpo { further_weight: 0.5 }),
        AdvantageEstimator::OptimalTokenBaseline,
        AdvantageEstimator::GrpoPassk,
        AdvantageEstimator::PassAtK(PassAtK { k: 2 }),
        AdvantageEstimator::Prime(Prime::default()),
        AdvantageEstimator::Gae(Gae { discount: 0.9, lambda: 0.8, whiten: true }),
    ]);
    all
}

/// Estimators that compare a sample with its group, and with nothing else.
fn within_group() -> Vec<AdvantageEstimator> {
    let mut estimators = LEARNT.to_vec();
    estimators.extend([
        AdvantageEstimator::RlooVectorized,
        AdvantageEstimator::Opo,
        AdvantageEstimator::Quantile(QuantileBaseline::default()),
        AdvantageEstimator::GrpoPassk,
    ]);
    estimators
}

/// Two or more samples in each group, one or more tokens in each sample.
#[derive(Debug, Clone)]
struct Rollouts {
    rewards: Vec<f64>,
    group_sizes: Vec<usize>,
    lengths: Vec<usize>,
}

impl Rollouts {
    fn advantages(&self, estimator: AdvantageEstimator) -> Vec<f64> {
        let columns = RolloutColumns {
            rewards: &self.rewards,
            group_sizes: &self.group_sizes,
            sequence_lengths: &self.lengths,
            ..RolloutColumns::default()
        };
        estimator.advantages(&columns).expect("finite rewards in groups of two or more")
    }

    fn with_rewards(&self, change: impl Fn(f64) -> f64) -> Self {
        let rewards = self.rewards.iter().map(|&reward| change(reward)).collect();
        Self { rewards, ..self.clone() }
    }

    /// The groups one by one.
    fn split(&self) -> Vec<Self> {
        let mut begin = 0;
        let group = |&size: &usize| {
            let samples = begin..begin + size;
            begin += size;
            Self {
                rewards: self.rewards[samples.clone()].to_vec(),
                group_sizes: vec![size],
                lengths: self.lengths[samples].to_vec(),
            }
        };
        self.group_sizes.iter().map(group).collect()
    }
}

/// Rewards on a grid of sixteenths: sums are exact, so equal rewards stay equal when shifted.
fn rollouts() -> impl Strategy<Value = Rollouts> {
    prop::collection::vec(prop::collection::vec((-32i32..32, 1usize..6), 2..6), 1..5).prop_map(
        |groups| {
            let samples = groups.iter().flatten();
            let (rewards, lengths) =
                samples.map(|&(reward, length)| (f64::from(reward) / 16.0, length)).unzip();
            Rollouts { rewards, lengths, group_sizes: groups.iter().map(Vec::len).collect() }
        },
    )
}

fn close(found: &[f64], expected: &[f64], tolerance: f64) -> bool {
    found.len() == expected.len()
        && std::iter::zip(found, expected)
            .all(|(f, e)| (f - e).abs() <= tolerance * e.abs().max(1.0))
}

proptest! {
    #[test]
    fn a_reward_for_everyone_changes_nothing(rollouts in rollouts(), shift in -64i32..64) {
        let shifted = rollouts.with_rewards(|reward| reward + f64::from(shift) / 16.0);
        for estimator in within_group() {
            let (actual, expected) = (shifted.advantages(estimator), rollouts.advantages(estimator));
            prop_assert!(close(&actual, &expected, 1e-9), "{estimator:?}: {actual:?} {expected:?}");
        }
    }

    #[test]
    fn advantages_are_in_units_of_the_reward(rollouts in rollouts(), scale in 0.1..10.0f64) {
        let scaled = rollouts.with_rewards(|reward| scale * reward);
        for estimator in [AdvantageEstimator::DrGrpo, AdvantageEstimator::Rloo,
            AdvantageEstimator::RlooVectorized, AdvantageEstimator::Opo, AdvantageEstimator::Gpg] {
            let expected: Vec<f64> =
                rollouts.advantages(estimator).iter().map(|a| scale * a).collect();
            prop_assert!(close(&scaled.advantages(estimator), &expected, 1e-9), "{estimator:?}");
        }
    }

    /// Up to the `1e-6` in the deviation, which is at least 1/32 where it is not 0.
    #[test]
    fn a_normalised_advantage_has_no_unit(rollouts in rollouts(), scale in 0.5..10.0f64) {
        let scaled = rollouts.with_rewards(|reward| scale * reward);
        for estimator in [AdvantageEstimator::Grpo, AdvantageEstimator::GrpoPassk,
            AdvantageEstimator::Quantile(QuantileBaseline::default())] {
            let (actual, expected) = (scaled.advantages(estimator), rollouts.advantages(estimator));
            prop_assert!(close(&actual, &expected, 1e-3), "{estimator:?}: {actual:?} {expected:?}");
        }
    }

    #[test]
    fn groups_do_not_see_each_other(rollouts in rollouts()) {
        for estimator in within_group() {
            let parts: Vec<f64> =
                rollouts.split().iter().flat_map(|group| group.advantages(estimator)).collect();
            prop_assert_eq!(parts, rollouts.advantages(estimator), "{:?}", estimator);
        }
    }

    /// Batch-wide estimators too: only the order of summation changes.
    #[test]
    fn the_order_of_the_groups_does_not_matter(rollouts in rollouts()) {
        let mut groups = rollouts.split();
        groups.reverse();
        let reversed = Rollouts {
            rewards: groups.iter().flat_map(|group| group.rewards.clone()).collect(),
            group_sizes: groups.iter().flat_map(|group| group.group_sizes.clone()).collect(),
            lengths: groups.iter().flat_map(|group| group.lengths.clone()).collect(),
        };
        let batch_wide = [
            AdvantageEstimator::Gpg,
            AdvantageEstimator::ReinforcePlusPlusBaseline,
            AdvantageEstimator::ReinforcePlusPlus(ReinforcePlusPlus { discount: 0.9 }),
        ];
        for estimator in within_group().into_iter().chain(batch_wide) {
            let mut rest = reversed.advantages(estimator);
            let mut in_order = Vec::new();
            for group in rollouts.split() {
                let tail = rest.split_off(rest.len() - group.lengths.iter().sum::<usize>());
                in_order.extend(tail);
            }
            let expected = rollouts.advantages(estimator);
            prop_assert!(close(&in_order, &expected, 1e-9), "{estimator:?}");
        }
    }

    #[test]
    fn what_is_equal_has_no_advantage(rollouts in rollouts(), reward in -3.0..3.0f64) {
        let equal = rollouts.with_rewards(|_| reward);
        for estimator in within_group() {
            prop_assert!(equal.advantages(estimator).iter().all(|&a| a == 0.0), "{estimator:?}");
        }
    }

    #[test]
    fn nothing_a_caller_passes_makes_an_estimator_panic(
        rewards in prop::collection::vec(any::<f64>(), 0..6),
        group_sizes in prop::collection::vec(0usize..4, 0..4),
        lengths in prop::collection::vec(0usize..4, 0..6),
        tokens in prop::collection::vec(any::<f64>(), 0..10),
        given in any::<bool>(),
    ) {
        let tokens = given.then_some(tokens.as_slice());
        let components: [&[f64]; 2] = [&rewards, &rewards];
        let columns = RolloutColumns {
            rewards: &rewards,
            group_sizes: &group_sizes,
            sequence_lengths: &lengths,
            token_rewards: None,
            values: tokens,
            end_values: None,
            greedy_rewards: given.then_some(&rewards),
            process_log_ratio: tokens,
            reward_components: given.then_some(&components),
            squared_scores: tokens,
        };
        for estimator in all() {
            if let Ok(advantages) = estimator.advantages(&columns) {
                prop_assert_eq!(advantages.len(), lengths.iter().sum::<usize>(), "{:?}", estimator);
            }
        }
    }
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    advantage: AdvantageEstimator,
}

#[test]
fn every_estimator_survives_toml_and_json() {
    for advantage in all() {
        let config = Config { advantage };
        let text = toml::to_string(&config).unwrap();
        assert_eq!(toml::from_str::<Config>(&text).unwrap(), config, "{text}");
        let text = serde_json::to_string(&config).unwrap();
        assert_eq!(serde_json::from_str::<Config>(&text).unwrap(), config, "{text}");
    }
}

#[test]
fn a_configuration_that_cannot_be_meant_is_refused() {
    let complaint = |toml: &str| toml::from_str::<Config>(toml).unwrap_err().message().to_owned();
    let complaints = [
        "advantage.gae = { lamda = 0.9 }",
        "advantage.gae = { lambda = 1.5 }",
        "advantage.pass-at-k = { k = 0 }",
        "advantage.prime = { beta = -1.0 }",
        "advantage = 'gr-po'",
    ]
    .map(complaint);
    assert_snapshot!(complaints.join("\n"));
}

#[test]
fn a_missing_column_is_named_with_the_estimator_that_needs_it() {
    let columns = RolloutColumns {
        rewards: &[1.0, 0.0],
        group_sizes: &[2],
        sequence_lengths: &[1, 1],
        ..RolloutColumns::default()
    };
    let complaints: Vec<String> = all()
        .into_iter()
        .filter_map(|estimator| estimator.advantages(&columns).err())
        .map(|error| error.to_string())
        .collect();
    assert_eq!(
        complaints,
        [
            "`remax` needs the column `greedy_rewards`, which is missing",
            "`optimal-token-baseline` needs the column `squared_scores`, which is missing",
            "`prime` needs the column `process_log_ratio`, which is missing",
            "`gae` needs the column `values`, which is missing",
        ]
    );
}

/// The configuration accepts, the catalogue lists and this file tests the same estimators.
#[test]
fn no_estimator_is_left_out() {
    let error = toml::from_str::<Config>("advantage = 'none'").unwrap_err();
    let tested: Vec<&str> = all().iter().map(AdvantageEstimator::name).collect();
    let listed: Vec<&str> = rl_losses::estimators().map(|entry| entry.name).to_vec();
    assert_eq!(tested, listed);
    let names: Vec<String> = tested.iter().map(|name| format!("`{name}`")).collect();
    let expected = format!("unknown variant `none`, expected one of {}", names.join(", "));
    assert_eq!(error.message(), expected);
}

/// Rewards of 0 and 1 in both components: GRPO takes (1, 0) and (0, 1) for the same, and so does GDPO of equal weights, but not of
/// components that are rare to different degrees.
#[test]
fn components_that_are_rare_count_for_more() {
    let first = [1.0, 0.0, 1.0, 0.0];
    let second = [0.0, 1.0, 0.0, 0.0];
    let sum = [1.0, 1.0, 1.0, 0.0];
    let columns = RolloutColumns {
        rewards: &sum,
        group_sizes: &[4],
        sequence_lengths: &[1; 4],
        reward_components: Some(&[&first, &second]),
        ..RolloutColumns::default()
    };
    let advantages = |estimator: AdvantageEstimator| estimator.advantages(&columns).unwrap();
    let grpo = advantages(AdvantageEstimator::Grpo);
    assert_eq!(grpo[0].to_bits(), grpo[1].to_bits());
    // Deviations √(1/3) and ½: sums of √3/2 - ½, -√3/2 + 3/2 and -√3/2 - ½, of mean 0.
    let half = 0.75f64.sqrt();
    let sums = [half - 0.5, 1.5 - half, half - 0.5, -half - 0.5];
    let deviation = (sums.iter().map(|sum| sum * sum).sum::<f64>() / 3.0).sqrt();
    let expected = sums.map(|sum| sum / deviation);
    assert!(close(&advantages(AdvantageEstimator::Gdpo(Gdpo::default())), &expected, 1e-5));
    // Without the second, it is the first.
    let alone = advantages(AdvantageEstimator::Gdpo(Gdpo { further_weight: 0.0 }));
    assert!(close(&alone, &[half, -half, half, -half], 1e-5));
}

/// Three groups: mixed, all equal, and mixed again; one sample has no tokens.
#[test]
fn estimators_on_a_small_batch() {
    let columns = RolloutColumns {
        rewards: &[1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0],
        group_sizes: &[3, 2, 4],
        sequence_lengths: &[2, 1, 1, 1, 2, 1, 3, 0, 2],
        token_rewards: None,
        values: Some(&[0.1, 0.6, 0.3, 0.2, 0.9, 0.8, 0.7, 0.4, 0.5, 0.5, 0.6, 0.2, 0.1]),
        end_values: Some(&[0.0, 0.0, 0.25, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
        greedy_rewards: Some(&[1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0]),
        process_log_ratio: Some(&[
            0.2, -0.1, 0.4, 0.0, 0.3, -0.3, 0.1, 0.5, -0.2, 0.1, 0.6, -0.4, 0.0,
        ]),
        reward_components: Some(&[
            &[1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0],
            &[0.0, 0.0, -0.5, -0.25, 0.0, 0.0, -1.0, -1.0, 0.0],
        ]),
        squared_scores: Some(&[0.1, 1.2, 0.3, 0.9, 0.2, 0.8, 1.5, 0.6, 0.4, 0.1, 1.1, 0.7, 0.5]),
    };
    let mut table = String::new();
    for estimator in all() {
        let advantages = estimator.advantages(&columns).expect("columns of one batch");
        writeln!(table, "{}", serde_json::to_string(&estimator).expect("a name"))
            .expect("a string grows");
        for chunk in advantages.chunks(5) {
            let line: Vec<String> = chunk.iter().map(|a| format!("{a:+.10}")).collect();
            writeln!(table, "  {}", line.join(" ")).expect("a string grows");
        }
    }
    assert_snapshot!(table);
}
