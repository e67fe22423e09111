//! Each preset on one small batch: a change of any number is a change of the algorithm.

use std::fmt::Write;

use insta::assert_snapshot;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rl_losses::{Aggregation, PolicyLoss, TokenBatch, TokenColumns, presets};

/// Two sequences: tokens inside and outside every clip bound, and three in Clip-Cov's band.
fn evaluate(loss: &PolicyLoss) -> String {
    let columns = TokenColumns {
        log_prob: &[-0.1, -6.0, -0.5, -1.2, -0.05, -7.0, -3.0, -0.2],
        old_log_prob: &[-0.4, -6.0, -0.6, -2.6, -0.05, -6.1, -0.5, -0.1],
        advantage: &[1.5, -0.5, 1.5, -0.5, 1.5, -0.5, -0.5, -0.5],
    };
    let batch = TokenBatch::new(columns, &[5, 3]).expect("columns of one length");
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    let plan = loss.plan(&batch, &Aggregation::TokenMean, &mut rng);
    let output = loss.evaluate(&batch, plan.part(0..batch.len()));
    // Twelve digits: enough to see any change of formula, few enough to hide the last-bit
    // differences between mathematics libraries.
    let mut table = format!("value {:+.11e}\n", output.value);
    for (token, gradient) in output.grad_log_prob.iter().enumerate() {
        let mark = if plan.selected()[token] { "selected" } else { "" };
        let line = format!("{token} {gradient:+.11e} {mark}");
        writeln!(table, "{}", line.trim_end()).expect("a string grows");
    }
    let sums = output.sums;
    write!(
        table,
        "ppo_kl {:+.6} mean_abs_log_ratio {:.6} clip_fraction {} lower {} selected_fraction {}",
        sums.ppo_kl(),
        sums.mean_abs_log_ratio(),
        sums.clip_fraction(),
        sums.clip_fraction_lower(),
        sums.selected_fraction(),
    )
    .expect("a string grows");
    table
}

#[test]
fn presets_on_a_small_batch() {
    let tables: Vec<String> = presets()
        .iter()
        .map(|preset| format!("# {}\n{}", preset.name, evaluate(&preset.loss)))
        .collect();
    assert_snapshot!(tables.join("\n\n"));
}
