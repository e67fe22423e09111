use super::text_lines::plain;
use crate::run_view::ViewedSample;
use training_run::token_record::{TokenRecord, covariance_thresholds};

pub(super) struct TokenMeasure {
    /// Key that switches to it.
    pub(super) key: char,
    /// Name with its unit.
    pub(super) name: &'static str,
    /// Absolute values from which on a token is coloured weakly, clearly and strongly. They are fixed, so that steps compare; `None`
    /// for the covariance, which scales with the rewards: it has [`covariance_thresholds`] of the step.
    fixed: Option<[f64; 3]>,
    pub(super) value: fn(&TokenRecord, usize) -> f64,
}

const fn measure(
    key: char,
    name: &'static str,
    fixed: Option<[f64; 3]>,
    value: fn(&TokenRecord, usize) -> f64,
) -> TokenMeasure {
    TokenMeasure { key, name, fixed, value }
}

/// All measures, in the order in which the tab key cycles through them.
pub(super) static MEASURES: [TokenMeasure; 5] = [
    measure('c', "covariance (nat·reward)", None, |record, token| record.covariance[token]),
    measure('e', "entropy (nat)", Some([0.1, 0.5, 1.5]), |record, token| record.entropy[token]),
    measure('p', "surprise, -log π (nat)", Some([0.1, 1.0, 3.0]), |record, token| {
        -record.log_prob[token]
    }),
    measure('a', "advantage (reward)", Some([0.0, 0.5, 1.5]), |record, token| {
        record.advantage[token]
    }),
    measure('s', "selected by the loss", Some([0.5; 3]), |record, token| {
        f64::from(u8::from(record.is_selected(token)))
    }),
];

impl TokenMeasure {
    pub(super) fn thresholds(&self, samples: &[ViewedSample]) -> [f64; 3] {
        let records = samples.iter().filter_map(|sample| sample.tokens.as_ref());
        self.fixed.unwrap_or_else(|| covariance_thresholds(records))
    }
}

pub(super) fn describe(record: &TokenRecord, token: usize) -> String {
    let selected = match &record.selected {
        None => "not in the update",
        Some(_) if record.is_selected(token) => "selected",
        Some(_) => "not selected",
    };
    format!(
        "token {} of {} {:?} id {}  log π {:.4}  entropy {:.4}  advantage {:+.4}  covariance {:+.4}  {selected}",
        token + 1,
        record.token_ids.len(),
        plain(&record.text[token]),
        record.token_ids[token],
        record.log_prob[token],
        record.entropy[token],
        record.advantage[token],
        record.covariance[token],
    )
}
