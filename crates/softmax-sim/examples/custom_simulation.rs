//! A custom environment, loss and measurement in the simulator: `cargo run --release -p softmax-sim --example custom_simulation`.
//!
//! Each takes about twenty lines, an advantage fewer. The loop, the exact evaluation, seeds and threads are the simulator's.

use std::io::{self, Write};

use rl_losses::{CustomLoss, Real, Scored, Term, Token, TokenLoss};
use softmax_sim::environment::{Environment, EnvironmentError, Parameters, Questions, Shape};
use softmax_sim::training::{CustomAdvantage, Method, Rows, Schedule, Trainer};

/// A lock of three digits: two codes open it, one that the policy would guess and one that it would not.
fn lock(prompts: usize) -> Result<Environment, EnvironmentError> {
    let shape = Shape { prompts, positions: 3, actions: 10 };
    let (mut quality, mut start) = (Vec::new(), Vec::new());
    for prompt in 0..prompts {
        for position in 0..shape.positions {
            let likely = (prompt + position) % shape.actions;
            let unlikely = (prompt * 3 + position * 7 + 5) % shape.actions;
            for action in 0..shape.actions {
                // The likely code opens the lock in two of three tries, the unlikely one always.
                quality.push(if action == unlikely {
                    1.0
                } else if action == likely {
                    0.87
                } else {
                    0.0
                });
                start.push(if action == likely { 2.0 } else { 0.0 });
            }
        }
    }
    let questions = Questions::new(shape, quality, Parameters::Logits)?;
    Environment::new(questions, None, start)
}

/// The policy gradient, weaker for tokens that are already likely: `-r A (1 - π_old)`.
struct Surprise;

impl TokenLoss for Surprise {
    fn score<R: Real>(&self, token: &Token<R>) -> Scored<R> {
        let surprise = R::of(1.0) - token.old_log_prob.exp();
        let slope = -token.ratio * token.advantage * surprise;
        Scored::open(Term { value: slope, d_log_prob: slope }, false)
    }
}

/// Advantages that only praise: the reward less the group's mean, nothing below 0.
fn praise(rewards: &[f64], group_size: usize) -> Vec<f64> {
    let groups = rewards.chunks(group_size);
    groups
        .flat_map(|group| {
            let mean = group.iter().sum::<f64>() / group.len() as f64;
            group.iter().map(move |reward| (reward - mean).max(0.0))
        })
        .collect()
}

/// Share of the states in which the policy is nearly certain.
fn certain(environment: &Environment, parameters: &[f64]) -> f64 {
    let all: Vec<usize> = (0..environment.training().shape().prompts).collect();
    let policy = Rows::of(environment.training(), parameters, &all);
    let few = policy.entropy().iter().filter(|entropy| **entropy < 0.1).count();
    few as f64 / policy.entropy().len() as f64
}

/// Trains on the lock by GRPO, by the custom loss and by the custom advantages; prints a row each.
///
/// # Errors
///
/// If the tables form no environment, or `out` cannot be written.
pub(crate) fn run(out: &mut impl Write) -> Result<(), Box<dyn std::error::Error>> {
    let environment = lock(64)?;
    let schedule = Schedule { rollouts: 120, evaluate_every: 40, ..Schedule::tabular(0.5) };
    let grpo = || Trainer::new(&environment, Method::default(), schedule, 0);
    let trainers = [
        ("GRPO", grpo()),
        ("surprise", grpo().with_loss(CustomLoss::new(Surprise))),
        ("praise", grpo().with_advantage(CustomAdvantage::new(praise))),
    ];
    writeln!(out, "method     entropy, nat      reward            nearly certain states")?;
    for (name, mut trainer) in trainers {
        let curve = trainer.run(|_, _| {});
        let (first, last) = (curve.first(), curve.last());
        writeln!(
            out,
            "{name:<10} {:.3} to {:.3}    {:.3} to {:.3}    {:.3}",
            first.entropy,
            last.entropy,
            first.reward,
            last.reward,
            certain(&environment, trainer.parameters())
        )?;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    run(&mut io::stdout().lock())
}
