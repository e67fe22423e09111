//! Every measure of an evaluation: its definition, and one value per problem.

use std::sync::LazyLock;

use rl_losses::share_of_sets;
use serde::{Deserialize, Serialize};
use training_run::metrics::Metric;

use super::bootstrap::{Bootstrap, Estimate, Resampled};
use super::diversity::{distinct_ngrams, self_bleu};
use super::majority::Votes;
use super::response::Response;

/// Every measure, as defined for one problem; a set's value is the mean over its problems. In a name, `n` stands for the number
/// of responses to a problem, `k` for a number of them.
pub static MEASURES: LazyLock<Vec<Metric>> =
    LazyLock::new(|| Metric::table(include_str!("measures.txt")));

/// A measure with one value per problem.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Name as in [`MEASURES`], with numbers in place of `n` and `k`.
    pub name: String,
    /// Values, `[problems]`.
    pub values: Vec<f64>,
}

/// A set's measures, in the order of [`MEASURES`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetResult {
    /// Name of the set.
    pub name: String,
    /// Number of problems in the set.
    pub problems: usize,
    /// Number of responses to each problem.
    pub samples: usize,
    /// Measures in the order of [`MEASURES`].
    pub measures: Vec<NamedEstimate>,
}

/// A measure of a set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedEstimate {
    /// Name as in [`MEASURES`], with numbers in place of `n` and `k`.
    pub name: String,
    /// Mean over the problems, with its interval.
    pub estimate: Estimate,
}

impl SetResult {
    /// Finds a measure by name.
    pub fn get(&self, name: &str) -> Option<Estimate> {
        self.measures.iter().find(|measure| measure.name == name).map(|measure| measure.estimate)
    }
}

/// Formats `avg@n` for a number of responses.
pub(super) fn average_name(samples: usize) -> String {
    format!("avg@{samples}")
}

/// Values of `k` for pass@k and maj@k: powers of two from 2 on, and `samples` itself.
pub fn counts_below(samples: usize) -> Vec<usize> {
    let powers = std::iter::successors(Some(2_usize), |k| k.checked_mul(2));
    powers.take_while(|&k| k < samples).chain((samples > 1).then_some(samples)).collect()
}

/// Computes pass@k of `samples` responses of which `right` are right, a fraction.
///
/// # Panics
///
/// If `right` exceeds `samples`.
pub fn pass_at_k(right: usize, samples: usize, k: usize) -> f64 {
    assert!(right <= samples, "{right} of {samples} are right");
    1.0 - share_of_sets(samples - right, samples, k)
}

/// Computes all measures of a set whose responses are ordered by problem, `samples` to each.
///
/// # Panics
///
/// If there are no responses, or their number is no multiple of `samples`.
pub fn columns(responses: &[Response], samples: usize) -> Vec<Column> {
    assert!(
        samples > 0 && !responses.is_empty() && responses.len().is_multiple_of(samples),
        "{} responses, {samples} to each problem",
        responses.len()
    );
    let problems: Vec<&[Response]> = responses.chunks(samples).collect();
    let votes_of = |group: &&[Response]| {
        Votes::count(group.iter().map(|one| (one.is_right(), one.normal_form.as_deref())))
    };
    let votes: Vec<Votes> = problems.iter().map(votes_of).collect();
    let mut columns = Vec::new();
    let mut add = |name: String, values: Vec<f64>| columns.push(Column { name, values });
    add(average_name(samples), votes.iter().map(|v| v.right as f64 / samples as f64).collect());
    for k in counts_below(samples) {
        let pass = |votes: &Votes| pass_at_k(votes.right, samples, k);
        add(format!("pass@{k}"), votes.iter().map(pass).collect());
    }
    for k in counts_below(samples) {
        add(format!("maj@{k}"), votes.iter().map(|votes| votes.majority_at_k(k)).collect());
    }
    let mean = |value: fn(&Response) -> f64| -> Vec<f64> {
        let of_group = |group: &&[Response]| group.iter().map(value).sum::<f64>() / samples as f64;
        problems.iter().map(of_group).collect()
    };
    add("extracted_fraction".to_owned(), mean(|one| f64::from(u8::from(one.is_extracted()))));
    add("truncated_fraction".to_owned(), mean(|one| f64::from(u8::from(one.truncated))));
    add("response_tokens".to_owned(), mean(|one| one.tokens as f64));
    add("entropy".to_owned(), mean(|one| one.entropy));
    add("surprise".to_owned(), mean(|one| one.surprise));
    add("distinct_answers".to_owned(), votes.iter().map(|v| v.distinct() as f64).collect());
    let texts: Vec<Vec<&str>> =
        problems.iter().map(|group| group.iter().map(|one| one.text.as_str()).collect()).collect();
    for order in [1, 2, 4] {
        let values = texts.iter().map(|texts| distinct_ngrams(texts, order)).collect();
        add(format!("distinct_{order}"), values);
    }
    if let Some(values) = texts.iter().map(|texts| self_bleu(texts)).collect() {
        add("self_bleu".to_owned(), values);
    }
    columns
}

/// Computes a set's measures with their intervals, and its resampled `avg@n`; `stream` is the set's index.
///
/// # Panics
///
/// See [`columns`].
pub fn summarise(
    name: &str,
    responses: &[Response],
    samples: usize,
    bootstrap: &Bootstrap,
    stream: u64,
) -> (SetResult, Resampled) {
    let columns = columns(responses, samples);
    let values: Vec<&[f64]> = columns.iter().map(|column| column.values.as_slice()).collect();
    let mut resampled = bootstrap.resample(&values, stream);
    let measure = |(Column { name, .. }, resampled)| NamedEstimate {
        name,
        estimate: bootstrap.estimate(resampled),
    };
    let measures = columns.into_iter().zip(&resampled).map(measure).collect();
    let problems = responses.len() / samples;
    let result = SetResult { name: name.to_owned(), problems, samples, measures };
    (result, resampled.swap_remove(0))
}
