//! Generated arithmetic questions: endless, exact, and disjoint between training and evaluation.

use std::collections::HashSet;

use counter_rng::{Purpose, hash, step_rng};
use messages::Problem;
use model_files::section;
use rand::Rng;
use rand::seq::IndexedRandom;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use whole_file::FileError;

use crate::dataset::Question;

/// One operation between two non-negative integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// `a + b`.
    Add,
    /// `a - b`, with the larger first: the answer is never negative.
    Subtract,
    /// `a × b`.
    Multiply,
}

impl Operation {
    /// The operands in the order in which the value is not negative.
    fn ordered(self, left: u64, right: u64) -> (u64, u64) {
        match self {
            Self::Subtract => (left.max(right), left.min(right)),
            Self::Add | Self::Multiply => (left, right),
        }
    }

    fn value(self, left: u64, right: u64) -> u64 {
        match self {
            Self::Add => left + right,
            Self::Subtract => left - right,
            Self::Multiply => left * right,
        }
    }

    fn symbol(self) -> char {
        match self {
            Self::Add => '+',
            Self::Subtract => '-',
            Self::Multiply => '*',
        }
    }
}

/// One of two disjoint splits of all questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Split {
    /// Nine tenths of all questions.
    Train,
    /// One tenth of all questions, never trained on.
    HeldOut,
}

section! {
    /// A family of arithmetic questions.
    pub struct ArithmeticTask {
        /// Operations of made-up questions: `"add"`, `"subtract"`, `"multiply"`. One listed twice is asked twice as often.
        pub operations: Vec<Operation> = vec![Operation::Add, Operation::Subtract],
        /// Fewest and most digits of an operand, 1 to 9.
        pub digits: (u32, u32) = (1, 2),
        /// Largest operand.
        pub largest: u64 = 999_999_999,
        /// Ask a short story instead of `47+38=`.
        pub word_problems: bool = false,
        /// Ask for the operation instead of the value: `20?3=17: `, with operands to which no other listed operation gives this value.
        /// The answer is the operation's place among the different ones of `operations`, from 1.
        pub ask_operation: bool = false,
        /// Number of questions, 1 to 1,000,000.
        pub count: usize = 2048,
        /// Seed of the questions, independent of the run's seed. Questions of `train` and `evaluation`
        /// never coincide, whatever the seeds.
        pub seed: u64 = 0,
    }
}

