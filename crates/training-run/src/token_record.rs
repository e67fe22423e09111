//! Values of each token of a response: `samples/step-N.tokens.jsonl`, one response per line.

use serde::{Deserialize, Serialize, Serializer};

/// Significant digits of the numbers on disk.
const DIGITS: usize = 5;

/// The tokens of one response; all columns `[tokens]`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenRecord {
    /// Index of the response: its line in `samples/step-N.jsonl`, counted from 0.
    pub sample: usize,
    /// Token ids.
    pub token_ids: Vec<u32>,
    /// Text that each token adds; empty if the token ends within a character.
    pub text: Vec<String>,
    /// Log-probability under the policy before the update, in nats.
    #[serde(serialize_with = "shortened")]
    pub log_prob: Vec<f64>,
    /// Entropy of the distribution that the token was drawn from, in nats.
    #[serde(serialize_with = "shortened")]
    pub entropy: Vec<f64>,
    /// Advantage, in reward.
    #[serde(serialize_with = "shortened")]
    pub advantage: Vec<f64>,
    /// Centred product of advantage and log-probability over all tokens of the step, in nat·reward: the terms of `cov/mean`.
    #[serde(serialize_with = "shortened")]
    pub covariance: Vec<f64>,
    /// Positions of the tokens that the loss selected in its first pass, ascending; `None` if the response took no part in the
    /// update, or the update failed.
    pub selected: Option<Vec<usize>>,
}

impl TokenRecord {
    /// Checks that the columns are equally long and the positions within them.
    ///
    /// # Errors
    ///
    /// Description of the fault.
    pub fn check(&self) -> Result<(), String> {
        let tokens = self.token_ids.len();
        let columns = [
            ("text", self.text.len()),
            ("log_prob", self.log_prob.len()),
            ("entropy", self.entropy.len()),
            ("advantage", self.advantage.len()),
            ("covariance", self.covariance.len()),
        ];
        if let Some((column, found)) = columns.into_iter().find(|&(_, found)| found != tokens) {
            return Err(format!("column `{column}` has {found} tokens, `token_ids` has {tokens}"));
        }
        match self.selected.iter().flatten().find(|&&position| position >= tokens) {
            Some(position) => {
                Err(format!("`selected` holds {position}, expected less than {tokens}"))
            }
            None => Ok(()),
        }
    }

    /// True if the loss selected the token.
    pub fn is_selected(&self, position: usize) -> bool {
        self.selected.as_ref().is_some_and(|selected| selected.binary_search(&position).is_ok())
    }
}

/// Absolute covariances that half, a tenth and a fiftieth of the tokens of `records` exceed. They show the tail, at the scale of
/// the rewards. Infinite if there is no token.
pub fn covariance_thresholds<'a>(records: impl Iterator<Item = &'a TokenRecord>) -> [f64; 3] {
    let sizes = records.flat_map(|record| record.covariance.iter().map(|value| value.abs()));
    let mut sizes: Vec<f64> = sizes.collect();
    sizes.sort_by(f64::total_cmp);
    [2, 10, 50].map(|share| {
        let place = sizes.len() - sizes.len() / share;
        sizes.get(place.saturating_sub(1)).copied().unwrap_or(f64::INFINITY)
    })
}

/// Strength of a value's colour: the number of ascending thresholds that its size exceeds, with its sign; −3..=3.
pub fn strength(value: f64, thresholds: [f64; 3]) -> i8 {
    let passed = thresholds.iter().filter(|&&threshold| value.abs() > threshold).count();
    let strength = i8::try_from(passed).unwrap_or(3);
    if value < 0.0 { -strength } else { strength }
}

/// Chooses the groups of a step that are recorded: the first `count` whose rewards differ, then others if those are fewer.
/// Returns indices, ascending.
pub fn recorded_groups(informative: &[bool], count: usize) -> Vec<usize> {
    let groups_where =
        |wanted: bool| (0..informative.len()).filter(move |&group| informative[group] == wanted);
    let mut groups: Vec<usize> =
        groups_where(true).chain(groups_where(false)).take(count).collect();
    groups.sort_unstable();
    groups
}

