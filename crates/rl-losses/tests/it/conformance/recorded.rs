//! Reads recorded cases: padded rows with a mask become columns of tokens.

use rl_losses::{Aggregation, Divisor, TokenBatch, TokenColumns};
use serde_json::Value;

use crate::batches::token_weights;

/// One recorded case.
pub(crate) struct Case {
    json: Value,
}

impl Case {
    pub(crate) fn new(json: Value) -> Self {
        Self { json }
    }

    pub(crate) fn name(&self) -> &str {
        self.json["name"].as_str().expect("a case has a name")
    }

    /// The function under test.
    pub(crate) fn function(&self) -> String {
        self.json["fn"].as_str().expect("a case has a function").to_owned()
    }

    pub(crate) fn outputs(&self) -> &serde_json::Map<String, Value> {
        self.json["outputs"].as_object().expect("outputs by name")
    }

    pub(crate) fn input(&self, key: &str) -> &Value {
        &self.json["inputs"][key]
    }

    pub(crate) fn output(&self, key: &str) -> &Value {
        &self.json["outputs"][key]
    }

    pub(crate) fn metric(&self, key: &str) -> f64 {
        number(&self.output("metrics")[key])
    }

    pub(crate) fn has_param(&self, key: &str) -> bool {
        !self.json["params"][key].is_null()
    }

    pub(crate) fn param(&self, key: &str) -> &Value {
        &self.json["params"][key]
    }

    pub(crate) fn param_number(&self, key: &str) -> f64 {
        number(self.param(key))
    }

    pub(crate) fn mask(&self) -> Mask {
        Mask::new(self.input("response_mask"))
    }

    /// One weight per token under the case's `loss_agg_mode`, global counts included.
    pub(crate) fn weights(&self, mask: &Mask) -> Vec<f64> {
        let mode = self.param("loss_agg_mode").as_str().expect("a mode");
        let mut weights = weights(mode, mask, mask.width() as f64);
        if self.has_param("batch_num_tokens") {
            assert_eq!(mode, "token-mean");
            let tokens = mask.tokens() as f64;
            let factor =
                self.param_number("dp_size") * tokens / self.param_number("batch_num_tokens");
            for weight in &mut weights {
                *weight *= factor;
            }
        }
        weights
    }
}

/// The weights of a mode, verl's `1e-8` included; `divisor` is only read by `seq-mean-token-sum-norm`.
pub(crate) fn weights(mode: &str, mask: &Mask, divisor: f64) -> Vec<f64> {
    let rule = match mode {
        // The plain sum is no rule of ours: it depends on the split into ranks.
        "token-sum" => return vec![1.0; mask.tokens()],
        "seq-mean-token-mean" => {
            let weights = token_weights(&Aggregation::SeqMeanTokenMean, &mask.lengths());
            return std::iter::zip(weights, mask.row_factors())
                .map(|(w, factor)| w * factor)
                .collect();
        }
        "seq-mean-token-sum-norm" => {
            let divisor = Divisor::try_from(divisor).expect("a positive divisor");
            Aggregation::SeqMeanTokenSumNorm { divisor }
        }
        _ => serde_json::from_value(Value::from(mode)).expect("a mode of verl's"),
    };
    token_weights(&rule, &mask.lengths())
}

/// Which positions of padded rows are tokens.
pub(crate) struct Mask {
    rows: Vec<Vec<bool>>,
}

impl Mask {
    pub(crate) fn new(json: &Value) -> Self {
        let rows = rows(json);
        Self { rows: rows.iter().map(|row| row.iter().map(|m| *m > 0.0).collect()).collect() }
    }

    pub(crate) fn width(&self) -> usize {
        self.rows[0].len()
    }

    pub(crate) fn lengths(&self) -> Vec<usize> {
        self.rows.iter().map(|row| row.iter().filter(|&&token| token).count()).collect()
    }

    pub(crate) fn tokens(&self) -> usize {
        self.lengths().iter().sum()
    }

    /// Tokens of the shortest row that has any.
    pub(crate) fn shortest(&self) -> usize {
        self.lengths().into_iter().filter(|&length| length > 0).min().unwrap_or(1)
    }

    /// Factor of each token's weight in verl's mean over a row: `n / (n + 1e-8)` (row 17 of `docs/paper-vs-code.md`).
    pub(crate) fn row_factors(&self) -> Vec<f64> {
        let lengths = self.lengths().into_iter();
        lengths.flat_map(|n| std::iter::repeat_n(n as f64 / (n as f64 + 1e-8), n)).collect()
    }