impl ArithmeticTask {
    /// Returns the invalid settings of the task, empty if there are none; `prefix` is the dotted path of the task.
    pub fn problems(&self, prefix: &str) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut require = |good: bool, field: &str, value: String, expected: &str| {
            if !good {
                let field = format!("{prefix}.arithmetic.{field}");
                problems.push(Problem { field, value, expected: expected.to_owned() });
            }
        };
        let operations = format!("{:?}", self.operations);
        require(!self.operations.is_empty(), "operations", operations, "at least one operation");
        let (fewest, most) = self.digits;
        let fits = 1 <= fewest && fewest <= most && most <= 9;
        let expected = "[fewest, most] with 1 ≤ fewest ≤ most ≤ 9";
        require(fits, "digits", format!("[{fewest}, {most}]"), expected);
        let fits = most > 9 || self.largest >= smallest(most);
        let expected = "no less than the smallest number of the most digits";
        require(fits, "largest", self.largest.to_string(), expected);
        // Of 1 and 1 every operation has another value; of 0 and 0 none has.
        let fits = !self.ask_operation || self.largest > 0;
        let expected = "at least 1 where ask_operation is true";
        require(fits, "largest", self.largest.to_string(), expected);
        let fits = !(self.ask_operation && self.word_problems);
        require(fits, "ask_operation", "true".to_owned(), "false where word_problems is true");
        let fits = (1..=1_000_000).contains(&self.count);
        require(fits, "count", self.count.to_string(), "1 to 1,000,000");
        problems
    }

    /// Returns `count` questions of a split, equal on every call for one task.
    ///
    /// No question occurs twice. If the family is too small, fewer than `count` questions are returned, but at least
    /// one.
    ///
    /// # Errors
    ///
    /// [`FileError`] if [`ArithmeticTask::problems`] is not empty, or the split is.
    pub fn questions(&self, split: Split) -> Result<Vec<Question>, FileError> {
        if let Some(problem) = self.problems("data").first() {
            return Err(FileError::at("arithmetic", problem));
        }
        let mut seen = HashSet::new();
        let mut questions = Vec::new();
        let attempts = self.count as u64 * 40 + 1000;
        for index in 0..attempts {
            if questions.len() == self.count {
                break;
            }
            let question = self.question(index);
            if split_of(&question.problem) == split && seen.insert(question.problem.clone()) {
                questions.push(question);
            }
        }
        if questions.is_empty() {
            let problem =
                format!("no {split:?} question among the family, expected larger `digits`");
            return Err(FileError::at("arithmetic", problem));
        }
        Ok(questions)
    }

    /// Returns question number `index` of the family, in either split.
    ///
    /// # Panics
    ///
    /// If `operations` is empty or `digits` is not an ascending range within 1..=9.
    pub fn question(&self, index: u64) -> Question {
        let rng = &mut step_rng(self.seed, index, Purpose::Arithmetic);
        let operation = *self.operations.choose(rng).expect("a task has an operation");
        let mut operand = || {
            let digits = rng.random_range(self.digits.0..=self.digits.1);
            let low = smallest(digits);
            let most = 10_u64.pow(digits) - 1;
            rng.random_range(low..=most.min(self.largest))
        };
        let (mut left, mut right) = operation.ordered(operand(), operand());
        while self.ask_operation && self.is_ambiguous(operation, left, right) {
            (left, right) = operation.ordered(operand(), operand());
        }
        let value = operation.value(left, right);
        let (problem, answer) = if self.ask_operation {
            (format!("{left}?{right}={value}: "), self.place(operation))
        } else if self.word_problems {
            (story(operation, left, right, rng), value)
        } else {
            (format!("{left}{}{right}=", operation.symbol()), value)
        };
        let source = match (self.ask_operation, self.word_problems) {
            (true, _) => "arithmetic-operations",
            (false, true) => "arithmetic-words",
            (false, false) => "arithmetic",
        };
        Question {
            id: format!("{source}-{}-{index}", self.seed),
            problem,
            answer: answer.to_string(),
            source: source.to_owned(),
            context: Vec::new(),
        }
    }

    /// Returns the place of an operation among the different ones of the task, from 1.
    fn place(&self, operation: Operation) -> u64 {
        let different: HashSet<_> =
            self.operations.iter().take_while(|&&other| other != operation).collect();
        different.len() as u64 + 1
    }

    /// Returns true if another operation of the task has the same value.
    fn is_ambiguous(&self, operation: Operation, left: u64, right: u64) -> bool {
        let value = operation.value(left, right);
        self.operations.iter().any(|&other| {
            let (left, right) = other.ordered(left, right);
            other != operation && other.value(left, right) == value
        })
    }
}

/// Returns the smallest operand of so many digits.
fn smallest(digits: u32) -> u64 {
    if digits <= 1 { 0 } else { 10_u64.pow(digits - 1) }
}

/// Returns the split of a question. It depends only on the text, so no question is in both, for any seeds.
fn split_of(problem: &str) -> Split {
    let word = problem.bytes().fold(0, |state, byte| hash([state, u64::from(byte)]));
    if word % 10 == 0 { Split::HeldOut } else { Split::Train }
}

fn story(operation: Operation, left: u64, right: u64, rng: &mut impl Rng) -> String {
    const NAMES: [&str; 8] = ["Tom", "Anna", "Ben", "Lily", "Sam", "Mia", "Jack", "Emma"];
    const THINGS: [&str; 8] =
        ["apples", "marbles", "books", "pencils", "stickers", "coins", "cards", "shells"];
    let name = NAMES.choose(rng).expect("the list is not empty");
    let things = THINGS.choose(rng).expect("the list is not empty");
    let form = rng.random_range(0..2);
    match (operation, form) {
        (Operation::Add, 0) => format!(
            "{name} has {left} {things} and buys {right} more. How many {things} does {name} have now?"
        ),
        (Operation::Add, _) => format!(
            "{name} finds {left} {things} on Monday and {right} {things} on Tuesday. How many {things} does \
             {name} find in all?"
        ),
        (Operation::Subtract, 0) => format!(
            "{name} has {left} {things} and gives away {right}. How many {things} does {name} have left?"
        ),
        (Operation::Subtract, _) => format!(
            "There are {left} {things} in a box. {name} takes out {right}. How many {things} are left in the \
             box?"
        ),
        (Operation::Multiply, 0) => format!(
            "{name} has {left} bags with {right} {things} in each bag. How many {things} does {name} have?"
        ),
        (Operation::Multiply, _) => format!(
            "{name} puts {right} {things} in each of {left} boxes. How many {things} are in the boxes?"
        ),
    }
}
