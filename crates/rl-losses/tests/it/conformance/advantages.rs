//! Cases of advantages: every estimator of verl's, and its whitening.

use rl_losses::{
    AdvantageEstimator, Gae, Gdpo, Reinforce, ReinforcePlusPlus, RolloutColumns,
    generalised_advantages, whitened,
};
use serde_json::Value;

use super::recorded::{
    Case, assert_all_close, assert_close, assert_means_close, number, numbers, rows,
};

/// The order that lays the samples of each group end to end.
struct Grouping {
    order: Vec<usize>,
    sizes: Vec<usize>,
}

impl Grouping {
    /// Groups samples of the same name; groups stand in the order of their first sample, samples in their own.
    fn by_id(ids: &[String]) -> Self {
        let mut members: Vec<(&String, Vec<usize>)> = Vec::new();
        for (sample, id) in ids.iter().enumerate() {
            match members.iter_mut().find(|(of, _)| *of == id) {
                Some((_, group)) => group.push(sample),
                None => members.push((id, vec![sample])),
            }
        }
        let groups: Vec<Vec<usize>> = members.into_iter().map(|(_, group)| group).collect();
        Self { sizes: groups.iter().map(Vec::len).collect(), order: groups.concat() }
    }

    fn gather<T: Copy>(&self, column: &[T]) -> Vec<T> {
        self.order.iter().map(|&sample| column[sample]).collect()
    }
}

/// A case with its samples ordered by group and its padding taken out.
struct Samples<'a> {
    case: &'a Case,
    grouping: Grouping,
    lengths: Vec<usize>,
}

impl<'a> Samples<'a> {
    fn of(case: &'a Case) -> Self {
        let uid: Vec<String> =
            serde_json::from_value(case.input("uid").clone()).expect("one name per sample");
        let grouping = Grouping::by_id(&uid);
        let lengths = grouping.gather(&case.mask().lengths());
        Self { case, grouping, lengths }
    }

    fn rows(&self, json: &Value) -> Vec<Vec<f64>> {
        let rows = rows(json);
        self.grouping.order.iter().map(|&row| rows[row].clone()).collect()
    }

    /// Tokens of padded rows, laid end to end.
    fn tokens(&self, json: &Value) -> Vec<f64> {
        let masks = self.rows(self.case.input("response_mask"));
        let pairs =
            std::iter::zip(masks, self.rows(json)).flat_map(|(m, row)| std::iter::zip(m, row));
        pairs.filter(|(mask, _)| *mask > 0.0).map(|(_, value)| value).collect()
    }

    fn input(&self, key: &str) -> Vec<f64> {
        self.tokens(self.case.input(key))
    }

    fn kind(&self) -> &str {
        self.case.param("kind").as_str().expect("a kind")
    }

    /// The estimators that the case records, each with the name of its output.
    fn estimators(&self) -> Vec<(AdvantageEstimator, &'static str)> {
        match self.kind() {
            "grpo" if *self.case.param("norm_by_std") == true => {
                vec![(AdvantageEstimator::Grpo, "advantages")]
            }
            "grpo" => vec![(AdvantageEstimator::DrGrpo, "advantages")],
            "gdpo" => {
                let further_weight = self.case.param_number("further_weight");
                vec![(AdvantageEstimator::Gdpo(Gdpo { further_weight }), "advantages")]
            }
            "optimal_token_baseline" => {
                vec![(AdvantageEstimator::OptimalTokenBaseline, "advantages")]
            }
            "max_rl" => vec![(AdvantageEstimator::MaxRl, "advantages")],
            "rloo" if self.case.name() == "adv_rloo_singleton" => vec![
                (AdvantageEstimator::Rloo, "advantages"),
                (AdvantageEstimator::RlooVectorized, "advantages_vectorized_variant"),
            ],
            "rloo" => vec![(AdvantageEstimator::Rloo, "advantages")],
            "reinforce_plus_plus" => {
                let discount = self.case.param_number("gamma");
                let plain = Reinforce { discount, ..Reinforce::default() };
                let whitened = ReinforcePlusPlus { discount };
                vec![
                    (AdvantageEstimator::Reinforce(plain), "returns"),
                    (AdvantageEstimator::ReinforcePlusPlus(whitened), "advantages"),
                ]
            }
            "reinforce_plus_plus_baseline" => {
                vec![(AdvantageEstimator::ReinforcePlusPlusBaseline, "advantages")]
            }
            "opo" => vec![(AdvantageEstimator::Opo, "advantages")],
            "gpg" => vec![(AdvantageEstimator::Gpg, "advantages")],
            "grpo_passk" => vec![(AdvantageEstimator::GrpoPassk, "advantages")],
            "remax" => vec![(AdvantageEstimator::Remax, "advantages")],
            "gae" => vec![(AdvantageEstimator::Gae(self.gae()), "advantages")],
            kind => panic!("{kind} is recorded but not run"),
        }
    }

