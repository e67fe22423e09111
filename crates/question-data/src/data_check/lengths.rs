//! Statistics of the lengths of questions.

use model_files::text_tokenizer::{TextTokenizer, TokenizerError};
use serde::Serialize;
use thiserror::Error;
use whole_file::FileError;

/// Why a check cannot be made.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LengthError {
    /// A file cannot be read at all.
    #[error(transparent)]
    File(#[from] FileError),
    /// The tokenizer failed on a text.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
}

/// Lengths of the questions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Lengths {
    /// `characters` or `tokens`.
    pub unit: &'static str,
    /// Shortest length.
    pub min: usize,
    /// Median: half of the questions are at most this long.
    pub median: usize,
    /// Quantile 0.9: nine tenths are at most this long.
    pub p90: usize,
    /// Quantile 0.99: ninety-nine hundredths are at most this long.
    pub p99: usize,
    /// Longest length.
    pub max: usize,
    /// Sum over all questions.
    pub total: usize,
    /// Configured limit; 0 is none.
    pub limit: usize,
    /// Questions longer than the limit.
    pub over_limit: usize,
}

pub(super) fn lengths<'a>(
    texts: impl Iterator<Item = &'a str>,
    tokenizer: Option<&TextTokenizer>,
    limit: usize,
) -> Result<Option<Lengths>, LengthError> {
    let length = |text: &str| {
        Ok(match tokenizer {
            None => text.chars().count(),
            Some(tokenizer) => tokenizer.encode(text)?.len(),
        })
    };
    let mut sorted = texts.map(length).collect::<Result<Vec<usize>, LengthError>>()?;
    sorted.sort_unstable();
    let (Some(&min), Some(&max)) = (sorted.first(), sorted.last()) else { return Ok(None) };
    // The smallest length that at least `percent` hundredths of the questions do not exceed.
    let quantile = |percent: usize| sorted[(sorted.len() * percent).div_ceil(100).max(1) - 1];
    let within = sorted.partition_point(|&length| length <= limit);
    Ok(Some(Lengths {
        unit: if tokenizer.is_some() { "tokens" } else { "characters" },
        min,
        median: quantile(50),
        p90: quantile(90),
        p99: quantile(99),
        max,
        total: sorted.iter().sum(),
        limit,
        over_limit: if limit == 0 { 0 } else { sorted.len() - within },
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_lengths_that_occur() {
        let texts: Vec<String> = (1..=200).rev().map(|n| "é".repeat(n)).collect();
        let statistics_of = |count: usize, limit| {
            let texts = texts[..count].iter().map(String::as_str);
            lengths(texts, None, limit).unwrap()
        };
        let statistics = statistics_of(200, 150).unwrap();
        assert_eq!(
            (statistics.min, statistics.median, statistics.p90, statistics.p99, statistics.max),
            (1, 100, 180, 198, 200)
        );
        assert_eq!((statistics.total, statistics.over_limit), (20_100, 50));
        assert_eq!(statistics_of(1, 0).unwrap().over_limit, 0);
        assert_eq!(statistics_of(0, 9), None);
    }
}
