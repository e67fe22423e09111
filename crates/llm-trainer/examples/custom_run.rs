//! A custom reward and a custom loss: `cargo run --release -p llm-trainer --example custom_run -- CONFIG [--set KEY=VALUE …]`.
//!
//! A response earns for a right answer, a little for trying, and loses with its length. The loss is smooth where GRPO's clips.
//! All else is what CONFIG says, as by `llm-trainer train`: `llm-trainer inspect`, `report` and `eval` read the run's folder like
//! any other. A second call resumes.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use llm_trainer::training::{CustomReward, RewardInput, Trainer};
use ranks::Ranks;
use reward_math::Verdict;
use rl_losses::{CustomLoss, Real, Scored, Term, Token, TokenLoss};
use training_run::config::Run;
use training_run::manifest;
use training_run::resume::{self, Resume};
use training_run::run_directory::{Checkpoint, RunDirectory};

/// 1 for a right answer and 0.1 for a wrong one, a thousandth of that less for each token; -0.5 where none was found.
pub(crate) fn brief_and_right(judged: RewardInput<'_>) -> f64 {
    let earned = match judged.verdict {
        Verdict::Right { .. } => 1.0,
        Verdict::Wrong { .. } => 0.1,
        Verdict::Unparsed { .. } => return -0.5,
    };
    earned * (1.0 - 1e-3 * judged.tokens as f64)
}

/// `-A x / √(1 + (x / w)²)` of the log-ratio `x`, `w` = 0.2 nats: the policy gradient near the old policy, smoothly flat beyond.
pub(crate) struct SmoothWall;

impl TokenLoss for SmoothWall {
    fn score<R: Real>(&self, token: &Token<R>) -> Scored<R> {
        let (x, width) = (token.log_ratio(), R::of(0.2));
        let root = (R::of(1.0) + x / width * (x / width)).sqrt();
        let term = Term {
            value: -token.advantage * x / root,
            d_log_prob: -token.advantage / (root * root * root),
        };
        Scored::open(term, false)
    }
}

/// Trains the run of a configuration with that reward and that loss, from its beginning or its latest checkpoint.
///
/// # Errors
///
/// If the configuration is wrong or the run fails.
pub(crate) fn run(
    config: &Path,
    overrides: &[String],
    out: &mut impl Write,
) -> anyhow::Result<PathBuf> {
    let run = Run::load(config, overrides)?;
    run.check_files()?;
    let resolved = toml::to_string_pretty(run.config())?;
    let root = run.output_directory();
    let check = |checkpoint: &Checkpoint| anyhow::Ok(manifest::check(&checkpoint.path, (0, 1)));
    let origin = resume::origin(&root, &resolved, &Resume::default(), check)?.origin;
    let parallel = &run.config().parallel;
    let (timeout, connect_timeout) = (parallel.timeout(), parallel.connect_timeout());
    let ranks = Ranks::from_env(run.config().model.device, timeout, connect_timeout)?;
    let folder = |run: &Run| -> anyhow::Result<RunDirectory> {
        let directory = RunDirectory::create(&root)?;
        let environment = serde_json::json!({ "reward": "brief_and_right", "loss": "smooth wall" });
        directory.write_description(&resolved, run, &environment)?;
        Ok(directory)
    };
    let trainer = Trainer::start(ranks, run, origin, folder)?;
    let mut trainer = trainer
        .with_reward(CustomReward::new(brief_and_right))
        .with_loss(CustomLoss::new(SmoothWall));
    trainer.evaluate_at_start(|_| ())?;
    while !trainer.is_finished() {
        let report = trainer.train_step(|_| ())?;
        let value = |name: &str| report.metrics.get(name).unwrap_or(f64::NAN);
        writeln!(
            out,
            "step {:>3} of {}  reward {:.3}  entropy {:.3} nat",
            trainer.step(),
            report.steps,
            value("critic/rewards/mean"),
            value("actor/entropy")
        )?;
    }
    Ok(root)
}

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1).filter(|word| word != "--set");
    let config = arguments.next().context("expected a TOML file")?;
    let overrides: Vec<String> = arguments.collect();
    let root = run(Path::new(&config), &overrides, &mut io::stdout().lock())?;
    writeln!(io::stdout(), "see {}", root.display())?;
    Ok(())
}
