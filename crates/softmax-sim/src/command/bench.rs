//! `softmax-sim bench`.

use super::policy_table::PolicyTable;
use anyhow::Context;
use entropy_core::kernel::{ExactStep, InstructionSet};
use ndarray::Array2;
use ndarray_rand::RandomExt;
use ndarray_rand::rand_distr::{StandardNormal, StandardUniform};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde::Serialize;
use softmax_sim::entropy_change::Rule;
use std::io::Write;
use std::time::Instant;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Sizes, each as states x actions, separated by commas
    #[arg(long, value_parser = size, value_delimiter = ',', default_value = "1x100,1000x100,1000x10000")]
    sizes: Vec<(usize, usize)>,
    /// Update rules: pg is policy gradient, npg natural policy gradient
    #[arg(long, value_enum, value_delimiter = ',', default_value = "pg,npg")]
    rules: Vec<Rule>,
    /// Worker threads
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..))]
    threads: u16,
    /// Steps of one call, between two computations of the means [default: by size]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    steps_per_call: Option<u32>,
    /// Shortest measuring time for each size and rule, in seconds
    #[arg(long, default_value_t = 0.8, value_parser = seconds)]
    seconds: f64,
}

/// Steps whose sums are in memory at once.
const STEPS_AT_ONCE: usize = 256;

fn size(text: &str) -> Result<(usize, usize), String> {
    let numbers = text
        .split_once('x')
        .and_then(|(states, actions)| states.parse().ok().zip(actions.parse().ok()));
    let positive = numbers.filter(|(states, actions)| *states > 0 && *actions > 0);
    positive.ok_or_else(|| "expected states x actions, both positive: 1000x100".to_owned())
}

fn seconds(text: &str) -> Result<f64, String> {
    let valid = text.parse().ok().filter(|seconds: &f64| seconds.is_finite() && *seconds >= 0.0);
    valid.ok_or_else(|| "expected a finite number of seconds, 0 or more".to_owned())
}

/// The names are those of the Python peers.
#[derive(Serialize)]
struct Measurement {
    #[serde(rename = "S")]
    states: usize,
    #[serde(rename = "A")]
    actions: usize,
    alg: Rule,
    dtype: &'static str,
    threads: u16,
    steps_per_call: usize,
    steps_per_s: f64,
    best_steps_per_s: f64,
    ns_per_element: f64,
    trials: usize,
}

pub(crate) fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<bool> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(usize::from(args.threads)).build()?;
    let mut results = Vec::new();
    for size in &args.sizes {
        for rule in &args.rules {
            results.push(pool.install(|| measure(args, *size, *rule)));
        }
    }
    let instructions = InstructionSet::widest().to_string();
    let report = serde_json::json!({ "instructions": instructions, "results": results });
    writeln!(out, "{report:#}").context("cannot print")?;
    Ok(true)
}

fn measure(args: &Args, (states, actions): (usize, usize), rule: Rule) -> Measurement {
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    let logits: Array2<f64> =
        Array2::random_using((states, actions), StandardNormal, &mut rng) * 0.5;
    let rewards = Array2::random_using((states, actions), StandardUniform, &mut rng);
    let mut table = PolicyTable::new(&logits, &rewards);
    let elements = states * actions;
    let steps_per_call = args.steps_per_call.map_or_else(|| by_size(elements), |n| n as usize);
    let step = ExactStep::new(rule.into(), 0.1);
    let mut call = || {
        let start = Instant::now();
        for first in (0..steps_per_call).step_by(STEPS_AT_ONCE) {
            table.run(step, STEPS_AT_ONCE.min(steps_per_call - first));
        }
        start.elapsed().as_secs_f64() / steps_per_call as f64
    };
    call();
    let start = Instant::now();
    let mut seconds = Vec::new();
    while seconds.len() < 5 || start.elapsed().as_secs_f64() < args.seconds {
        seconds.push(call());
    }
    seconds.sort_by(f64::total_cmp);
    let median = seconds[seconds.len() / 2];
    Measurement {
        states,
        actions,
        alg: rule,
        dtype: "f64",
        threads: args.threads,
        steps_per_call,
        steps_per_s: 1.0 / median,
        best_steps_per_s: 1.0 / seconds[0],
        ns_per_element: 1e9 * median / elements as f64,
        trials: seconds.len(),
    }
}

/// Default number of steps per call, equal to that of the Python peers.
fn by_size(elements: usize) -> usize {
    match elements {
        0..10_000 => 200,
        10_000..1_000_000 => 20,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_states_by_actions() {
        assert_eq!(size("1000x100"), Ok((1000, 100)));
        for bad in ["", "7", "x", "0x3", "3x0", "3x-1", "3x4x5"] {
            assert!(size(bad).is_err(), "{bad}");
        }
    }
}
