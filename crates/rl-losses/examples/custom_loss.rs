//! A custom policy loss beside GRPO's: `cargo run -p rl-losses --example custom_loss`.
//!
//! A loss is one token's value and its derivative. Selection, aggregation, micro-batches, sums and metrics are those of the
//! losses in the registry; the numbers in the last column are all that a model needs (`llm_trainer::training::policy_pass`).

use std::io::{self, Write};

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rl_losses::{
    Aggregation, KlCov, LossOutput, PolicyLoss, PpoClip, Real, Scored, Term, Token, TokenBatch,
    TokenColumns, TokenLoss, evaluate_loss,
};

/// `-A x / √(1 + (x / w)²)` of the log-ratio `x`: the policy gradient near the old policy, smoothly flat beyond `w` nats.
/// Tokens that the plan selects have a narrower `w`.
struct SmoothWall {
    /// `w`, in nats.
    width: f64,
    /// `w` of selected tokens, in nats.
    selected_width: f64,
}

impl TokenLoss for SmoothWall {
    fn score<R: Real>(&self, token: &Token<R>) -> Scored<R> {
        let width = R::of(if token.selected { self.selected_width } else { self.width });
        let x = token.log_ratio();
        let root = (R::of(1.0) + x / width * (x / width)).sqrt();
        let term = Term {
            value: -token.advantage * x / root,
            d_log_prob: -token.advantage / (root * root * root),
        };
        Scored::open(term, x != R::of(0.0))
    }
}

/// Two responses, of five tokens and of three; the first was right.
const LENGTHS: [usize; 2] = [5, 3];
const LOG_PROB: [f64; 8] = [-0.1, -6.0, -0.5, -1.2, -0.05, -7.0, -3.0, -0.2];
const OLD_LOG_PROB: [f64; 8] = [-0.4, -6.0, -0.6, -2.6, -0.05, -6.1, -0.5, -0.1];
const ADVANTAGE: [f64; 8] = [1.5, 1.5, 1.5, 1.5, 1.5, -0.5, -0.5, -0.5];

fn batch(log_prob: &[f64; 8]) -> Result<TokenBatch<'_>, Box<dyn std::error::Error>> {
    let columns = TokenColumns { log_prob, old_log_prob: &OLD_LOG_PROB, advantage: &ADVANTAGE };
    Ok(TokenBatch::new(columns, &LENGTHS)?)
}

/// Prints both losses, and how far the gradient is from the slope that central differences see.
///
/// # Errors
///
/// If the gradient is not the slope, or `out` cannot be written.
pub(crate) fn run(out: &mut impl Write) -> Result<(), Box<dyn std::error::Error>> {
    const STEP: f64 = 1e-5;
    let wall = SmoothWall { width: 1.0, selected_width: 0.1 };
    // Any method's plan will do: here the fourth of the tokens whose covariance is highest is selected, as KL-Cov selects.
    let planner = PolicyLoss::KlCov(KlCov::new(0.25, 1.0)?);
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    let plan = planner.plan(&batch(&LOG_PROB)?, &Aggregation::TokenMean, &mut rng)?;
    let all_tokens = plan.part(0..LOG_PROB.len());

    let custom = evaluate_loss(&wall, &batch(&LOG_PROB)?, all_tokens.clone());
    let grpo =
        PolicyLoss::PpoClip(PpoClip::default()).evaluate(&batch(&LOG_PROB)?, all_tokens.clone());
    write_row(out, "GRPO", &grpo)?;
    write_row(out, "smooth wall", &custom)?;

    let mut largest = 0.0_f64;
    for (token, slope) in custom.grad_log_prob.iter().enumerate() {
        let value_at = |step: f64| -> Result<f64, Box<dyn std::error::Error>> {
            let mut moved = LOG_PROB;
            moved[token] += step;
            Ok(evaluate_loss(&wall, &batch(&moved)?, all_tokens.clone()).value)
        };
        let seen = (value_at(STEP)? - value_at(-STEP)?) / (2.0 * STEP);
        largest = largest.max((seen - slope).abs());
    }
    writeln!(out, "gradient against central differences: {largest:.0e} at most")?;
    if largest < 1e-8 { Ok(()) } else { Err("the derivative is not that of the value".into()) }
}

fn write_row(out: &mut impl Write, name: &str, found: &LossOutput) -> io::Result<()> {
    let (sums, value) = (found.sums, found.value);
    write!(
        out,
        "{name:<12} loss {value:>7.4}  selected {}  KL {:.3} nat",
        sums.selected,
        sums.ppo_kl()
    )?;
    write!(out, "  ∂loss/∂log π")?;
    found.grad_log_prob.iter().try_for_each(|slope| write!(out, " {:>7.4}", slope + 0.0))?;
    writeln!(out)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    run(&mut io::stdout().lock())
}
