//! The law of reward and entropy of a run so far.

use run_report::run_law::{LawExtrapolation, LawSource, RunLaw};
use training_run::metric;
use training_run::metrics::{MetricName, StepMetrics, Validation};

/// Exact law `R = 0.9 - 0.2 e^H`.
fn exact(entropy: f64) -> f64 {
    0.9 - 0.2 * entropy.exp()
}

fn trained(step: u64, entropy: f64, change: f64) -> StepMetrics {
    let mut metrics = StepMetrics::new(step);
    metrics.insert(metric!("actor/entropy"), entropy);
    metrics.insert(metric!("critic/rewards/mean"), exact(entropy) - 0.01);
    metrics.insert(metric!("entropy/measured_change"), change);
    metrics
}

fn evaluated(mut metrics: StepMetrics, accuracy: f64) -> StepMetrics {
    for (source, value) in [("a", accuracy - 0.125), ("b", accuracy + 0.125)] {
        metrics.insert(MetricName::validation(source, Validation::Mean(4)), value);
    }
    metrics
}

#[test]
fn rewards_are_the_points_where_nothing_is_evaluated() {
    let steps = [1.0, 0.8, 0.5, 0.3].into_iter().zip(1..);
    let steps: Vec<_> = steps.map(|(entropy, step)| trained(step, entropy, -0.1)).collect();
    let law = RunLaw::of(&steps);
    assert_eq!(law.source(), LawSource::Rewards);
    let extrapolation = law.extrapolation().unwrap();
    assert!(
        (extrapolation.law.a - 0.2).abs() < 1e-12 && (extrapolation.law.b - 0.89).abs() < 1e-12
    );
    assert!((extrapolation.entropy_spent() - 0.7).abs() < 1e-12);
    assert!((extrapolation.gain_left().unwrap() - (exact(0.0) - exact(0.3))).abs() < 1e-12);
}

#[test]
fn an_evaluation_has_the_entropy_of_the_policy_it_is_of() {
    // Before the first step, after the first, and after the third, which is the last.
    let steps = [
        evaluated(StepMetrics::new(0), exact(1.0)),
        evaluated(trained(1, 1.0, -0.15), exact(0.8)),
        trained(2, 0.8, -0.2),
        evaluated(trained(3, 0.5, -0.25), exact(0.25)),
    ];
    let law = RunLaw::of(&steps);
    assert_eq!(law.source(), LawSource::Evaluations);
    let entropies: Vec<f64> = law.points().iter().map(|point| point.0).collect();
    assert_eq!(entropies, [1.0, 0.8, 0.25]);
    let extrapolation = law.extrapolation().unwrap();
    assert!((extrapolation.law.ceiling() - 0.7).abs() < 1e-12);
    // Collected one by one it is the same.
    let mut pushed = RunLaw::default();
    for step in &steps {
        pushed.push(step);
    }
    assert_eq!(pushed, law);
}

/// Accuracies on `R = 1.3 - 0.3 e^H` between entropies 1.2 and 0.6, which promise 1.0 at entropy 0; `lift` is added.
fn promising(lift: f64) -> LawExtrapolation {
    let steps = (0..9_u32).map(|index| {
        let entropy = 1.2 - 0.075 * f64::from(index);
        let noise = if index % 2 == 0 { 0.01 } else { -0.01 };
        let accuracy = 1.3 - 0.3 * entropy.exp() + noise + lift;
        evaluated(trained(u64::from(index), entropy, 0.0), accuracy)
    });
    RunLaw::of(&steps.collect::<Vec<_>>()).extrapolation().expect("a law")
}

#[test]
fn a_law_that_promises_more_than_can_be_does_not_hold() {
    let beyond = promising(0.125);
    assert!(beyond.interval.low > 1.0 && !beyond.holds(), "{beyond:?}");
    insta::assert_snapshot!(beyond.to_string());
    let mut metrics = StepMetrics::new(9);
    beyond.record(&mut metrics);
    assert!(metrics.get("law/ceiling_low") > Some(1.0));
    assert_eq!(metrics.get("law/gain_left"), None);
}

#[test]
fn a_ceiling_within_its_error_of_the_bound_is_the_bound() {
    let near = promising(0.01);
    assert!(near.holds() && near.interval.high > 1.0, "{near:?}");
    assert!(near.to_string().contains(" to 1.00)"), "{near}");
    let left = 1.0 - near.reward_now;
    assert!(near.law.ceiling() > 1.0 && (near.gain_left().unwrap() - left).abs() < 1e-12);
}

#[test]
fn the_bound_of_rewards_is_the_largest_that_two_steps_reached() {
    let with_largest = |step: u64, largest| {
        let mut metrics = trained(step, 1.0 / step as f64, 0.0);
        metrics.insert(metric!("critic/rewards/max"), largest);
        metrics
    };
    let bound = |largest: &[f64]| {
        let steps = (1..).zip(largest).map(|(step, &largest)| with_largest(step, largest));
        RunLaw::of(&steps.collect::<Vec<_>>()).bound()
    };
    assert_eq!(bound(&[0.5, 1.0, 0.5, 1.0]), Some(1.0));
    assert_eq!(bound(&[0.5, 0.5, 1.0]), None);
    assert_eq!(RunLaw::of(&[evaluated(with_largest(1, 2.0), 0.5)]).bound(), Some(1.0));
}

#[test]
fn what_determines_no_law_has_no_metrics() {
    assert_eq!(RunLaw::of(&[trained(1, 1.0, 0.0), trained(2, 0.9, 0.0)]).extrapolation(), None);
    let flat: Vec<_> = (1..5).map(|step| trained(step, 0.5, 0.0)).collect();
    assert_eq!(RunLaw::of(&flat).extrapolation(), None);
}

/// A law of equal rewards once gave "at most 0".
#[test]
fn equal_rewards_promise_nothing() {
    let unrewarded = |step: u64| {
        let mut metrics = StepMetrics::new(step);
        metrics.insert(metric!("actor/entropy"), 1.0 / step as f64);
        metrics.insert(metric!("critic/rewards/mean"), 0.0);
        metrics
    };
    let law = RunLaw::of(&(1..=4).map(unrewarded).collect::<Vec<_>>());
    assert_eq!(
        law.extrapolation().unwrap().to_string(),
        "0.750 nat of entropy spent (1.00 to 0.250), reward 0 to 0 (+0.000); all 4 steps have the same reward: no law yet"
    );
}

#[test]
fn the_sentence_says_cost_gain_ceiling_and_rival() {
    // Scattered by the same amount up and down: the curve explains more than the line.
    let steps: Vec<_> = (0..12_i32)
        .map(|index| {
            let entropy = 2.2 - 0.2 * f64::from(index);
            let noise = if index % 2 == 0 { 0.004 } else { -0.004 };
            let mut metrics = StepMetrics::new(1 + u64::from(index.unsigned_abs()));
            metrics.insert(metric!("actor/entropy"), entropy);
            metrics.insert(metric!("critic/rewards/mean"), exact(entropy) + noise);
            metrics
        })
        .collect();
    let extrapolation = RunLaw::of(&steps).extrapolation().unwrap();
    insta::assert_snapshot!(extrapolation.to_string());
    let mut metrics = StepMetrics::new(12);
    extrapolation.record(&mut metrics);
    assert!(metrics.get("law/ceiling_low") < metrics.get("law/ceiling"));
    assert!(metrics.get("law/aic_over_linear").unwrap() > 2.0);
    assert_eq!(metrics.get("law/from_evaluations"), Some(0.0));
    assert_eq!(metrics.get("training/omitted_metrics"), None);
}
