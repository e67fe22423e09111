//! Measurements of `docs/benchmarks/*.json`, and the page that is made from them.

mod page;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::book::root;

pub use page::page;

/// The file beside the questions.
const MACHINES: &str = "machines.json";

/// Column of a row that names none.
const OURS: &str = "ours";

/// Computer that numbers are of, by its letter in `machines.json`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Description for readers.
    pub description: String,
    /// Processor as `scripts/benchmarks.py` recognises it.
    pub cpu: Option<String>,
}

/// One file: a section of the page, with one table.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// Place on the page, ascending.
    pub order: u32,
    /// Heading.
    pub question: String,
    /// Unit of all numbers, or empty where the columns name theirs.
    pub unit: String,
    /// Direction of better numbers; without it no ratio is computed.
    pub better: Option<Better>,
    /// Lines above the commands.
    pub method: Vec<String>,
    /// Commands that measure, ours first.
    pub commands: Vec<Command>,
    /// Numbers, one a case, column and machine.
    pub rows: Vec<Row>,
    /// Lines below the table.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// Direction in which numbers are better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// Times.
    Lower,
    /// Rates.
    Higher,
}

/// A command as the page prints it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Command {
    /// Lines of bash.
    pub run: String,
    /// Format of its output, where `make benchmarks` runs it.
    pub reads: Option<Reads>,
}

/// Format of a command's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reads {
    /// Lines of criterion; a row's `id` is the benchmark's.
    Criterion,
    /// JSON of `rl-losses`' example; `id` is `LOSS:TOKENS`.
    LossBench,
    /// JSON lines of `llm-trainer`'s example; `id` is its argument.
    LmBench,
    /// JSON of `softmax-sim bench`; `id` is `STATESxACTIONS:RULE`.
    SoftmaxSim,
}

/// Newest numbers of a case on a machine.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// First cell.
    pub case: String,
    /// Column of our number, for several numbers a case; `ours` by default.
    #[serde(default = "ours")]
    pub column: String,
    /// Name of the measurement in the output of its command.
    pub id: Option<String>,
    /// Our number.
    pub ours: Value,
    /// Numbers of other programs, by their names.
    #[serde(default)]
    pub peers: BTreeMap<String, Peer>,
    /// Date of the peers' numbers, where ours is newer.
    pub peers_date: Option<String>,
    /// Peak memory in MiB, ours and theirs.
    #[serde(default)]
    pub memory: Vec<f64>,
    /// Letter of the machine.
    pub machine: String,
    /// Commit of ours, seven digits.
    pub commit: String,
    /// Date of ours, YYYY-MM-DD.
    pub date: String,
    /// Circumstances of this measurement.
    pub note: Option<String>,
}

/// A number, or the least and the most of several calls.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// Result of one call.
    One(f64),
    /// Least and most.
    Range([f64; 2]),
}

/// Result of another program.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Peer {
    /// In the unit of the question.
    Value(Value),
    /// Recorded as a ratio alone.
    Ratio(Ratio),
}

/// How many times as fast ours is, where the other number was not kept.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ratio {
    /// Above 1 where ours is faster.
    pub ratio: Value,
}

fn ours() -> String {
    OURS.to_owned()
}

/// Machines by letter.
///
/// # Panics
///
/// If the file cannot be read.
pub fn machines() -> BTreeMap<String, Machine> {
    parse(&folder().join(MACHINES))
}

/// Questions in the order of the page, each with the name of its file.
///
/// # Panics
///
/// If a file cannot be read.
pub fn questions() -> Vec<(String, Question)> {
    let entries = std::fs::read_dir(folder()).expect("docs/benchmarks/ is there");
    let mut questions = Vec::new();
    for entry in entries {
        let path = entry.expect("a readable entry").path();
        let name = path.file_name().expect("a file has a name").to_string_lossy().into_owned();
        if name != MACHINES {
            questions.push((name, parse::<Question>(&path)));
        }
    }
    questions.sort_by(|(name, one), (other, two)| (one.order, name).cmp(&(two.order, other)));
    questions
}

fn folder() -> PathBuf {
    root().join("docs/benchmarks")
}

fn parse<T: DeserializeOwned>(path: &Path) -> T {
    let text =
        std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
