//! `eval`: accuracy of a model on sets of questions, with intervals; and the comparison of two such evaluations.

mod compare;
mod harness;
mod subject;

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use clap::Subcommand;
use model_files::sampling::Sampling;
use question_data::dataset::DataSource;
use reward_math::Options;
use run_plan::preflight::MOST;
use run_report::evaluation::folder::{Results, ResultsFolder};
use run_report::evaluation::settings::{EvaluationFile, SetEntry};
use run_report::evaluation::table::page;
use serde::Serialize;
use toml::Table;

use self::subject::Subject;
use super::hub_names;
use super::model_options::{BandOptions, MaskOptions, Placement, count_up_to, help};
use crate::evaluation::Evaluation;

#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("eval.txt").trim_ascii_end())]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(super) struct Args {
    #[command(subcommand)]
    action: Option<Action>,
    /// Hugging Face directory, checkpoint, folder of a run (its latest checkpoint), or name of the hub
    #[arg(required = true, value_name = "MODEL_OR_RUN")]
    model: Option<PathBuf>,
    /// Checkpoint of a run after this step [default: the latest]
    #[arg(long, value_name = "STEP")]
    step: Option<u64>,
    /// Set of questions, such as aime24=aime24.jsonl.zst:n=32,temperature=0.6 or gsm8k=openai/gsm8k:main/test; may be
    /// repeated
    #[arg(long = "set", value_name = "NAME=FILE[:KEY=VALUE,...]")]
    sets: Vec<String>,
    /// TOML file with seed, [sampling], [prompt], [grading], [bootstrap] and [[set]] [default: none]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Folder of the results; an interrupted evaluation resumes there [default: evaluations/step-N of the run, or
    /// evaluations/MODEL]
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    #[command(flatten)]
    sampling: SamplingOptions,
    #[command(flatten)]
    placement: Placement,
    /// Number of sequences that decode together; it changes speed and memory, not the tokens
    #[arg(long, default_value_t = 64, value_parser = count_up_to::<65_536>)]
    rows: usize,
    /// Decode with libtorch's matrix products on the CPU; they are slower with few rows
    #[arg(long)]
    no_cpu_kernels: bool,
    /// Print results.json instead of the table
    #[arg(long)]
    json: bool,
}

/// Sampling options of every set that sets none of its own; as a table, the sampling fields that were given.
#[derive(Debug, clap::Args, Serialize)]
struct SamplingOptions {
    /// Number of responses to each problem [default: 1]
    #[arg(short = 'n', long, value_name = "N")]
    samples: Option<u32>,
    #[arg(long, help = help("temperature", Sampling::GREEDY.temperature))]
    temperature: Option<f64>,
    #[command(flatten)]
    #[serde(flatten)]
    mask: MaskOptions,
    /// Maximum length of a response, in tokens [default: that of the run, or 1024]
    #[arg(long, value_name = "TOKENS")]
    max_response_tokens: Option<u32>,
    #[command(flatten)]
    #[serde(flatten)]
    band: BandOptions,
    /// End a response before this text; may be repeated
    #[arg(long = "stop", value_name = "TEXT")]
    #[serde(rename = "stop", skip_serializing_if = "Vec::is_empty")]
    stops: Vec<String>,
    /// Number of problems of each set, from the first; 0 takes all
    #[arg(long, default_value_t = 0, value_name = "N")]
    #[serde(skip)]
    limit: usize,
    /// Seed of the sampling and of the intervals [default: 0]
    #[arg(long)]
    #[serde(skip)]
    seed: Option<u64>,
    /// Text of a question, with {problem} for the problem [default: that of the run, or the problem alone]
    #[arg(long, value_name = "TEXT")]
    #[serde(skip)]
    template: Option<String>,
    /// System message [default: that of the run, or none]
    #[arg(long, value_name = "TEXT")]
    #[serde(skip)]
    system: Option<String>,
    /// Ask without the model's chat template
    #[arg(long)]
    #[serde(skip)]
    plain: bool,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Compare two finished evaluations of the same problems
    Compare(compare::Args),
    /// Ask tasks of lm-eval by their names, of a model that this process serves
    LmEval(harness::LmEvalArgs),
    /// Ask tasks of lighteval by their names, of a model that this process serves
    #[command(after_help = include_str!("eval/lighteval.txt").trim_ascii_end())]
    Lighteval(harness::Args),
}

