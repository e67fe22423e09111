//! Diagnostics against exact expectations.

use entropy_core::{Categorical, Quadrant, Quadrants, UpdateRule};
use insta::{assert_snapshot, assert_yaml_snapshot, rounded_redaction};
use proptest::prelude::*;
use rl_losses::{
    DivergenceSums, EntropyChangeColumns, EntropyChangeSums, group_covariances, quadrants,
};

const RULES: [UpdateRule; 2] = [UpdateRule::PolicyGradient, UpdateRule::NaturalPolicyGradient];

/// Tokens of a batch whose shares are exactly the probabilities of its states.
#[derive(Default)]
struct Batch {
    log_prob: Vec<f64>,
    advantage: Vec<f64>,
    entropy: Vec<f64>,
    mean_score: Vec<f64>,
}

impl Batch {
    /// Adds a state whose action `a` is drawn `counts[a]` times.
    fn visit(&mut self, counts: &[usize], advantage: &[f64]) -> Categorical {
        let logits: Vec<f64> = counts.iter().map(|&count| (count as f64).ln()).collect();
        let policy = Categorical::from_logits(&logits).expect("an action of each");
        let score = |action| policy.probs()[action] * policy.entropy_score(action);
        let mean_score: f64 = (0..counts.len()).map(score).sum();
        for (action, &count) in counts.iter().enumerate() {
            self.log_prob.extend(std::iter::repeat_n(policy.log_probs()[action], count));
            self.advantage.extend(std::iter::repeat_n(advantage[action], count));
            self.entropy.extend(std::iter::repeat_n(policy.entropy(), count));
            self.mean_score.extend(std::iter::repeat_n(mean_score, count));
        }
        policy
    }

    fn sums(&self) -> EntropyChangeSums {
        EntropyChangeSums::of(EntropyChangeColumns {
            log_prob: &self.log_prob,
            advantage: &self.advantage,
            entropy: &self.entropy,
            mean_score: Some(&self.mean_score),
        })
        .expect("columns of one batch")
    }
}

#[test]
fn in_one_state_the_prediction_is_the_theorems() {
    let mut batch = Batch::default();
    let advantage = [0.3, -1.0, 2.0, 0.5]; // not centred
    let policy = batch.visit(&[10, 5, 2, 3], &advantage);
    for rule in RULES {
        let expected = rule.predicted_entropy_change(&policy, &advantage, 0.1);
        let predicted = batch.sums().state_centred(rule, 0.1);
        assert!((predicted - expected).abs() < 1e-15, "{rule:?}: {predicted} {expected}");
    }
    let natural = UpdateRule::NaturalPolicyGradient;
    let predicted = batch.sums().batch_centred(natural, 0.1);
    let expected = natural.predicted_entropy_change(&policy, &advantage, 0.1);
    assert!((predicted - expected).abs() < 1e-15, "one state: both centrings agree");
}

/// Two states whose mean advantages differ with their entropies: the batch sees a covariance where
/// no state has one.
#[test]
fn only_the_state_centred_prediction_is_blind_to_differences_between_states() {
    let mut batch = Batch::default();
    batch.visit(&[8, 8], &[-1.0, -1.0]);
    batch.visit(&[15, 1], &[1.0, 1.0]);
    let natural = UpdateRule::NaturalPolicyGradient;
    assert!(batch.sums().state_centred(natural, 1.0).abs() < 1e-15);
    let entropy = |p: f64| -p * p.ln() - (1.0 - p) * (1.0 - p).ln();
    // Between the states: half the difference of -H times half the difference of A.
    let expected = (entropy(0.5) - entropy(15.0 / 16.0)) / 2.0;
    let covariance = -batch.sums().batch_centred(natural, 1.0);
    assert!((covariance - expected).abs() < 1e-15, "{covariance} {expected}");
    assert!((covariance - 0.2297).abs() < 1e-4);
}

#[test]
fn the_theorems_may_disagree_in_sign() {
    let mut batch = Batch::default();
    batch.visit(&[10, 9, 1], &[0.0, 1.0, 0.0]);
    let [vanilla, natural] = RULES.map(|rule| batch.sums().state_centred(rule, 1.0));
    assert!((vanilla - 0.0095).abs() < 1e-4 && (natural + 0.0257).abs() < 1e-4);
}

type Row = (f64, f64, f64, bool);

fn rows() -> impl Strategy<Value = Vec<Row>> {
    prop::collection::vec((-6.0..0.0f64, -6.0..0.0f64, -2.0..2.0f64, any::<bool>()), 1..40)
}