/// Splits the positions that the loss selected by sample. `selected` counts through the tokens of the samples `kept`, ascending,
/// which took part; `lengths` are those of all samples. `None` for a sample that took no part.
pub fn selected_by_sample(
    lengths: &[usize],
    kept: &[usize],
    selected: &[usize],
) -> Vec<Option<Vec<usize>>> {
    let mut by_sample = vec![None; lengths.len()];
    let (mut first, mut rest) = (0, selected);
    for &sample in kept {
        let end = first + lengths[sample];
        let (inside, after) = rest.split_at(rest.partition_point(|&position| position < end));
        by_sample[sample] = Some(inside.iter().map(|position| position - first).collect());
        (first, rest) = (end, after);
    }
    by_sample
}

/// Formats one line per record.
///
/// # Panics
///
/// Never: a record is valid JSON.
pub fn token_lines(records: &[TokenRecord]) -> String {
    let line =
        |record| serde_json::to_string(record).expect("numbers and text are valid JSON") + "\n";
    records.iter().map(line).collect()
}

/// Rounds to [`DIGITS`] significant digits, which are enough for reading and save disk space. A 0 loses its sign.
fn shortened<S: Serializer>(values: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
    let short = |&value: &f64| format!("{value:.*e}", DIGITS - 1).parse().unwrap_or(value) + 0.0;
    serializer.collect_seq(values.iter().map(short))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> TokenRecord {
        TokenRecord {
            sample: 3,
            token_ids: vec![7, 9],
            text: vec!["4".to_owned(), "2".to_owned()],
            log_prob: vec![-0.123_456_789, -12_345.678],
            entropy: vec![1.0e-9, 0.0],
            advantage: vec![-0.353_552_390_596, 2.0],
            covariance: vec![-0.0, 3.25],
            selected: Some(vec![1]),
        }
    }

    #[test]
    fn numbers_keep_five_digits() {
        let line = token_lines(&[record()]);
        assert_eq!(
            line,
            "{\"sample\":3,\"token_ids\":[7,9],\"text\":[\"4\",\"2\"],\"log_prob\":[-0.12346,-12346.0],\
             \"entropy\":[1e-9,0.0],\"advantage\":[-0.35355,2.0],\"covariance\":[0.0,3.25],\"selected\":[1]}\n"
        );
        let read: TokenRecord = serde_json::from_str(&line).unwrap();
        read.check().unwrap();
        assert!(!read.is_selected(0) && read.is_selected(1));
    }

    #[test]
    fn covariances_are_coloured_by_how_many_exceed_them() {
        let covariance: Vec<f64> = (1..=100).map(|size| f64::from(size) * -0.01).collect();
        let record = TokenRecord { covariance, ..TokenRecord::default() };
        let thresholds = covariance_thresholds([&record].into_iter());
        assert_eq!(thresholds.to_vec(), [0.5, 0.9, 0.98]);
        let strengths = [-0.5, -0.51, 0.95, 0.99].map(|value| strength(value, thresholds));
        assert_eq!(strengths, [0, -1, 2, 3]);
        assert_eq!(strength(9.0, covariance_thresholds(std::iter::empty())), 0);
    }

    #[test]
    fn groups_that_teach_are_recorded_first() {
        assert_eq!(recorded_groups(&[false, true, false, true], 3), [0, 1, 3]);
        assert_eq!(recorded_groups(&[false, true, false, true], 1), [1]);
        assert_eq!(recorded_groups(&[true], 5), [0]);
    }

    #[test]
    fn positions_of_a_batch_become_positions_of_its_samples() {
        // Samples of 2, 3, 4 and 1 tokens, of which the second took no part: tokens 0..2, 2..6, 6..7.
        let positions = selected_by_sample(&[2, 3, 4, 1], &[0, 2, 3], &[1, 2, 5, 6]);
        assert_eq!(positions, [Some(vec![1]), None, Some(vec![0, 3]), Some(vec![0])]);
    }

    #[test]
    fn columns_that_do_not_fit_are_named() {
        let short = TokenRecord { entropy: vec![0.0], ..record() };
        assert_eq!(short.check().unwrap_err(), "column `entropy` has 1 tokens, `token_ids` has 2");
        let outside = TokenRecord { selected: Some(vec![2]), ..record() };
        assert_eq!(outside.check().unwrap_err(), "`selected` holds 2, expected less than 2");
    }
}
