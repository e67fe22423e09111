//! Advantages against the recorded cases of verl: every estimator it has.

use rl_losses::{
    AdvantageEstimator, Gae, Grouping, Reinforce, ReinforcePlusPlus, RolloutColumns,
    discounted_returns, generalised_advantages,
};
use serde_json::Value;

/// A recorded case with its samples ordered by group and its padding taken out.
struct Case {
    json: Value,
    grouping: Grouping,
    lengths: Vec<usize>,
}

fn cases() -> Vec<Case> {
    let text = include_str!("../data/loss_vectors.json");
    let json: Value = serde_json::from_str(text).expect("valid JSON");
    let cases = json["cases"].as_array().expect("cases");
    cases.iter().filter(|case| case["fn"] == "adv").cloned().map(Case::new).collect()
}

impl Case {
    fn new(json: Value) -> Self {
        let uid: Vec<String> =
            serde_json::from_value(json["inputs"]["uid"].clone()).expect("one name per sample");
        let grouping = Grouping::by_id(&uid);
        let mask: Vec<Vec<f64>> =
            serde_json::from_value(json["inputs"]["response_mask"].clone()).expect("rows");
        let length = |&row: &usize| mask[row].iter().filter(|m| **m > 0.0).count();
        let lengths = grouping.order().iter().map(length).collect();
        Self { json, grouping, lengths }
    }

    fn name(&self) -> &str {
        self.json["name"].as_str().expect("a name")
    }

    fn rows(&self, json: &Value) -> Vec<Vec<f64>> {
        let rows: Vec<Vec<f64>> = serde_json::from_value(json.clone()).expect("rows of numbers");
        self.grouping.order().iter().map(|&row| rows[row].clone()).collect()
    }

    /// Tokens of padded rows, laid end to end.
    fn tokens(&self, json: &Value) -> Vec<f64> {
        let masks = self.rows(&self.json["inputs"]["response_mask"]);
        let pairs =
            std::iter::zip(masks, self.rows(json)).flat_map(|(m, row)| std::iter::zip(m, row));
        pairs.filter(|(mask, _)| *mask > 0.0).map(|(_, value)| value).collect()
    }

    fn param(&self, key: &str) -> f64 {
        self.json["params"][key].as_f64().expect("a number")
    }

    fn output(&self, key: &str) -> Vec<f64> {
        self.tokens(&self.json["outputs"][key])
    }
}

/// The estimators that a case records, each with the name of its output.
fn estimators(case: &Case) -> Vec<(AdvantageEstimator, &'static str)> {
    match case.json["params"]["kind"].as_str().expect("a kind") {
        "grpo" if case.json["params"]["norm_by_std"] == true => {
            vec![(AdvantageEstimator::Grpo, "advantages")]
        }
        "grpo" => vec![(AdvantageEstimator::DrGrpo, "advantages")],
        "rloo" if case.name() == "adv_rloo_singleton" => vec![
            (AdvantageEstimator::Rloo, "advantages"),
            (AdvantageEstimator::RlooVectorized, "advantages_vectorized_variant"),
        ],
        "rloo" => vec![(AdvantageEstimator::Rloo, "advantages")],
        "reinforce_plus_plus" => {
            let discount = case.param("gamma");
            vec![
                (
                    AdvantageEstimator::Reinforce(Reinforce { discount, ..Reinforce::default() }),
                    "returns",
                ),
                (
                    AdvantageEstimator::ReinforcePlusPlus(ReinforcePlusPlus { discount }),
                    "advantages",
                ),
            ]
        }
        "reinforce_plus_plus_baseline" => {
            vec![(AdvantageEstimator::ReinforcePlusPlusBaseline, "advantages")]
        }
        "opo" => vec![(AdvantageEstimator::Opo, "advantages")],
        "gpg" => vec![(AdvantageEstimator::Gpg, "advantages")],
        "grpo_passk" => vec![(AdvantageEstimator::GrpoPassk, "advantages")],
        "remax" => vec![(AdvantageEstimator::Remax, "advantages")],
        "gae" => {
            let (discount, lambda) = (case.param("gamma"), case.param("lam"));
            vec![(AdvantageEstimator::Gae(Gae { discount, lambda, whiten: true }), "advantages")]
        }
        kind => panic!("{kind} is recorded but not run"),
    }
}

fn assert_all_close(found: &[f64], expected: &[f64], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (index, (found, expected)) in std::iter::zip(found, expected).enumerate() {
        let close = (found - expected).abs() <= 1e-9 * expected.abs().max(1.0);
        assert!(close, "{what}, token {index}: {found}, recorded {expected}");
    }
}

#[test]
fn every_recorded_estimator_is_met() {
    let mut run = 0;
    for case in cases() {
        let inputs = &case.json["inputs"];
        let token_rewards = case.tokens(&inputs["token_level_rewards"]);
        // A score is the sum over the row, mask or not, as verl takes it.
        let rows = case.rows(&inputs["token_level_rewards"]);
        let rewards: Vec<f64> = rows.iter().map(|row| row.iter().sum()).collect();
        let values = inputs.get("values").map(|values| case.tokens(values));
        let greedy: Option<Vec<f64>> = inputs.get("reward_baselines").map(|baselines| {
            case.grouping
                .order()
                .iter()
                .map(|&i| baselines[i].as_f64().expect("a number"))
                .collect()
        });
        let columns = RolloutColumns {
            rewards: &rewards,
            group_sizes: case.grouping.sizes(),
            sequence_lengths: &case.lengths,
            token_rewards: Some(&token_rewards),
            values: values.as_deref(),
            greedy_rewards: greedy.as_deref(),
            ..RolloutColumns::default()
        };
        for (estimator, output) in estimators(&case) {
            let found = estimator.advantages(&columns).expect("columns of one batch");
            assert_all_close(&found, &case.output(output), case.name());
            run += 1;
        }
    }
    assert_eq!(run, 18, "cases run");
}

#[test]
fn the_returns_a_critic_learns_from_are_met() {
    for case in cases() {
        let token_rewards = case.tokens(&case.json["inputs"]["token_level_rewards"]);
        let found = match case.json["params"]["kind"].as_str() {
            Some("gae") => {
                let values = case.tokens(&case.json["inputs"]["values"]);
                let (discount, lambda) = (case.param("gamma"), case.param("lam"));
                let settings = Gae { discount, lambda, whiten: true };
                generalised_advantages(&token_rewards, &values, None, &case.lengths, settings)
                    .expect("columns of one batch")
                    .returns
            }
            Some("remax") => discounted_returns(&token_rewards, None, &case.lengths, 1.0)
                .expect("columns of one batch"),
            _ => continue,
        };
        assert_all_close(&found, &case.output("returns"), case.name());
    }
}
