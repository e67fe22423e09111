//! `reward-math`: grades answers from the command line.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use command_pages::{
    CLOSED_PIPE, CompletionsArgs, ManArgs, Watched, completions_examples, man_examples,
};
use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use reward_math::{
    BadRow, Counts, Grading, Options, Progress, Reward, explain, explain_answer, grade, read_rows,
    time_rows,
};

mod peers;

/// Decides whether a model's mathematical answer is right
#[derive(Parser)]
#[command(name = "reward-math", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const GRADE_EXAMPLES: &str = "\
Examples:
  # Grade the rows of a file
  reward-math grade rollouts.jsonl > graded.jsonl
  # Accept boxed answers only, on 8 threads, and skip bad lines
  reward-math grade --mode strict --jobs 8 --skip-bad-rows --brief < rollouts.jsonl";

const EXPLAIN_EXAMPLES: &str = r"Examples:
  # Explain the verdict on a response
  reward-math explain '\boxed{\sqrt{12}}' '2\sqrt3'
  # Compare two bare answers
  reward-math explain --bare 'x^2 < 9' '(-3,3)'";

const BENCH_EXAMPLES: &str = "\
Examples:
  # Time the rows of a file
  reward-math bench rollouts.jsonl
  # Time boxed answers only, as the shortest of five runs
  reward-math bench rollouts.jsonl --mode strict --repeats 5
  # Compare with Math-Verify and oat's grader
  reward-math bench rollouts.jsonl --peers --python venv/bin/python";

#[derive(Subcommand)]
enum Command {
    /// Grade JSON lines `{"response": …, "ground_truth" or "answer": …}`, and print each row with its verdict
    ///
    /// A row keeps its fields and order and gains `verdict`, `how` (the deciding step, both sides in normal form) or
    /// `which` and `why`, `reward` and `extracted`. Exit code: 0, 1 if bad lines were skipped, 2 after an error.
    #[command(after_help = GRADE_EXAMPLES)]
    Grade(GradeArguments),
    /// Show the extracted answer, the readings of both sides and the deciding step
    #[command(after_help = EXPLAIN_EXAMPLES)]
    Explain {
        /// Text of the model, or a bare answer
        #[arg(allow_hyphen_values = true)]
        response: String,
        /// Ground truth
        #[arg(allow_hyphen_values = true)]
        gold: String,
        /// Compare the two texts directly, without extracting an answer from the first
        #[arg(long)]
        bare: bool,
        /// Accepted forms of an answer
        #[arg(long, value_enum, default_value_t)]
        mode: Mode,
    },
    /// Time the verdicts of the rows of a file: mean, median, 99th percentile and the slowest row, on one thread
    #[command(after_help = BENCH_EXAMPLES)]
    Bench(BenchArguments),
    /// Print a script with which a shell completes subcommands, options and their values
    #[command(after_help = completions_examples("reward-math"))]
    Completions(CompletionsArgs),
    /// Print the manual page of this program or of a subcommand, or write all of them
    #[command(after_help = man_examples("reward-math", "grade"))]
    Man(ManArgs),
}

#[derive(Args)]
struct GradeArguments {
    #[command(flatten)]
    rows: Rows,
    /// Number of threads, at most 1024; 0 takes one per processor
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u16).range(..=1024))]
    jobs: u16,
    /// Report bad lines and continue, instead of stopping at the first
    #[arg(long)]
    skip_bad_rows: bool,
    /// Field of the question; its repetition in a response is no answer [default: `question`, `problem` or `prompt`]
    #[arg(long)]
    question_key: Option<String>,
    /// Omit the normal forms of both sides from `how`
    #[arg(long)]
    brief: bool,
    /// Grade like the recipe of arXiv:2505.22617, with its false positives, for comparison with its runs
    #[arg(long, conflicts_with_all = ["mode", "question_key", "brief"])]
    compat: bool,
    /// Reward of a right answer
    #[arg(long, default_value_t = 1.0, value_parser = finite)]
    right: f64,
    /// Reward of a wrong answer
    #[arg(long, default_value_t = 0.0, value_parser = finite)]
    wrong: f64,
    /// Reward of a response without a readable answer
    #[arg(long, default_value_t = 0.0, value_parser = finite)]
    unparsed: f64,
}

/// Reads a number that JSON can hold.
fn finite(text: &str) -> Result<f64, &'static str> {
    text.parse().ok().filter(|number: &f64| number.is_finite()).ok_or("expected a finite number")
}

#[derive(Args)]
struct BenchArguments {
    #[command(flatten)]
    rows: Rows,
    /// Number of runs of each row; the shortest counts
    #[arg(long, default_value_t = 3)]
    repeats: usize,
    /// Print the verdicts of Math-Verify and of oat's grader beside these, and each row on which they differ
    #[arg(long)]
    peers: bool,
    /// Python with these graders
    #[arg(long, default_value = "python3", requires = "peers")]
    python: String,
    /// Field that says whether the response is right [default: `label`, `expected` or `correct`, if true or false]
    #[arg(long, requires = "peers")]
    label_key: Option<String>,
}

#[derive(Args)]
struct Rows {
    /// File to read; without one, standard input
    file: Option<PathBuf>,
    /// Field of the model's text
    #[arg(long, default_value = "response")]
    response_key: String,
    /// Field of the ground truth [default: `ground_truth`, else `answer`]
    #[arg(long)]
    answer_key: Option<String>,
    /// Accepted forms of an answer
    #[arg(long, value_enum, default_value_t)]
    mode: Mode,
}