    fn gae(&self) -> Gae {
        let (discount, lambda) = (self.case.param_number("gamma"), self.case.param_number("lam"));
        Gae { discount, lambda, whiten: true }
    }

    /// Targets of a critic, if the case records them and the estimator has a critic or a baseline.
    fn returns(&self, token_rewards: &[f64]) -> Option<Vec<f64>> {
        let lengths = &self.lengths;
        let returns = match self.kind() {
            "gae" => {
                let values = self.input("values");
                generalised_advantages(token_rewards, &values, None, lengths, self.gae())
                    .expect("columns of one batch")
                    .returns
            }
            "remax" => {
                let columns = RolloutColumns {
                    sequence_lengths: lengths,
                    token_rewards: Some(token_rewards),
                    ..RolloutColumns::default()
                };
                let plain = AdvantageEstimator::Reinforce(Reinforce::default());
                plain.advantages(&columns).expect("columns of one batch")
            }
            _ => return None,
        };
        Some(returns)
    }
}

pub(crate) fn advantages(case: &Case) {
    let samples = Samples::of(case);
    let token_rewards = samples.input("token_level_rewards");
    // A score is the sum over the row, mask or not, as verl takes it.
    let of_tokens = samples.rows(case.input("token_level_rewards"));
    let rewards: Vec<f64> = of_tokens.iter().map(|row| row.iter().sum()).collect();
    let present = |key: &'static str| (!case.input(key).is_null()).then_some(key);
    let values = present("values").map(|key| samples.input(key));
    let greedy =
        present("reward_baselines").map(|key| samples.grouping.gather(&numbers(case.input(key))));
    let scores = present("squared_scores").map(|key| samples.input(key));
    let parts: Option<Vec<Vec<f64>>> = present("reward_components").map(|key| {
        let rows = rows(case.input(key));
        rows.iter().map(|row| samples.grouping.gather(row)).collect()
    });
    let parts: Option<Vec<&[f64]>> =
        parts.as_ref().map(|all| all.iter().map(Vec::as_slice).collect());
    let columns = RolloutColumns {
        rewards: &rewards,
        group_sizes: &samples.grouping.sizes,
        sequence_lengths: &samples.lengths,
        token_rewards: Some(&token_rewards),
        values: values.as_deref(),
        greedy_rewards: greedy.as_deref(),
        reward_components: parts.as_deref(),
        squared_scores: scores.as_deref(),
        ..RolloutColumns::default()
    };
    for (estimator, output) in samples.estimators() {
        let advantages = estimator.advantages(&columns).expect("columns of one batch");
        let tokens = samples.lengths.iter().sum();
        let recorded = samples.tokens(case.output(output));
        assert_means_close(&advantages, &recorded, tokens, case.name());
    }
    if let Some(returns) = samples.returns(&token_rewards) {
        assert_all_close(&returns, &samples.tokens(case.output("returns")), case.name());
    }
}

/// verl's sums under a mask; the `1e-8` of its means is row 33 of `docs/paper-vs-code.md`.
pub(crate) fn whitening(case: &Case) {
    let mask = super::recorded::Mask::new(case.input("mask"));
    let values = mask.pack(case.input("values"));
    let sum: f64 = values.iter().sum();
    assert_close(sum, number(case.output("masked_sum")), "sum");
    let count = values.len() as f64 + case.param_number("eps");
    assert_close(sum / count, number(case.output("masked_mean")), "mean");
    let moments = entropy_core::PairedMoments::of(&values, &values);
    let variance = moments.sum_xx / (values.len() - 1) as f64;
    assert_close(variance, number(case.output("masked_var_unbiased")), "variance");
    let actual = whitened(&values);
    assert_means_close(&actual, &mask.pack(case.output("whiten")), values.len(), "whitened");
    let unshifted: Vec<f64> = actual.iter().map(|value| value + moments.mean_x).collect();
    let recorded = mask.pack(case.output("whiten_noshift"));
    assert_means_close(&unshifted, &recorded, values.len(), "not shifted");
}
