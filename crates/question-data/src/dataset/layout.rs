//! Columns of a file that hold question, answer, name and source.

use std::fmt;

use messages::shown;
use model_files::chat_template::Message;
use serde_json::Value;

use super::row::Row;
use super::{Question, QuestionFile, RowPlace, RowProblem};
use crate::ground_truth::{RewardKind, RewardKinds, accepted};

/// Columns that may hold the problem; the first one present is taken.
const PROBLEM_COLUMNS: [&str; 4] = ["problem", "question", "prompt", "messages"];
/// Columns that may hold the answer; the first one present is taken.
const ANSWER_COLUMNS: [&str; 7] = [
    "answer",
    "reward_model.ground_truth",
    "ground_truth",
    "tests",
    "test_list",
    "test_cases",
    "input_output",
];
/// Columns that may hold the name of the data set; the first one present is taken.
const SOURCE_COLUMNS: [&str; 3] = ["source", "data_source", "dataset"];
/// Columns that may hold the name of the row; the first one present is taken.
const ID_COLUMNS: [&str; 2] = ["id", "extra_info.index"];

/// Columns of a file: those that [`QuestionFile`] names, else those recognised in its first row.
///
/// | columns | known from |
/// |---|---|
/// | `prompt` + `reward_model.ground_truth` (+ `data_source`, `extra_info`) | verl |
/// | `problem` + `answer` | MATH, DAPO and most others |
/// | `question` + `answer`, the answer after `####` | GSM8K |
/// | `prompt` + `answer` or `ground_truth` | TRL |
/// | a problem + `tests`, `test_list`, `test_cases` or `input_output` | sets of programming tasks |
/// | `messages` + `ground_truth` or `answer`, else their last turn is the answer | open-instruct |
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// Column of the problem: text, or a conversation that ends in the user's turn.
    problem: String,
    /// Column of the answer; `None` if the conversation ends in the assistant's turn, which is the solution.
    answer: Option<String>,
}

impl fmt::Display for Layout {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.answer {
            Some(answer) => write!(formatter, "{} + {answer}", self.problem),
            None => write!(formatter, "{}, answered in the last turn", self.problem),
        }
    }
}

impl Layout {
    /// Returns the columns that the file names, else those recognised in its first row; the error lists those that there are.
    pub(super) fn recognise(file: &QuestionFile, first: &Row) -> Result<Self, String> {
        let verl =
            at(first, "prompt").is_some() && at(first, "reward_model.ground_truth").is_some();
        let present =
            |known: &[&'static str]| known.iter().copied().find(|&c| at(first, c).is_some());
        let problem = match file.problem_field.as_str() {
            "" if verl => Some("prompt"),
            "" => present(&PROBLEM_COLUMNS),
            named => Some(named),
        };
        let answer = match file.answer_field.as_str() {
            "" if verl && problem == Some("prompt") => Some("reward_model.ground_truth"),
            "" => present(&ANSWER_COLUMNS),
            named => Some(named),
        };
        match problem {
            Some(problem) if answer.is_some() || problem == "messages" => {
                Ok(Self { problem: problem.to_owned(), answer: answer.map(str::to_owned) })
            }
            problem => {
                let (what, known, field) = match problem {
                    None => ("question", PROBLEM_COLUMNS.join(", "), "problem_field"),
                    Some(_) => ("answer", ANSWER_COLUMNS.join(", "), "answer_field"),
                };
                Err(format!(
                    "no column holds the {what}: found {}, expected one of {known} ({field} names another)",
                    names(first)
                ))
            }
        }
    }

    /// Returns the question of a row; `stem` is the file's name, the default of source and id. Tests may be any value.
    pub(super) fn question(
        &self,
        row: &Row,
        place: RowPlace,
        stem: &str,
        kinds: &RewardKinds,
    ) -> Result<Question, RowProblem> {
        let problem = at(row, &self.problem).ok_or_else(|| missing(&self.problem, row))?;
        let mut turns = turns(&self.problem, problem)?;
        let optional = |columns: &[&str]| {
            columns
                .iter()
                .filter_map(|column| at(row, column))
                .find_map(|value| name(single(value)))
        };
        let source = optional(&SOURCE_COLUMNS).unwrap_or_else(|| stem.to_owned());
        let is_code = kinds.of(&source) == RewardKind::Code;
        let answer = if let Some(column) = &self.answer {
            let value = at(row, column).ok_or_else(|| missing(column, row))?;
            let value = if is_code { value } else { single(value) };
            // Tests are any JSON; several accepted answers stay one text, a list in JSON.
            let is_json = if is_code { !value.is_string() } else { is_list_of_texts(value) };
            if is_json { value.to_string() } else { text(column, value)? }
        } else {
            let answer = turns.pop_if(|turn| turn.role == "assistant");
            answer.ok_or_else(|| ends_wrongly(&self.problem, &turns, "assistant"))?.content
        };
        let last = turns.pop_if(|turn| turn.role == "user");
        let problem = last.ok_or_else(|| ends_wrongly(&self.problem, &turns, "user"))?.content;
        Ok(Question {
            id: optional(&ID_COLUMNS).unwrap_or_else(|| format!("{stem}-{}", place.number())),
            problem,
            answer: if is_code || accepted(&answer).is_some() {
                answer
            } else {
                final_answer(self.answer.as_deref().unwrap_or("messages"), answer)?
            },
            source,
            context: turns,
        })
    }
}

/// Returns the value of a column; dots lead inside, and null counts as absent.
fn at<'a>(row: &'a Row, path: &str) -> Option<&'a Value> {
    let value = row.get(path).or_else(|| {
        let (first, rest) = path.split_once('.')?;
        rest.split('.').try_fold(row.get(first)?, |value, key| value.get(key))
    });
    value.filter(|value| !value.is_null())
}

