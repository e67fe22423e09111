//! Each method and preset on one small batch: a change of any number is a change of the algorithm.

use std::fmt::Write;

use insta::assert_snapshot;
use rl_losses::{Aggregation, PolicyLoss, presets, registry};

use crate::batches::{Columns, seeded};

/// Two sequences: tokens inside and outside every clip bound, three in Clip-Cov's band, entropies that
/// fell, rose and stayed.
fn batch() -> Columns {
    let old_log_prob = vec![-0.4, -6.0, -0.6, -2.6, -0.05, -6.1, -0.5, -0.1];
    Columns {
        log_prob: vec![-0.1, -6.0, -0.5, -1.2, -0.05, -7.0, -3.0, -0.2],
        old_log_prob: old_log_prob.clone(),
        advantage: vec![1.5, -0.5, 1.5, -0.5, 1.5, -0.5, -0.5, -0.5],
        optional: [
            vec![0.3, 2.1, 1.2, 1.9, 0.2, 2.4, 1.1, 0.5],
            vec![0.6, 2.1, 1.25, 1.4, 0.2, 2.3, 1.11, 0.45],
            vec![-0.5, -5.5, -0.6, -2.0, -0.1, -6.0, -0.7, -0.1],
            old_log_prob,
        ],
        lengths: vec![5, 3],
        micro_batches: vec![1, 1],
    }
}

/// Twelve digits: enough to see any change of formula, few enough to hide the last-bit differences
/// between mathematics libraries.
fn evaluate(loss: &PolicyLoss, aggregation: Aggregation) -> String {
    let columns = batch();
    let batch = columns.batch();
    let plan = loss.plan(&batch, &aggregation, &mut seeded(0)).expect("a batch of all columns");
    let output = loss.evaluate(&batch, plan.part(0..batch.len()));
    let mut table = format!("value {:+.11e}\n", output.value);
    for (token, gradient) in output.grad_log_prob.iter().enumerate() {
        let mark = if plan.selected()[token] { "selected" } else { "" };
        let line = format!("{token} {:+.11e} {mark}", gradient + 0.0);
        writeln!(table, "{}", line.trim_end()).expect("a string grows");
    }
    let sums = output.sums;
    let per_token = |sum: f64| sum / sums.tokens as f64;
    write!(
        table,
        "ppo_kl {:+.6} mean_abs_log_ratio {:.6} clip_fraction {} lower {} selected_fraction {} \
         altered_fraction {}",
        sums.ppo_kl(),
        per_token(sums.abs_log_ratio),
        sums.clip_fraction(),
        sums.clip_fraction_lower(),
        sums.selected_fraction(),
        per_token(sums.altered as f64),
    )
    .expect("a string grows");
    table
}

#[test]
fn presets_on_a_small_batch() {
    let tables: Vec<String> = presets()
        .iter()
        .map(|preset| {
            format!("# {}\n{}", preset.name, evaluate(&preset.loss, Aggregation::TokenMean))
        })
        .collect();
    assert_snapshot!(tables.join("\n\n"));
}

#[test]
fn methods_on_a_small_batch() {
    let tables: Vec<String> = registry()
        .iter()
        .map(|method| {
            format!("# {}\n{}", method.name, evaluate(&method.default, method.aggregation))
        })
        .collect();
    assert_snapshot!(tables.join("\n\n"));
}

/// Covers some settings under each version's arithmetic.
#[test]
fn semantics_on_a_small_batch() {
    let mut tables = Vec::new();
    for settings in [
        "ppo-clip = { SEMANTICS }",
        "clip-cov = { fraction = 0.3, covariance_low = 0.4, clip_ratio_low = 0.2, clip_ratio_high = 0.2, SEMANTICS }",
        "clip-cov = { fraction = 0.3, covariance_low = 0.4, scope = 'micro-batch', SEMANTICS }",
        "kl-cov = { fraction = 0.1, SEMANTICS }",
        "kl-cov = { fraction = 1.0, SEMANTICS }",
        "kl-cov = { fraction = 0.3, scope = 'micro-batch', SEMANTICS }",
        "kl-cov = { fraction = 0.3, centering = 'state', SEMANTICS }",
    ] {
        for semantics in ["exact", "paper", "prime", "verl"] {
            let settings = settings.replace("SEMANTICS", &format!("semantics = '{semantics}'"));
            let loss: PolicyLoss = toml::from_str(&settings).expect("settings");
            tables.push(format!("# {settings}\n{}", evaluate(&loss, Aggregation::TokenMean)));
        }
    }
    assert_snapshot!(tables.join("\n\n"));
}
