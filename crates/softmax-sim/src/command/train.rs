//! `softmax-sim train`.

use super::streams;
use anyhow::{Context, anyhow};
use entropy_core::SequenceEntropyChange;
use messages::{in_file, plain_words};
use softmax_sim::experiment::Experiment;
use softmax_sim::reproduce::Progress;
use softmax_sim::result_file::write_whole;
use softmax_sim::training::{Curve, CurvePoint, Trainer, prompt_information};
use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Settings of the run [default: none]
    #[arg(value_name = "CONFIG")]
    config: Option<PathBuf>,
    /// Seed of the environment and of the responses
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Also write the curve to this file as CSV, in place of its content [default: none]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<bool> {
    let experiment = args.config.as_deref().map_or_else(|| Ok(Experiment::default()), read)?;
    let environment = experiment.draw(args.seed);
    let Experiment { method, schedule, .. } = experiment;
    let progress = Progress::stderr("train");
    progress.plan(schedule.rollouts as u64);
    let mut trainer = Trainer::new(environment, method, schedule, args.seed).with_entropy_split();
    let mut sum = SequenceEntropyChange::default();
    let mut rows = vec![row(sum, &trainer)];
    while let Some(report) = trainer.step() {
        sum += report.entropy_change.unwrap_or_default();
        if schedule.evaluates_after(report.rollout + 1) {
            rows.push(row(sum, &trainer));
        }
        progress.advance(1);
    }
    progress.clear();
    // A reader that went away costs the table, not the file.
    let table = table(&rows);
    let printed = streams::print(out, &table);
    if let Some(path) = &args.out {
        write_whole(path, csv(&rows)?.as_slice())?;
    }
    printed?;
    Ok(true)
}

fn read(path: &Path) -> anyhow::Result<Experiment> {
    let text = streams::read(path)?;
    let experiment: Experiment = toml::from_str(&text).map_err(|error| {
        anyhow!(in_file(path, &text, error.span(), plain_words(error.message())))
    })?;
    experiment.check().with_context(|| path.display().to_string())?;
    Ok(experiment)
}

type Row = (CurvePoint, Parts);

/// Parts of the change of entropy until then, and the information that responses have of their prompts.
#[derive(serde::Serialize)]
struct Parts {
    within_states: f64,
    visitation: f64,
    /// Empty where there are too many responses.
    prompt_information: Option<f64>,
}

fn row(sum: SequenceEntropyChange, trainer: &Trainer<'_>) -> Row {
    let SequenceEntropyChange { within_states, visitation } = sum;
    let questions = trainer.environment().training();
    let prompt_information = prompt_information(questions, trainer.parameters());
    (trainer.evaluate(), Parts { within_states, visitation, prompt_information })
}

/// The curve in aligned columns, the law last where there is one.
fn table(rows: &[Row]) -> String {
    let mut table =
        "rollouts  entropy  reward  cool reward  greedy reward  within states  visitation  \
         prompt information\n"
            .to_owned();
    for (point, parts) in rows {
        let information =
            parts.prompt_information.map_or("–".to_owned(), |nats| format!("{nats:.4}"));
        let _ = writeln!(
            table,
            "{:>8}  {:>7.4}  {:>6.4}  {:>11.4}  {:>13.4}  {:>13.4}  {:>10.4}  {information:>18}",
            point.rollouts,
            point.entropy,
            point.reward,
            point.cool_reward,
            point.greedy_reward,
            parts.within_states,
            parts.visitation
        );
    }
    let curve = Curve { points: rows.iter().map(|(point, ..)| *point).collect() };
    if let Ok(law) = curve.law() {
        let r_squared = law.r_squared.map(|share| format!(", R² {share:.4}"));
        let _ = writeln!(
            table,
            "R = -a exp(H) + b: a {:.4}, b {:.4}, ceiling {:.4}{}",
            law.a,
            law.b,
            law.ceiling(),
            r_squared.unwrap_or_default()
        );
    }
    table
}

fn csv(curve: &[Row]) -> anyhow::Result<Vec<u8>> {
    let mut rows = csv::Writer::from_writer(Vec::new());
    for row in curve {
        rows.serialize(row)?;
    }
    Ok(rows.into_inner()?)
}
