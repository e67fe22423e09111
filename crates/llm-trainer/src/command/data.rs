//! `llm-trainer data`: what is wrong with a file of questions, before a run is spent on it.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{bail, ensure};
use clap::Subcommand;
use hub_files::ModelParts;
use model_files::text_tokenizer::TextTokenizer;
use question_data::data_check::{CheckOptions, check_data};
use question_data::dataset::{DataSource, QuestionFile};
use question_data::ground_truth::RewardKinds;
use training_run::config::RunConfig;

use super::hub_names;

#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("data.txt").trim_ascii_end())]
pub(super) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Report bad rows, unreadable answers, duplicates, contradictions, baked-in instructions, and overlap
    Check(CheckArgs),
}

#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("data_check.txt").trim_ascii_end())]
struct CheckArgs {
    /// Questions: .jsonl, .jsonl.zst, .json, .csv or .parquet, or a data set of the hub such as openai/gsm8k:main/train
    file: PathBuf,
    /// Evaluation set whose questions must not be in the file [default: none]
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// Hugging Face directory or name whose tokenizer counts the lengths [default: characters]
    #[arg(long, value_name = "DIR")]
    tokenizer: Option<PathBuf>,
    /// Count questions longer than this, in characters, or in tokens with --tokenizer; 0 sets no limit
    #[arg(long, default_value_t = 0, value_name = "N")]
    max_length: usize,
    /// Run whose `reward.kind`, `reward.kind_by_source` and `data.train.file` define how the file is read [default: none,
    /// answers are mathematics]
    #[arg(long, value_name = "TOML")]
    config: Option<PathBuf>,
    /// Kind of the answers: math, multiple-choice, exact-match or code, or SOURCE=KIND for one source; may be repeated
    #[arg(long = "kind", value_name = "[SOURCE=]KIND")]
    kinds: Vec<String>,
    /// Column of the problem; dots lead into nested fields [default: recognised]
    #[arg(long, default_value = "", hide_default_value = true, value_name = "COLUMN")]
    problem_field: String,
    /// Column of the answer; dots lead into nested fields [default: recognised]
    #[arg(long, default_value = "", hide_default_value = true, value_name = "COLUMN")]
    answer_field: String,
    /// Print one JSON object with every row number instead of the table
    #[arg(long)]
    json: bool,
    /// Also fail if answers contradict each other, escapes are broken, or questions are in the evaluation set
    #[arg(long)]
    strict: bool,
}

/// Runs the command. The report is printed even of a file that is refused, or that under `--strict` has defects.
pub(super) fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<()> {
    let Action::Check(args) = &args.action;
    let run = args.config.as_deref().map(|path| RunConfig::load(path, &[])).transpose()?;
    let mut file = rules(args, run.as_ref());
    let mut against = args.against.as_ref().map(QuestionFile::new);
    for file in [Some(&mut file), against.as_mut()].into_iter().flatten() {
        hub_names::questions(file)?;
    }
    let tokenizer = |path| {
        let folder = hub_names::model(path, ModelParts::Description)?;
        anyhow::Ok(TextTokenizer::load(&folder)?)
    };
    let tokenizer = args.tokenizer.as_deref().map(tokenizer).transpose()?;
    let kinds = kinds(args, run.as_ref())?;
    let options = CheckOptions {
        kinds: Some(&kinds),
        tokenizer: tokenizer.as_ref(),
        max_length: args.max_length,
        against: against.as_ref(),
    };
    let report = check_data(&file, options)?;
    if args.json {
        writeln!(out, "{}", serde_json::to_string(&report)?)?;
    } else {
        write!(out, "{report}")?;
    }
    out.flush()?;
    if let Some(refusal) = report.refusal(&file) {
        bail!(refusal);
    }
    ensure!(!args.strict || report.is_clean(), "{}: has defects", report.file);
    Ok(())
}

/// The file under the rules of the named run, or the defaults.
fn rules(args: &CheckArgs, run: Option<&RunConfig>) -> QuestionFile {
    let mut file = match run.map(|run| &run.data.train) {
        Some(DataSource::File(file)) => QuestionFile { limit: 0, ..file.clone() },
        _ => QuestionFile::new(""),
    };
    file.path.clone_from(&args.file);
    file.located.clear();
    if !args.problem_field.is_empty() {
        file.problem_field.clone_from(&args.problem_field);
    }
    if !args.answer_field.is_empty() {
        file.answer_field.clone_from(&args.answer_field);
    }
    file
}

/// The kinds of the named run's configuration, overridden by those of the command line.
fn kinds(args: &CheckArgs, run: Option<&RunConfig>) -> anyhow::Result<RewardKinds> {
    let mut kinds = run.map_or_else(RewardKinds::default, |run| run.reward.kinds());
    for named in &args.kinds {
        let wrong = |error: String| anyhow::anyhow!("--kind {named}: {error}");
        match named.rsplit_once('=') {
            None => kinds.otherwise = named.parse().map_err(wrong)?,
            Some((source, kind)) => {
                kinds.by_source.insert(source.to_owned(), kind.parse().map_err(wrong)?);
            }
        }
    }
    Ok(kinds)
}
