//! Questions with known answers, from files or made up.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use crate::arithmetic::{ArithmeticTask, Split};

/// Why questions cannot be had.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DatasetError {
    /// The file is not there or cannot be read or unpacked.
    #[error("{}: cannot read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The name does not end in what this crate can read.
    #[error("{}: unknown kind of file, expected a name ending in .jsonl or .jsonl.zst", path.display())]
    Extension {
        /// The file.
        path: PathBuf,
    },
    /// A line is not a JSON object.
    #[error("{}:{line}: not a JSON object: {problem}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What the parser said.
        problem: String,
    },
    /// A field is absent, of the wrong type or empty.
    #[error("{}:{line}: field `{field}` {problem}", path.display())]
    Field {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// Name of the field.
        field: String,
        /// What is wrong and what was expected.
        problem: String,
    },
    /// There is not a single question.
    #[error("{}: no questions, expected at least one line", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// A made-up task cannot give the questions asked for.
    #[error("arithmetic: {problem}")]
    Arithmetic {
        /// What is wrong and what was expected.
        problem: String,
    },
}

/// A question with its known answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// Unique within its source.
    pub id: String,
    /// What is asked.
    pub problem: String,
    /// The ground truth.
    pub answer: String,
    /// Name of the data set, used in metric names.
    pub source: String,
}

/// Where questions come from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum DataSource {
    /// Lines of a file.
    File(QuestionFile),
    /// Made-up arithmetic.
    Arithmetic(ArithmeticTask),
}

/// A file of questions, one JSON object a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuestionFile {
    /// `.jsonl` or `.jsonl.zst`; relative to the folder of the configuration.
    pub path: PathBuf,
    /// Field that holds the problem.
    #[serde(default = "default_problem_field")]
    pub problem_field: String,
    /// Field that holds the answer.
    #[serde(default = "default_answer_field")]
    pub answer_field: String,
    /// Take only the first so many questions; 0 takes all.
    #[serde(default)]
    pub limit: usize,
}

fn default_problem_field() -> String {
    "problem".to_owned()
}

fn default_answer_field() -> String {
    "answer".to_owned()
}

impl QuestionFile {
    /// All of `path`, fields by their usual names.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            problem_field: default_problem_field(),
            answer_field: default_answer_field(),
            limit: 0,
        }
    }
}

impl DataSource {
    /// The questions of this source for one split. A file is one split and gives the same for both.
    ///
    /// # Errors
    ///
    /// [`DatasetError`], naming file, line and field.
    pub fn questions(&self, split: Split) -> Result<Vec<Question>, DatasetError> {
        match self {
            Self::File(file) => read_questions(file),
            Self::Arithmetic(task) => task.questions(split),
        }
    }
}

/// Reads the questions of a `.jsonl` or `.jsonl.zst` file.
///
/// The answer may be a string or a number; a solution in GSM8K's raw form (`… #### N`) gives `N`.
/// `id` defaults to `name-line`, `source` to the file's name up to the first dot.
///
/// # Errors
///
/// [`DatasetError`], naming file, line and field; a file without questions is an error.
pub fn read_questions(file: &QuestionFile) -> Result<Vec<Question>, DatasetError> {
    let path = &file.path;
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let stem = name.split('.').next().unwrap_or_default();
    let read_error = |source| DatasetError::Read { path: path.clone(), source };
    let limit = if file.limit == 0 { usize::MAX } else { file.limit };
    let mut questions = Vec::new();
    for (index, line) in open(path, &name)?.lines().enumerate() {
        let line = line.map_err(read_error)?;
        if line.trim().is_empty() {
            continue;
        }
        if questions.len() == limit {
            break;
        }
        questions.push(parse_line(file, stem, index + 1, &line)?);
    }
    if questions.is_empty() {
        return Err(DatasetError::Empty { path: path.clone() });
    }
    Ok(questions)
}

fn open(path: &Path, name: &str) -> Result<Box<dyn BufRead>, DatasetError> {
    let read_error = |source| DatasetError::Read { path: path.to_path_buf(), source };
    let zstd = name.strip_suffix(".jsonl.zst").is_some();
    if !zstd && name.strip_suffix(".jsonl").is_none() {
        return Err(DatasetError::Extension { path: path.to_path_buf() });
    }
    let file = File::open(path).map_err(read_error)?;
    if !zstd {
        return Ok(Box::new(BufReader::new(file)));
    }
    let mut text = Vec::new();
    ruzstd::decoding::StreamingDecoder::new(BufReader::new(file))
        .map_err(|error| read_error(std::io::Error::other(format!("not zstd: {error}"))))?
        .read_to_end(&mut text)
        .map_err(read_error)?;
    Ok(Box::new(std::io::Cursor::new(text)))
}

fn parse_line(
    file: &QuestionFile,
    stem: &str,
    line: usize,
    text: &str,
) -> Result<Question, DatasetError> {
    let path = || file.path.clone();
    let object: serde_json::Map<String, Value> = serde_json::from_str(text)
        .map_err(|error| DatasetError::Line { path: path(), line, problem: error.to_string() })?;
    let required = |field: &str| {
        let problem = match object.get(field) {
            None => {
                let known: Vec<&str> = object.keys().map(String::as_str).collect();
                format!("is missing, the line has {}", known.join(", "))
            }
            Some(Value::String(value)) if !value.trim().is_empty() => return Ok(value.clone()),
            Some(Value::String(_)) => "is empty, expected text".to_owned(),
            Some(Value::Number(number)) => return Ok(number.to_string()),
            Some(other) => format!("is {other}, expected text or a number"),
        };
        Err(DatasetError::Field { path: path(), line, field: field.to_owned(), problem })
    };
    let problem = required(&file.problem_field)?;
    let answer = required(&file.answer_field)?;
    let answer = match answer.rsplit_once("####") {
        Some((_, tail)) if !tail.trim().is_empty() => tail.trim().to_owned(),
        Some(_) => {
            return Err(DatasetError::Field {
                path: path(),
                line,
                field: file.answer_field.clone(),
                problem: "ends in ####, expected the answer after it".to_owned(),
            });
        }
        None => answer,
    };
    let optional = |field: &str| object.get(field).and_then(Value::as_str).map(str::to_owned);
    Ok(Question {
        id: optional("id").unwrap_or_else(|| format!("{stem}-{line}")),
        problem,
        answer,
        source: optional("source").unwrap_or_else(|| stem.to_owned()),
    })
}
