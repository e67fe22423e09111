//! Every method on one batch: `cargo run -p rl-losses --example losses`.

use std::io::{self, Write};

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rl_losses::{Column, TokenBatch, TokenColumns, registry};

const LOG_PROB: [f64; 8] = [-0.1, -6.0, -0.5, -1.2, -0.05, -7.0, -3.0, -0.2];
const OLD_LOG_PROB: [f64; 8] = [-0.4, -6.0, -0.6, -2.6, -0.05, -6.1, -0.5, -0.1];
const ADVANTAGE: [f64; 8] = [1.5, -0.5, 1.5, -0.5, 1.5, -0.5, -0.5, -0.5];
const ENTROPY: [f64; 8] = [0.3, 2.1, 1.2, 1.9, 0.2, 2.4, 1.1, 0.5];
const OLD_ENTROPY: [f64; 8] = [0.6, 2.1, 1.25, 1.4, 0.2, 2.3, 1.11, 0.45];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let columns =
        TokenColumns { log_prob: &LOG_PROB, old_log_prob: &OLD_LOG_PROB, advantage: &ADVANTAGE };
    let batch = TokenBatch::new(columns, &[5, 3])?
        .with(Column::Entropy, &ENTROPY)?
        .with(Column::OldEntropy, &OLD_ENTROPY)?;
    let mut out = io::stdout().lock();
    write!(out, "{:<19} {:>8} {:>4} {:>4} {:>4} ", "method", "loss", "clip", "sel", "alt")?;
    writeln!(out, " on-policy  ∂loss/∂log π of each token")?;
    for method in registry() {
        let loss = method.default;
        let mut rng = ChaCha8Rng::seed_from_u64(0);
        let plan = loss.plan(&batch, &method.aggregation, &mut rng)?;
        let output = loss.evaluate(&batch, plan.part(0..batch.len()));
        let sums = output.sums;
        let on_policy = if loss.is_inert_on_policy() { "inert" } else { "acts" };
        write!(out, "{:<19} {:>8.4} {:>4} ", method.name, output.value, sums.clipped)?;
        write!(out, "{:>4} {:>4}  {on_policy:<9} ", sums.selected, sums.altered)?;
        for slope in output.grad_log_prob {
            write!(out, " {:>7.4}", slope + 0.0)?;
        }
        writeln!(out)?;
    }
    writeln!(out)?;
    writeln!(out, "clip       tokens in the flat part of a clip, or whose weight a bound holds")?;
    writeln!(out, "sel        tokens the method singles out: to drop, penalise or keep")?;
    writeln!(out, "alt        tokens with another slope than that of the plain surrogate")?;
    writeln!(out, "on-policy  whether the method acts in the first update of a rollout batch")?;
    Ok(())
}
