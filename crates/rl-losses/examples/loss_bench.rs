//! Times plan and evaluation together on two threads, one JSON object on stdout:
//! `cargo run --release -p rl-losses --example loss_bench`.
//!
//! The batch is that of the usual measurements of such losses: log-probabilities near 0 with a heavy
//! tail, log-ratios of 0.05 nats, one advantage per sequence, `f32` columns.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use rl_losses::{
    Aggregation, ClipCov, ClipRange, CovarianceBand, DualClip, KlCov, PolicyLoss, PpoClip, Threads,
    TokenBatch, TokenColumns,
};

const SEQUENCE_TOKENS: usize = 1000;
const THREADS: usize = 2;
/// Time for which each loss is measured, the same as for the peers; the first fifth of the calls warms up.
const LONG_ENOUGH: Duration = Duration::from_millis(750);

fn in_parallel(pieces: usize, work: &(dyn Fn(usize) + Sync)) {
    (0..pieces).into_par_iter().for_each(work);
}

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    // On one thread of the pool while the other looks for work all the time, as OpenMP's do: to wake it from its sleep
    // takes as long as a tenth of the work. Broadcast, so that the other is not the one that is given this measurement.
    let (pool, done) =
        (rayon::ThreadPoolBuilder::new().num_threads(THREADS).build()?, AtomicBool::new(false));
    let outcomes = pool.broadcast(|thread| {
        if thread.index() == 0 {
            let measured = measure();
            done.store(true, Ordering::Relaxed);
            return measured;
        }
        while !done.load(Ordering::Relaxed) {
            rayon::yield_now();
        }
        Ok(())
    });
    outcomes.into_iter().collect()
}

fn measure() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let clip = ClipRange::new(0.2, 0.2)?;
    let losses = [
        ("vanilla", PolicyLoss::PpoClip(PpoClip::default()), Aggregation::TokenMean),
        (
            "trl_grpo",
            PolicyLoss::PpoClip(PpoClip::new(clip, DualClip::OFF)),
            Aggregation::SeqMeanTokenMean,
        ),
        ("kl_cov", PolicyLoss::KlCov(KlCov::new(2e-4, 1.0)?), Aggregation::TokenMean),
        (
            "clip_cov",
            PolicyLoss::ClipCov(ClipCov::new(2e-4, CovarianceBand::new(1.0, 5.0)?, clip)?),
            Aggregation::TokenMean,
        ),
    ];
    let mut results = Vec::new();
    for tokens in [100_000, 1_000_000, 4_000_000] {
        let columns = Columns::draw(tokens);
        let lengths = vec![SEQUENCE_TOKENS; tokens / SEQUENCE_TOKENS];
        let threads = Threads::new(THREADS, in_parallel);
        let batch = TokenBatch::new(columns.view(), &lengths)?.with_threads(threads);
        let mut gradient = vec![0.0f32; tokens];
        for (name, loss, aggregation) in &losses {
            let mut rng = ChaCha8Rng::seed_from_u64(0);
            let mut milliseconds = Vec::new();
            let begun = Instant::now();
            while begun.elapsed() < LONG_ENOUGH {
                let start = Instant::now();
                let plan = loss.plan(&batch, aggregation, &mut rng)?;
                let part = plan.part(0..tokens);
                let evaluation = loss.evaluate_into(&batch, &part, &mut gradient);
                milliseconds.push(start.elapsed().as_secs_f64() * 1e3);
                // Not a panic, at which the other thread would go on looking for work.
                if !evaluation.value.is_finite() || evaluation.sums.tokens != tokens {
                    return Err(format!("{name}: {evaluation:?} of {tokens} tokens").into());
                }
            }
            milliseconds.drain(..milliseconds.len() / 5);
            milliseconds.sort_by(f64::total_cmp);
            let (median, least) = (milliseconds[milliseconds.len() / 2], milliseconds[0]);
            results.push(serde_json::json!({
                "loss": name, "n": tokens, "threads": THREADS, "median_ms": median, "min_ms": least,
            }));
        }
    }
    writeln!(io::stdout(), "{}", serde_json::json!({ "results": results }))?;
    Ok(())
}

struct Columns {
    log_prob: Vec<f32>,
    old_log_prob: Vec<f32>,
    advantage: Vec<f32>,
}

impl Columns {
    fn draw(tokens: usize) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(0);
        let old_log_prob: Vec<f32> =
            (0..tokens).map(|_| -rng.random::<f32>().powi(4) * 6.0 - 1e-4).collect();
        let log_prob = old_log_prob
            .iter()
            .map(|old| (old + rng.random_range(-0.087f32..0.087)).min(-1e-6))
            .collect();
        let advantage = (0..tokens / SEQUENCE_TOKENS)
            .flat_map(|_| {
                let advantage = if rng.random::<bool>() { 1.0f32 } else { -1.0 };
                std::iter::repeat_n(advantage, SEQUENCE_TOKENS)
            })
            .collect();
        Self { log_prob, old_log_prob, advantage }
    }

    fn view(&self) -> TokenColumns<'_, f32> {
        TokenColumns {
            log_prob: &self.log_prob,
            old_log_prob: &self.old_log_prob,
            advantage: &self.advantage,
        }
    }
}
