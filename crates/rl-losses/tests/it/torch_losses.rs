//! Every method against a second implementation of it: torch with autograd, written from the papers.
//!
//! `tests/data/torch_cases.py` writes the cases. Settings a case leaves out are the published ones, so
//! the defaults are compared too.

use std::collections::{BTreeMap, BTreeSet};

use rl_losses::{Aggregation, PolicyLoss, registry};
use serde::Deserialize;

use crate::batches::{Columns, seeded, with_selected};

#[derive(Deserialize)]
struct File {
    batches: BTreeMap<String, Inputs>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Inputs {
    log_prob: Vec<f64>,
    old_log_prob: Vec<f64>,
    advantage: Vec<f64>,
    entropy: Vec<f64>,
    old_entropy: Vec<f64>,
    reference_log_prob: Vec<f64>,
    rollout_log_prob: Vec<f64>,
    sequence_lengths: Vec<usize>,
    micro_batches: Vec<usize>,
}

impl Inputs {
    fn columns(&self) -> Columns {
        Columns {
            log_prob: self.log_prob.clone(),
            old_log_prob: self.old_log_prob.clone(),
            advantage: self.advantage.clone(),
            optional: [
                self.entropy.clone(),
                self.old_entropy.clone(),
                self.reference_log_prob.clone(),
                self.rollout_log_prob.clone(),
            ],
            lengths: self.sequence_lengths.clone(),
            micro_batches: self.micro_batches.clone(),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    batch: String,
    policy_loss: PolicyLoss,
    aggregation: Aggregation,
    selected: Vec<usize>,
    /// Tokens that may be drawn, if tokens are drawn at random.
    eligible: Option<Vec<usize>>,
    value: f64,
    grad_log_prob: Vec<f64>,
    clipped: usize,
    clipped_lower: usize,
}

fn assert_close(found: f64, expected: f64, what: &str) {
    let close = (found - expected).abs() <= 1e-9 * expected.abs().max(1.0);
    assert!(close, "{what}: {found}, torch has {expected}");
}

fn file() -> File {
    serde_json::from_str(include_str!("../data/torch_losses.json")).expect("cases as written")
}

#[test]
fn every_method_is_what_autograd_makes_of_its_formula() {
    let File { batches, cases } = file();
    for case in &cases {
        let columns = batches[&case.batch].columns();
        let (batch, loss) = (columns.batch(), case.policy_loss);
        let what = format!("{loss:?} on `{}`", case.batch);
        let plan = loss.plan(&batch, &case.aggregation, &mut seeded(0)).expect("all columns");
        let plan = match &case.eligible {
            None => {
                assert_eq!(plan.selected_tokens(), case.selected, "{what}");
                plan
            }
            Some(eligible) => {
                let drawn = plan.selected_tokens();
                assert_eq!(drawn.len(), case.selected.len(), "{what}");
                assert!(drawn.iter().all(|token| eligible.contains(token)), "{what}");
                let marks: Vec<bool> =
                    (0..batch.len()).map(|token| case.selected.contains(&token)).collect();
                with_selected(plan, &marks)
            }
        };
        let output = loss.evaluate(&batch, plan.part(0..batch.len()));
        assert_close(output.value, case.value, &what);
        assert_eq!(output.grad_log_prob.len(), case.grad_log_prob.len());
        for (token, (computed, expected)) in
            std::iter::zip(&output.grad_log_prob, &case.grad_log_prob).enumerate()
        {
            assert_close(*computed, *expected, &format!("{what}, slope of token {token}"));
        }
        let counts = (output.sums.clipped, output.sums.clipped_lower);
        assert_eq!(counts, (case.clipped, case.clipped_lower), "{what}");
    }
}

/// Each method is there with its defaults and, if it has settings, with others, on each batch.
#[test]
fn no_method_of_the_registry_is_left_out() {
    let File { batches, cases } = file();
    for method in registry() {
        for batch in batches.keys() {
            let of_batch = cases.iter().filter(|case| case.batch == *batch);
            let settings: BTreeSet<String> = of_batch
                .map(|case| case.policy_loss)
                .filter(|loss| loss.name() == method.name)
                .map(|loss| format!("{loss:?}"))
                .collect();
            assert!(settings.contains(&format!("{:?}", method.default)), "{}", method.name);
            let fixed = ["reinforce", "sapo", "dro"].contains(&method.name);
            assert!(fixed || settings.len() > 1, "{} has its defaults only", method.name);
        }
    }
}
