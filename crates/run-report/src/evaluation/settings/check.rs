//! What sets may say.

use std::collections::BTreeSet;

use entropy_core::EntropyBand;

use super::{Sampling, SetEntry, SettingsError};
use crate::evaluation::majority::MOST_SAMPLES;

/// Names become names of files, and of columns.
pub(super) fn names(sets: &[SetEntry]) -> Result<(), SettingsError> {
    if sets.is_empty() {
        let problem = "no set, expected --set NAME=FILE or [[set]] in a file";
        return Err(SettingsError::Sets(problem.to_owned()));
    }
    let mut seen = BTreeSet::new();
    for SetEntry { name, .. } in sets {
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        if name.is_empty() || name.starts_with('.') || !name.chars().all(plain) {
            let expected = "letters, digits, `.`, `_`, `-`, not beginning with a `.`";
            return Err(fault(name, "name", format!("{name:?}"), expected));
        }
        if !seen.insert(name) {
            let problem = format!("two sets are named `{name}`, expected different names");
            return Err(SettingsError::Sets(problem));
        }
    }
    Ok(())
}

pub(super) fn sampling(set: &str, sampling: &Sampling) -> Result<(), SettingsError> {
    let &Sampling { samples, temperature, top_p, min_p, max_response_tokens, .. } = sampling;
    let banded = sampling.entropy_floor.is_some() || sampling.entropy_ceiling.is_some();
    let checks = [
        (
            "samples",
            samples as f64,
            (1..=MOST_SAMPLES).contains(&samples),
            format!("1 to {MOST_SAMPLES}"),
        ),
        (
            "temperature",
            temperature,
            temperature.is_finite() && temperature >= 0.0,
            "a number of at least 0".to_owned(),
        ),
        (
            "temperature",
            temperature,
            samples == 1 || temperature > 0.0,
            format!("above 0 with {samples} samples, which would all be the same"),
        ),
        (
            "temperature",
            temperature,
            !banded || temperature > 0.0,
            "above 0 with an entropy band".to_owned(),
        ),
        ("top_p", top_p, top_p > 0.0 && top_p <= 1.0, "above 0 and at most 1".to_owned()),
        ("min_p", min_p, (0.0..1.0).contains(&min_p), "at least 0 and below 1".to_owned()),
        (
            "max_response_tokens",
            max_response_tokens as f64,
            max_response_tokens > 0,
            "at least 1".to_owned(),
        ),
    ];
    if let Some((field, found, _, expected)) = checks.into_iter().find(|(_, _, holds, _)| !holds) {
        return Err(fault(set, field, found.to_string(), &expected));
    }
    EntropyBand::new(sampling.entropy_floor, sampling.entropy_ceiling).map(drop).map_err(|error| {
        SettingsError::Sampling { set: set.to_owned(), problem: error.to_string() }
    })
}

fn fault(set: &str, field: &'static str, found: String, expected: &str) -> SettingsError {
    SettingsError::Field { set: set.to_owned(), field, found, expected: expected.to_owned() }
}
