//! Made-up but realistic runs.

use std::collections::BTreeMap;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use run_report::report::{Report, ReportRun, Verification, VerificationRow};
use run_report::run_view::ViewedSample;
use training_run::metrics::StepMetrics;
use training_run::token_record::TokenRecord;

/// Three runs, with everything that a report can hold.
pub(crate) fn sample() -> Report {
    let runs = vec![
        run("GRPO", "group-relative advantages, clipped surrogate.", 1, 0.9, 0.05, 0.0),
        run("Clip-Cov", "detaches a few random tokens of high covariance.", 2, 0.62, 0.22, 0.0002),
        run("KL-Cov", "penalises the tokens of highest covariance.", 3, 0.5, 0.38, 0.002),
    ];
    Report {
        title: "Entropy of a small language model under reinforcement learning".to_owned(),
        introduction: vec![
            "Invented data: this page shows what a report looks like, not what a run found.".to_owned(),
            "Three runs from the same warmed-up model, with the same questions, seed and budget; they differ \
             in the policy loss only."
                .to_owned(),
        ],
        runs,
        verification: Some(verification()),
        command: "llm-trainer demo --output runs/demo".to_owned(),
    }
}

/// Entropy falls from 1.1 at a rate `decay` towards `floor`; reward follows the law with noise.
fn run(name: &str, about: &str, seed: u64, decay: f64, floor: f64, selected: f64) -> ReportRun {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut noise =
        move |scale: f64| scale * (0..4).map(|_| rng.random_range(-1.0..1.0)).sum::<f64>();
    let mut steps = vec![];
    let mut entropy = 1.1;
    for step in 1..=200_u32 {
        let change = -0.04 * decay * (entropy - floor) * (1.0 + noise(0.25)) + noise(0.001);
        let reward = 0.95 - 0.22 * f64::exp(entropy) + noise(0.025);
        let covariance = 2.0 * (-change) + noise(0.005);
        let mut values = BTreeMap::from(
            [
                ("actor/entropy", entropy),
                ("critic/rewards/mean", reward.clamp(0.0, 1.0)),
                ("entropy/measured_change", change),
                ("entropy/predicted_change_lemma1", 1.08 * change + noise(0.0008)),
                ("cov/mean", covariance),
                ("cov/top_0.0002", 40.0 * entropy + noise(2.0)),
                ("cov/top_0.002", 12.0 * entropy + noise(0.4)),
                ("cov/top_0.02", 3.0 * entropy),
                ("cov/top_0.2", 0.5 * entropy),
                ("cov/top_0.5", 0.21 * entropy),
                ("cov/selected_fraction", selected),
                ("response_length/mean", 24.0 + 0.03 * f64::from(step) + noise(1.0)),
                ("actor/pg_loss", noise(0.01)),
                ("actor/ppo_kl", 2e-4 * (1.0 + noise(0.3))),
                ("actor/grad_norm", 0.6 * entropy + 0.2 + noise(0.05)),
                ("rollout/mismatch_kl", 0.0),
                ("timing_s/step", 0.62 + noise(0.03)),
                ("perf/throughput", 5200.0 + noise(200.0)),
            ]
            .map(|(metric, value)| (metric.to_owned(), value)),
        );
        if step == 1 || step % 25 == 0 {
            values
                .insert("val-core/arithmetic/acc/mean@4".to_owned(), reward.clamp(0.0, 1.0) - 0.02);
        }
        steps.push(StepMetrics::from_values(u64::from(step), values));
        entropy = (entropy + change).max(0.02);
    }
    let sample = |step, reward, response: &str| ViewedSample {
        step,
        problem: "What is 47 + 38 - 12?".to_owned(),
        response: response.to_owned(),
        answer: "73".to_owned(),
        reward,
        tokens: Some(tokens(response)),
        ..ViewedSample::default()
    };
    ReportRun {
        name: name.to_owned(),
        description: about.to_owned(),
        steps,
        samples: vec![
            sample(1, 0.0, "47 + 38 = 75\n75 - 12 = 63\nThe answer is \\boxed{63}."),
            sample(1, 1.0, "47 + 38 = 85\n85 - 12 = 73\nThe answer is \\boxed{73}."),
            sample(200, 1.0, "47 + 38 = 85\n85 - 12 = 73\nThe answer is \\boxed{73}."),
            // Policies that collapse write such things.
            sample(200, 0.0, &"0".repeat(400)),
        ],
        config_toml: format!("seed = 7\nsteps = 200\n\n[loss]\nmethod = \"{name}\"\n"),
    }
}

/// A token for each word, of a covariance that grows along the response.
fn tokens(response: &str) -> TokenRecord {
    let text: Vec<String> = response.split_inclusive(' ').map(str::to_owned).collect();
    let count = text.len();
    let column = |scale: f64| (0..count).map(|token| scale * (token as f64 - 3.0)).collect();
    TokenRecord {
        sample: 0,
        token_ids: vec![1; count],
        text,
        log_prob: column(-0.1),
        entropy: column(0.05),
        advantage: vec![1.0; count],
        covariance: column(0.2),
        selected: Some(vec![count - 1]),
    }
}

fn verification() -> Verification {
    let row = |statement: &str, check: &str, worst, allowed| VerificationRow {
        statement: statement.to_owned(),
        check: check.to_owned(),
        cases: 1000,
        worst,
        allowed,
        passed: worst <= allowed,
    };
    Verification {
        seed: 7,
        rows: vec![
            row("Lemma 1", "remainder falls with the square of the step: |order − 2|", 0.012, 0.1),
            row("Proposition 1", "logit step equals η π A, relative error", 3.1e-13, 1e-10),
            row("Theorem 1", "ΔH against −η Cov(log π, π A): |order − 2|", 0.021, 0.1),
            row("Theorem 2", "ΔH against −η Cov(log π, A): |order − 2|", 0.018, 0.1),
        ],
    }
}
