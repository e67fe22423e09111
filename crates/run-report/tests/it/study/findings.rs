//! Findings of a study whose runs follow known laws.

use training_run::metric;
use training_run::metrics::{MetricName, StepMetrics, Validation};

use run_report::study::cell::{Cell, Scores, SeedRun, Study};
use run_report::study::finding::{Finding, Verdict};
use run_report::study::findings;
use run_report::study::measure::Measure;
use run_report::study::method::{CLIP_COV, GRPO, KL_COV};
/// A run of 120 steps whose entropy decays from 1 by `rate` a step, evaluated every five on `R = 0.9 - 0.2 exp(H)`.
fn run(seed: u64, rate: f64, right: Vec<usize>) -> SeedRun {
    let entropy = |step: u64| (-rate * step as f64).exp() + 0.001 * seed as f64;
    let step = |step: u64| {
        let mut metrics = StepMetrics::new(step);
        let change = entropy(step + 1) - entropy(step);
        if step > 0 {
            metrics.insert(metric!("actor/entropy"), entropy(step));
            metrics.insert(metric!("entropy/measured_change"), change);
            metrics.insert(metric!("entropy/predicted_change_lemma1"), change);
            metrics.insert(metric!("cov/mean"), entropy(step));
        }
        if step.is_multiple_of(5) {
            // It is of the policy that samples in the next step.
            let accuracy = 0.9 - 0.2 * entropy(step + 1).exp();
            metrics.insert(MetricName::validation("a", Validation::Mean(4)), accuracy);
        }
        metrics
    };
    let start = Scores { samples: 32, right: vec![16, 1, 2] };
    let end = Scores { samples: 32, right };
    SeedRun { seed, metrics: (0..=120).map(step).collect(), start, end }
}

fn study() -> Study {
    let cell = |method: &str, rate: f64, right: usize| Cell {
        model: "small".to_owned(),
        parameters: 1000,
        method: method.to_owned(),
        runs: [1, 2, 3].map(|seed| run(seed, rate, vec![32, right, right])).into(),
    };
    Study { cells: vec![cell(GRPO, 0.1, 0), cell(CLIP_COV, 0.001, 16), cell(KL_COV, 0.1, 0)] }
}

fn measure(findings: &[Finding], name: &str, quantity: &str) -> Measure {
    let finding = findings.iter().find(|finding| finding.name == name).expect("it is registered");
    let measure = finding.measures.iter().find(|measure| measure.quantity == quantity);
    measure.unwrap_or_else(|| panic!("no {quantity} among {:?}", finding.measures)).clone()
}

#[test]
fn an_exact_law_is_found_and_forecast() {
    let findings = findings(&study());
    let law = |quantity| measure(&findings, "law", quantity).mean.unwrap();
    assert!((law("a") - 0.2).abs() < 1e-9 && (law("b") - 0.9).abs() < 1e-9);
    assert!((law("ceiling of all seeds' points, fraction right") - 0.7).abs() < 1e-9);
    let error = measure(
        &findings,
        "forecast",
        "from the first 0.15 by updates: error at the last evaluation",
    );
    assert!(error.mean.unwrap() < 1e-9 && error.met() == Some(true), "{error:?}");
    let rmse = measure(&findings, "algorithms", "GRPO: RMSE of the law of GRPO, fraction right");
    assert!(rmse.mean.unwrap() < 1e-9);
}

/// Entropy `exp(-t / 10)`: at step 40 a third of the run is over and `1 - e^-4` of it spent.
#[test]
fn shares_of_the_collapse_are_those_of_the_curve() {
    let findings = findings(&study());
    let what = "share of the spent entropy, after 1/3 of the updates";
    let spent = measure(&findings, "collapse", what).mean.unwrap();
    let (start, end) = ((-0.1_f64).exp(), 0.0);
    assert!((spent - (start - (-4.0_f64).exp()) / (start - end)).abs() < 2e-3, "{spent}");
}

#[test]
fn methods_are_compared_by_equal_seeds() {
    let findings = findings(&study());
    let compared = |quantity: &str| measure(&findings, "clip-cov", quantity);
    // 16 of 32 more on two of three questions.
    let gain = compared("small, Clip-Cov less GRPO: held-out avg@n");
    assert!((gain.mean.unwrap() - 1.0 / 3.0).abs() < 1e-12 && gain.met() == Some(true));
    // One of 32 is rare, two of 32 are not.
    let rare =
        compared("small, Clip-Cov less GRPO: accuracy on questions that the start rarely solved");
    assert!((rare.mean.unwrap() - 0.5).abs() < 1e-12);
    let what = "small, KL-Cov: entropy over the last third, times GRPO's";
    let ratio = measure(&findings, "kl-cov", what);
    assert!((ratio.mean.unwrap() - 1.0).abs() < 1e-12 && ratio.met() == Some(false));
    let flat =
        compared("small, GRPO: held-out accuracy of the last sixth less that of the sixth before");
    assert_eq!(flat.met(), Some(true));
    let verdict = findings.iter().find(|one| one.name == "clip-cov").unwrap().verdict();
    assert_eq!(verdict, Some(Verdict::InPart));
}

#[test]
fn a_study_without_runs_reproduces_nothing() {
    for finding in findings(&Study::default()) {
        assert_ne!(finding.verdict(), Some(Verdict::Reproduced), "{}", finding.name);
    }
}