pub(super) fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<()> {
    match &args.action {
        Some(Action::Compare(args)) => return compare::run(args, out),
        Some(Action::LmEval(args)) => return harness::lm_eval(args, out),
        Some(Action::Lighteval(args)) => return harness::lighteval(args, out),
        None => {}
    }
    let path = args.model.as_deref().context("no model, expected MODEL_OR_RUN")?;
    let subject = Subject::find(path, args.step)?;
    let mut file = match &args.config {
        Some(path) => EvaluationFile::load(path)?,
        None => EvaluationFile::default(),
    };
    for set in &args.sets {
        file.sets.push(SetEntry::parse(set)?);
    }
    subject.fill_in(&mut file);
    args.sampling.fill_in(&mut file);
    for set in &mut file.sets {
        if let DataSource::File(file) = &mut set.questions {
            hub_names::questions(file)?;
        }
    }
    let sets = file.resolve(&Table::try_from(&args.sampling)?)?;
    let decoder = args.placement.load(&subject.directory)?;
    let (directory, cpu_kernels) = (&subject.directory, !args.no_cpu_kernels);
    let evaluation = Evaluation::prepare(directory, decoder, &file, sets, args.rows, cpu_kernels)?;
    let output = args.output.clone().unwrap_or_else(|| subject.output.clone());
    let folder = ResultsFolder::begin(&output, &evaluation.settings)?;
    let results = if let Some(results) = folder.results()? {
        results
    } else {
        let results = evaluation.run(&folder)?;
        folder.finish(&results, &page(&subject.name, &results))?;
        results
    };
    print(&results, &subject.name, &folder, (!args.json).then_some(&file.grading), out)
}

/// Prints the results; `for_people` adds how answers are read.
fn print(
    results: &Results,
    name: &str,
    folder: &ResultsFolder,
    for_people: Option<&Options>,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let Some(grading) = for_people else {
        return Ok(writeln!(out, "{}", serde_json::to_string_pretty(results)?)?);
    };
    write!(out, "{}", page(name, results))?;
    let advice = if grading.strict {
        "ask for \\boxed{} by --template or --system, or set grading.strict = false in a --config"
    } else if grading.last_number {
        "ask for an answer by --template or --system"
    } else {
        "ask for \\boxed{} by --template or --system, or set grading.last_number = true in a --config"
    };
    for set in &results.sets {
        let read = set.get("extracted_fraction").map_or(1.0, |measure| measure.value);
        if 1.0 - read > MOST {
            let problem = format!("an answer could be read in {read:.3} of the responses");
            writeln!(out, "\n{}: {problem}; {advice}", set.name)?;
        }
    }
    Ok(writeln!(out, "\nIn {}: results.json, table.md, samples/", folder.root().display())?)
}

impl SamplingOptions {
    /// Fills in the options that do not concern sampling.
    fn fill_in(&self, file: &mut EvaluationFile) {
        if let Some(seed) = self.seed {
            (file.seed, file.bootstrap.seed) = (seed, seed);
        }
        for set in &mut file.sets {
            match &mut set.questions {
                DataSource::File(file) if file.limit == 0 => file.limit = self.limit,
                // The first questions of a task are the same, however many are made.
                DataSource::Arithmetic(task) if self.limit > 0 => {
                    task.count = task.count.min(self.limit);
                }
                _ => {}
            }
        }
        let prompt = file.prompt.get_or_insert_default();
        if let Some(template) = &self.template {
            prompt.template.clone_from(template);
        }
        if let Some(system) = &self.system {
            prompt.system.clone_from(system);
        }
        if self.plain {
            prompt.chat = false;
        }
    }
}