/// Every diagnostic of some rows.
fn measure(
    rows: &[Row],
    entropies: Option<&[f64]>,
) -> (EntropyChangeSums, Quadrants, DivergenceSums) {
    let log_prob: Vec<f64> = rows.iter().map(|row| row.0).collect();
    let old: Vec<f64> = rows.iter().map(|row| if row.3 { row.0 } else { row.1 }).collect();
    let advantage: Vec<f64> = rows.iter().map(|row| row.2).collect();
    let entropy: Vec<f64> = rows.iter().map(|row| -row.1).collect();
    let columns = EntropyChangeColumns {
        log_prob: &log_prob,
        advantage: &advantage,
        entropy: &entropy,
        mean_score: None,
    };
    (
        EntropyChangeSums::of(columns).expect("columns of one batch"),
        quadrants(&log_prob, &advantage, entropies).expect("columns of one batch"),
        DivergenceSums::of(&log_prob, &old).expect("columns of one batch"),
    )
}

fn kinds(quadrants: Quadrants) -> [Quadrant; 5] {
    let Quadrants { up_likely, up_unlikely, down_likely, down_unlikely, still } = quadrants;
    [up_likely, up_unlikely, down_likely, down_unlikely, still]
}

/// Covariance per token of all kinds together.
fn covariance(quadrants: Quadrants, tokens: usize) -> f64 {
    kinds(quadrants).iter().map(|kind| kind.covariance).sum::<f64>() / tokens as f64
}

proptest! {
    /// The quadrants add up to the covariance that Theorem 2 reads.
    #[test]
    fn quadrants_share_out_the_covariance(rows in rows()) {
        let (change, quadrants, _) = measure(&rows, None);
        let share = covariance(quadrants, rows.len());
        let expected = -change.batch_centred(UpdateRule::NaturalPolicyGradient, 1.0);
        prop_assert!((share - expected).abs() < 1e-9, "{share} {expected}");
    }

    /// So do those centred in each state.
    #[test]
    fn state_centred_quadrants_do_so_too(rows in rows()) {
        let entropy: Vec<f64> = rows.iter().map(|row| -row.1).collect();
        let (change, quadrants, _) = measure(&rows, Some(&entropy));
        let share = covariance(quadrants, rows.len());
        let expected = -change.state_centred(UpdateRule::NaturalPolicyGradient, 1.0);
        prop_assert!((share - expected).abs() < 1e-9, "{share} {expected}");
        prop_assert!(quadrants.up_likely.covariance >= 0.0);
        prop_assert!(quadrants.down_likely.covariance <= 0.0);
    }
}

#[test]
fn a_token_is_likely_if_it_is_above_the_mean_of_its_own_state() {
    // By itself each is likely where its log-probability is above -H of its state: -0.5 > -1, -2 > -3, -0.5 < -0.2.
    let (log_prob, entropy) = ([-0.5, -2.0, -0.5], [1.0, 3.0, 0.2]);
    let quadrants = quadrants(&log_prob, &[1.0, -1.0, 1.0], Some(&entropy)).unwrap();
    let tokens = [quadrants.up_likely, quadrants.down_likely, quadrants.up_unlikely];
    assert_eq!(tokens.map(|quadrant| quadrant.tokens), [1, 1, 1]);
}

#[test]
fn a_groups_covariance_is_that_of_its_responses() {
    // Mean log-probabilities -1 and -3, advantages 1 and -1: half the gaps are 1 and 1.
    let log_prob = [-0.5, -1.5, -3.0, -2.0, -2.0];
    let covariances = group_covariances(
        &log_prob,
        &[2, 1, 2],
        &[1.0, -1.0, 5.0],
        &[2, 1],
        UpdateRule::NaturalPolicyGradient,
    );
    assert_eq!(covariances.unwrap(), [1.0, 0.0]);
    let rule = UpdateRule::PolicyGradient;
    let covariances =
        group_covariances(&log_prob, &[2, 1, 2], &[1.0, -1.0, 5.0], &[2, 1], rule).unwrap();
    let expected = f64::midpoint((-1.0f64).exp(), (-3.0f64).exp());
    assert!((covariances[0] - expected).abs() < 1e-15);
}

#[test]
fn sums_of_a_small_batch() {
    let rows = [
        (-0.1, -0.2, 1.0, false),
        (-3.0, -2.0, 1.0, false),
        (-0.5, -1.0, -1.0, false),
        (-4.0, -1.0, -1.0, true),
        (-1.0, -1.0, 0.0, true),
    ];
    assert_yaml_snapshot!(measure(&rows, None), {".**" => rounded_redaction(10)});
}

#[test]
fn bad_input_is_refused_by_name() {
    let columns = EntropyChangeColumns {
        log_prob: &[-1.0, -2.0],
        advantage: &[1.0, 0.0],
        entropy: &[0.5],
        mean_score: None,
    };
    let complaints = [
        EntropyChangeSums::of(columns).unwrap_err(),
        quadrants(&[0.0], &[0.0], Some(&[])).unwrap_err(),
        DivergenceSums::of(&[f64::INFINITY], &[0.0]).unwrap_err(),
        group_covariances(&[0.0], &[1], &[1.0], &[2], RULES[0]).unwrap_err(),
    ]
    .map(|error| error.to_string());
    assert_snapshot!(complaints.join("\n"));
}
