//! Paired comparison of two evaluations of the same problems.

use figures::moving_average::mean;
use serde::{Deserialize, Serialize};
use statrs::distribution::{Binomial, DiscreteCDF};
use thiserror::Error;

use super::bootstrap::{Bootstrap, Estimate, Resampled};
use super::measures::{Column, average_name, columns};
use super::response::Response;

/// The responses of one evaluation to one set.
#[derive(Debug, Clone, Copy)]
pub struct SetResponses<'a> {
    /// Responses, in the order of the problems.
    pub responses: &'a [Response],
    /// Number of responses to each problem.
    pub samples: usize,
}

/// Difference of two evaluations of one set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetComparison {
    /// Name of the set.
    pub set: String,
    /// Name of the measure that is compared.
    pub measure: String,
    /// Number of problems in the set.
    pub problems: usize,
    /// Mean of the first evaluation.
    pub first: f64,
    /// Mean of the second evaluation.
    pub second: f64,
    /// Second minus first: mean over the problems, with a bootstrap interval that pairs the two evaluations.
    pub difference: Estimate,
    /// Number of problems on which the second is higher.
    pub higher: usize,
    /// Number of problems on which the second is lower.
    pub lower: usize,
    /// Two-sided p of the exact sign test.
    pub sign_test_p: f64,
}

/// Why two evaluations cannot be compared: the problems differ, or one lacks the measure.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("set `{set}`: {problem}")]
pub struct ComparisonError {
    set: String,
    problem: String,
}

/// Two-sided p of the exact sign test: the chance that fair coins, one per problem that differs, fall at least as unevenly.
///
/// ```text
/// p = min(1, 2 P(X <= min(higher, lower))),  X ~ Binomial(higher + lower, 1/2)
/// ```
///
/// With one response to each problem it is `McNemar`'s exact test. 1 where no problem differs.
pub fn sign_test(higher: usize, lower: usize) -> f64 {
    match Binomial::new(0.5, (higher + lower) as u64) {
        Ok(coins) if higher + lower > 0 => (2.0 * coins.cdf(higher.min(lower) as u64)).min(1.0),
        _ => 1.0,
    }
}

/// Compares two evaluations of one set by a measure; `None` is avg@n, each with its own `n`. `stream` is the set's index.
///
/// The second result is the resampled difference, for the plain mean over sets.
///
/// # Errors
///
/// [`ComparisonError`] if the problems differ or a measure is missing.
///
/// # Panics
///
/// See [`columns`].
pub fn compare(
    set: &str,
    sides: [SetResponses<'_>; 2],
    measure: Option<&str>,
    bootstrap: &Bootstrap,
    stream: u64,
) -> Result<(SetComparison, Resampled), ComparisonError> {
    check_problems(set, sides)?;
    let column = |evaluation: SetResponses<'_>, side| -> Result<Column, ComparisonError> {
        let measure = measure.map_or_else(|| average_name(evaluation.samples), str::to_owned);
        let columns = columns(evaluation.responses, evaluation.samples);
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        columns.iter().find(|column| column.name == measure).cloned().ok_or_else(|| {
            let known = names.join(", ");
            let problem = format!("no measure `{measure}` in the {side}, expected one of {known}");
            ComparisonError { set: set.to_owned(), problem }
        })
    };
    let [first, second] = sides;
    let (left, right) = (column(first, "first")?, column(second, "second")?);
    let differences: Vec<f64> = right.values.iter().zip(&left.values).map(|(b, a)| b - a).collect();
    // Equal fractions of responses may round differently.
    let higher = differences.iter().filter(|&&difference| difference > 1e-12).count();
    let lower = differences.iter().filter(|&&difference| difference < -1e-12).count();
    let resampled = bootstrap.resample(&[&differences], stream).remove(0);
    let name =
        if left.name == right.name { left.name } else { format!("{}, {}", left.name, right.name) };
    let comparison = SetComparison {
        set: set.to_owned(),
        measure: name,
        problems: differences.len(),
        first: mean(&left.values),
        second: mean(&right.values),
        difference: bootstrap.estimate(&resampled),
        higher,
        lower,
        sign_test_p: sign_test(higher, lower),
    };
    Ok((comparison, resampled))
}

fn check_problems(set: &str, sides: [SetResponses<'_>; 2]) -> Result<(), ComparisonError> {
    let problems = |SetResponses { responses, samples }| -> Vec<(&str, &str)> {
        let first = responses.chunks(samples).map(|group| &group[0]);
        first.map(|one| (one.id.as_str(), one.ground_truth.as_str())).collect()
    };
    let [first, second] = sides.map(problems);
    let most = first.len().max(second.len());
    let differs = |&index: &usize| first.get(index) != second.get(index);
    let Some(problem) = (0..most).find(differs) else { return Ok(()) };
    let name = |problem: Option<&(&str, &str)>| {
        problem
            .map_or_else(|| "none".to_owned(), |(id, answer)| format!("`{id}` (answer {answer})"))
    };
    let [first, second] = [first, second].map(|problems| name(problems.get(problem)));
    let problem = format!(
        "problem {problem} is {first} in the first and {second} in the second, expected the same problems"
    );
    Err(ComparisonError { set: set.to_owned(), problem })
}