impl Rows {
    fn open(&self) -> anyhow::Result<Box<dyn BufRead>> {
        let Some(path) = &self.file else { return Ok(Box::new(io::stdin().lock())) };
        let file = File::open(path).with_context(|| format!("{}: cannot read", path.display()))?;
        Ok(Box::new(BufReader::new(file)))
    }
}

/// Accepted forms of an answer.
#[derive(Clone, Copy, Default, ValueEnum)]
enum Mode {
    /// A box, `####`, a tag, a phrase such as "the answer is", bold text at the end
    #[default]
    Marked,
    /// A box alone: for training
    Strict,
    /// Also all of the text, or its last formula, number or sentence, if nothing is marked
    Lenient,
}

impl Mode {
    fn options(self) -> Options {
        match self {
            Self::Marked => Options::default(),
            Self::Strict => Options::strict(),
            Self::Lenient => Options::lenient(),
        }
    }
}

fn main() -> ExitCode {
    let arguments: Arguments = command_pages::parse();
    let mut out = Watched::new(BufWriter::new(io::stdout().lock()));
    let result = run(&arguments.command, &mut out)
        .and_then(|code| out.flush().context("standard output").map(|()| code));
    match result {
        Ok(code) => code,
        // `… | head` has read enough: no error to report.
        Err(_) if out.is_closed() => ExitCode::from(CLOSED_PIPE),
        Err(error) => {
            // Rows graded before the bad line are written.
            let _ = out.flush();
            let _ = writeln!(io::stderr(), "error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(command: &Command, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    match command {
        Command::Grade(arguments) => return run_grade(arguments, out),
        Command::Explain { response, gold, bare, mode } => {
            let options = mode.options();
            let describe = if *bare { explain_answer } else { explain };
            let text = describe(response, gold, &options);
            // Control characters of an answer would command the terminal.
            write!(out, "{}", text.replace(|c: char| c.is_control() && c != '\n', "·"))?;
        }
        Command::Bench(arguments) => run_bench(arguments, out)?,
        Command::Completions(args) => args.write(&Arguments::command(), out)?,
        Command::Man(args) => args.write(Arguments::command(), out)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn run_grade(arguments: &GradeArguments, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let options = arguments.rows.mode.options();
    let grading = Grading {
        options: if arguments.brief { options } else { options.explained() },
        reward: Reward {
            right: arguments.right,
            wrong: arguments.wrong,
            unparsed: arguments.unparsed,
        },
        response_key: arguments.rows.response_key.clone(),
        answer_key: arguments.rows.answer_key.clone(),
        question_key: arguments.question_key.clone(),
        bad_row: if arguments.skip_bad_rows { BadRow::Skip } else { BadRow::Stop },
        compat: arguments.compat,
    };
    let input = arguments.rows.open()?;
    let bar = progress_bar();
    let report = |news: Progress<'_>| match news {
        Progress::BadRow(error) => bar.suspend(|| {
            let _ = writeln!(io::stderr(), "warning: {error}");
        }),
        Progress::Rows(counts) => {
            bar.set_position((counts.right + counts.wrong + counts.unparsed) as u64);
        }
    };
    rayon::ThreadPoolBuilder::new().num_threads(arguments.jobs.into()).build_global()?;
    let counts = grade(input, out, &grading, report);
    bar.finish_and_clear();
    let counts = counts?;
    out.flush()?;
    let Counts { right, wrong, unparsed, skipped } = counts;
    let bad = if skipped > 0 { format!(", {skipped} skipped") } else { String::new() };
    writeln!(io::stderr(), "{right} right, {wrong} wrong, {unparsed} unparsed{bad}")?;
    Ok(if skipped > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Returns a bar with rows graded and rate on a terminal, a hidden one elsewhere.
fn progress_bar() -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{spinner} {human_pos} rows, {rate}")
        .unwrap_or_else(|_| ProgressStyle::default_spinner())
        .with_key("rate", |state: &ProgressState, text: &mut dyn std::fmt::Write| {
            let _ = write!(text, "{:.0} rows/s", state.per_sec());
        });
    ProgressBar::no_length().with_style(style)
}

fn run_bench(arguments: &BenchArguments, out: &mut impl Write) -> anyhow::Result<()> {
    let grading = Grading {
        response_key: arguments.rows.response_key.clone(),
        answer_key: arguments.rows.answer_key.clone(),
        ..Grading::default()
    };
    let rows = read_rows(arguments.rows.open()?, &grading, arguments.label_key.as_deref())?;
    let options = arguments.rows.mode.options();
    if arguments.peers {
        return peers::compare(&rows, &options, &arguments.python, out);
    }
    let timing = time_rows(&rows, &options, arguments.repeats).context("no rows to time")?;
    let (worst, position) = timing.worst;
    writeln!(out, "rows         {}", timing.rows)?;
    writeln!(out, "mean         {:?}", timing.mean)?;
    writeln!(out, "median       {:?}", timing.median)?;
    writeln!(out, "99 of 100    {:?}", timing.p99)?;
    let response = &rows[position].response;
    let end = &response[response.ceil_char_boundary(response.len().saturating_sub(60))..];
    let shown = end.replace(char::is_control, " ");
    writeln!(out, "slowest      {worst:?}, row {}: …{shown}", position + 1)?;
    Ok(())
}

#[cfg(test)]
mod book;
