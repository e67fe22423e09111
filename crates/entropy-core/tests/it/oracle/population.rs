//! Group-normalised advantages: their clock, and whole runs without sampling.

use crate::oracle::vectors::{check, list, number, oracle, policy};
use entropy_core::{UpdateRule, grpo_clock};
use serde_json::Value;

#[test]
fn the_clock_of_group_normalised_advantages_agrees() {
    let oracle = oracle();
    let rows = list(&oracle, "grpo_multiplier");
    assert!(rows.len() > 10);
    for row in rows {
        let size = usize::try_from(row["G"].as_u64().expect("G is a count")).expect("G is small");
        let success = number(&row["mu"]);
        let clock = grpo_clock(success, size).expect("a probability and a group");
        check(row, clock, "mult_ddof1", 1e-13, 0.0);
        let biased = clock * (size as f64 / (size as f64 - 1.0)).sqrt();
        check(row, biased, "mult_ddof0", 1e-13, 0.0);
    }
}

/// Prompts of one state each; entropy, reward and predicted change are means over them.
struct Population {
    logits: Vec<Vec<f64>>,
    success: Vec<Vec<f64>>,
}

impl Population {
    fn mean(&self, figure: impl Fn(&[f64], &[f64]) -> f64) -> f64 {
        let figures = std::iter::zip(&self.logits, &self.success).map(|(z, q)| figure(z, q));
        figures.sum::<f64>() / self.logits.len() as f64
    }
}

/// The step of one algorithm in expectation.
fn expected_step(algorithm: &str, logits: &[f64], success: &[f64], learning_rate: f64) -> Vec<f64> {
    let policy = policy(logits);
    match algorithm {
        "pg" => UpdateRule::PolicyGradient.step(&policy, success, learning_rate),
        "grpo_G8" => {
            let clock = grpo_clock(policy.mean(success), 8).expect("a probability");
            UpdateRule::PolicyGradient.step(&policy, success, learning_rate * clock)
        }
        "npg" => UpdateRule::NaturalPolicyGradient.step(&policy, success, learning_rate),
        other => panic!("no algorithm {other}"),
    }
}

#[test]
fn populations_trained_in_expectation_agree() {
    let oracle = oracle();
    let exact = &oracle["exact_population"];
    let table = |field: &str| -> Vec<Vec<f64>> {
        let row = |row: &Value| row.as_array().expect("a row").iter().map(number).collect();
        list(exact, field).iter().map(row).collect()
    };
    let runs = list(exact, "runs");
    assert_eq!(runs.len(), 3);
    for run in runs {
        let mut population = Population { logits: table("logits"), success: table("q") };
        let algorithm = run["alg"].as_str().expect("an algorithm");
        let learning_rate = number(&run["lr"]);
        let step = |z: &[f64], q: &[f64]| expected_step(algorithm, z, q, learning_rate);
        let mut done = 0;
        for point in list(run, "points") {
            while Some(done) < point["step"].as_u64() {
                for (logits, success) in std::iter::zip(&mut population.logits, &population.success)
                {
                    let step = step(logits, success);
                    logits.iter_mut().zip(step).for_each(|(z, d)| *z += d);
                }
                done += 1;
            }
            check(point, population.mean(|z, _| policy(z).entropy()), "H", 1e-12, 0.0);
            check(point, population.mean(|z, q| policy(z).mean(q)), "R", 1e-12, 0.0);
            let predicted =
                population.mean(|z, q| policy(z).entropy_change_first_order(&step(z, q)));
            check(point, predicted, "first_order_dH_next", 1e-10, 1e-15);
        }
    }
}