    /// Tokens of padded rows, laid end to end.
    pub(crate) fn pack(&self, json: &Value) -> Vec<f64> {
        let rows = rows(json);
        assert_eq!(rows.len(), self.rows.len(), "as many rows as the mask");
        self.rows
            .iter()
            .zip(rows)
            .flat_map(|(mask, row)| std::iter::zip(mask, row).filter(|(m, _)| **m).map(|(_, x)| x))
            .collect()
    }

    /// Marks the tokens at recorded `[row, column]` positions.
    pub(crate) fn marks(&self, positions: &Value) -> Vec<bool> {
        let positions: Vec<(usize, usize)> =
            serde_json::from_value(positions.clone()).expect("pairs of row and column");
        let mut marked = Vec::with_capacity(self.tokens());
        for (row, mask) in self.rows.iter().enumerate() {
            for column in (0..mask.len()).filter(|&column| mask[column]) {
                marked.push(positions.contains(&(row, column)));
            }
        }
        let count = marked.iter().filter(|&&mark| mark).count();
        assert_eq!(count, positions.len(), "every recorded position is a token");
        marked
    }
}

/// The columns every loss reads.
pub(crate) struct Columns {
    log_prob: Vec<f64>,
    old_log_prob: Vec<f64>,
    advantage: Vec<f64>,
    lengths: Vec<usize>,
}

impl Columns {
    pub(crate) fn of(case: &Case, mask: &Mask) -> Self {
        Self {
            log_prob: mask.pack(case.input("log_prob")),
            old_log_prob: mask.pack(case.input("old_log_prob")),
            advantage: mask.pack(case.input("advantages")),
            lengths: mask.lengths(),
        }
    }

    pub(crate) fn batch(&self) -> TokenBatch<'_> {
        let columns = TokenColumns {
            log_prob: &self.log_prob,
            old_log_prob: &self.old_log_prob,
            advantage: &self.advantage,
        };
        TokenBatch::new(columns, &self.lengths).expect("recorded columns form a batch")
    }
}

pub(crate) fn rows(json: &Value) -> Vec<Vec<f64>> {
    let rows = json.as_array().expect("rows");
    rows.iter().map(numbers).collect()
}

pub(crate) fn numbers(json: &Value) -> Vec<f64> {
    json.as_array().expect("a list").iter().map(number).collect()
}

/// A number; what JSON cannot write is a string.
pub(crate) fn number(json: &Value) -> f64 {
    match json {
        Value::Number(number) => number.as_f64().expect("a number that fits"),
        Value::String(word) => word.parse().expect("nan, inf or -inf"),
        _ => panic!("{json} is not a number"),
    }
}

pub(crate) fn weighted_sum(weights: &[f64], terms: &[f64]) -> f64 {
    assert_eq!(weights.len(), terms.len());
    std::iter::zip(weights, terms).map(|(weight, term)| weight * term).sum()
}

/// verl takes the means of indicators in f32 and with `+ 1e-8` in the denominator.
pub(crate) fn assert_metric(case: &Case, metric: &str, found: f64) {
    let expected = case.metric(metric);
    let close = (found - expected).abs() <= 1e-6 * expected.abs().max(1.0);
    assert!(close, "{metric} of {}: {found}, recorded {expected}", case.name());
}

/// Compares means whose least count is `least`: verl divides by counts with `+ 1e-8` (rows 17 and 33 of
/// `docs/paper-vs-code.md`), once in a whitened value, up to three times in a slope of GMPO.
pub(crate) fn assert_means_close(found: &[f64], expected: &[f64], least: usize, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let share = 1e-9 + 3e-8 / least.max(1) as f64;
    for (index, (computed, expected)) in std::iter::zip(found, expected).enumerate() {
        let close = (computed - expected).abs() <= share * expected.abs().max(1.0);
        assert!(close, "{what}, entry {index}: {computed}, recorded {expected}");
    }
}

pub(crate) fn assert_all_close(found: &[f64], expected: &[f64], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (index, (&computed, &expected)) in std::iter::zip(found, expected).enumerate() {
        assert_close(computed, expected, &format!("{what}, entry {index}"));
    }
}

pub(crate) fn assert_close(found: f64, expected: f64, what: &str) {
    let close = (found - expected).abs() <= 1e-9 * expected.abs().max(1.0);
    assert!(close, "{what}: {found}, recorded {expected}");
}
