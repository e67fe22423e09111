//! Decides whether a model's mathematical answer is right.
//!
//! [`extract`] finds the answer in a response, the reader turns it into an expression, a structure or words, and a
//! ladder of sound comparisons decides: spelling → exact numbers → structure → normal forms → certified
//! enclosures. The verdict is three-way, [`Verdict::Right`], [`Verdict::Wrong`] or [`Verdict::Unparsed`] with a reason. Work is bounded by
//! [`Options::fuel`] and by depth and size limits, never by a clock, a signal or a thread: any byte sequence gets
//! its verdict, the same one everywhere. `docs/reward-math.md` is the page for users; `disputed.md` in this crate lists
//! the answers on whose label people differ.
//!
//! ```
//! use reward_math::{Options, Reward, verify};
//!
//! let verdict = verify(r"So it is \boxed{\dfrac{2}{4}}.", "0.5", &Options::default());
//! assert!(verdict.is_right());
//! assert!(Reward::default().of(&verdict) > 0.5);
//! ```

mod algebra;
mod answer;
mod calculus;
mod choices;
pub mod compat;
mod decide;
mod explain;
mod expression;
mod extract;
mod fold;
mod gold;
mod grade;
mod labels;
mod nearby;
mod normal_form;
mod numeric;
mod options;
mod parser;
mod power;
mod relation;
mod restated;
mod table;
mod timing;
mod token;
mod truth;
mod verdict;
mod words;

pub use explain::{explain, explain_answer};
pub use extract::{Extracted, Rule, extract, extract_without_echo};
pub use gold::Gold;
pub use grade::{BadRow, Counts, GradeError, Grading, Progress, Row, grade, read_rows};
pub use normal_form::normal_form;
pub use options::Options;
pub use timing::{Timing, time_rows};
pub use verdict::{How, ParseError, Reward, Rung, Side, Values, Verdict, Witness};

/// Decides whether a response gives the ground truth.
///
/// For many responses to one question, [`Gold::parse`] reads the ground truth once.
pub fn verify(response: &str, ground_truth: &str, options: &Options) -> Verdict {
    let gold = Gold::parse(ground_truth, options);
    gold.map_or_else(Verdict::of_faulty_gold, |gold| gold.verify(response))
}

// The example of the page that a registry shows.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