/// Unwraps a list of one item: some files keep one answer per verifier.
fn single(value: &Value) -> &Value {
    match value.as_array().map(Vec::as_slice) {
        Some([only]) => only,
        _ => value,
    }
}

/// Returns true for several accepted answers.
fn is_list_of_texts(value: &Value) -> bool {
    let text = |item: &Value| item.as_str().is_some_and(|text| !text.trim().is_empty());
    value.as_array().is_some_and(|items| !items.is_empty() && items.iter().all(text))
}

fn names(row: &Row) -> String {
    let mut names = Vec::new();
    for (name, value) in row {
        match value {
            Value::Object(inner) => names.extend(inner.keys().map(|key| format!("{name}.{key}"))),
            _ => names.push(name.clone()),
        }
    }
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

fn missing(field: &str, row: &Row) -> RowProblem {
    let names = names(row);
    let is_null = names.split(", ").any(|name| name == field);
    let problem = if is_null {
        "is null, expected a value".to_owned()
    } else {
        format!("is missing, the row has {names}")
    };
    RowProblem::of_field(field, problem)
}

fn text(field: &str, value: &Value) -> Result<String, RowProblem> {
    match value {
        Value::String(text) if text.trim().is_empty() => {
            Err(RowProblem::of_field(field, "is empty, expected text"))
        }
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) => Ok(number.to_string()),
        other => {
            let value = shown(&other.to_string(), 80);
            Err(RowProblem::of_field(field, format!("is {value}, expected text or a number")))
        }
    }
}

fn name(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Returns the turns of a conversation; plain text is one user turn.
fn turns(field: &str, value: &Value) -> Result<Vec<Message>, RowProblem> {
    let Value::Array(list) = value else {
        return Ok(vec![Message::new("user", text(field, value)?)]);
    };
    let turn = |(index, turn): (usize, &Value)| {
        let inner = |key: &str| {
            let field = format!("{field}[{index}].{key}");
            let value = turn.get(key).filter(|value| !value.is_null());
            text(&field, value.ok_or_else(|| RowProblem::of_field(&field, "is missing"))?)
        };
        let (role, content) = (inner("role")?, inner("content")?);
        if matches!(role.as_str(), "system" | "user" | "assistant") {
            return Ok(Message { role, content });
        }
        let problem = format!("is {role:?}, expected \"system\", \"user\" or \"assistant\"");
        Err(RowProblem::of_field(&format!("{field}[{index}].role"), problem))
    };
    list.iter().enumerate().map(turn).collect()
}

fn ends_wrongly(field: &str, turns: &[Message], expected: &str) -> RowProblem {
    let ending = match turns.last() {
        Some(turn) => format!("ends in a turn of {:?}", turn.role),
        None => "has no turn".to_owned(),
    };
    RowProblem::of_field(field, format!("{ending}, expected one of {expected:?} there"))
}

/// Returns the text after the last `####` of a worked solution, or all of a text without `####`.
fn final_answer(field: &str, answer: String) -> Result<String, RowProblem> {
    match answer.rsplit_once("####") {
        Some((_, tail)) if !tail.trim().is_empty() => Ok(tail.trim().to_owned()),
        Some(_) => Err(RowProblem::of_field(field, "ends in ####, expected the answer after it")),
        None => Ok(answer),
    }
}
