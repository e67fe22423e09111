//! Quantities by which tokens are coloured.

use super::token_text::plain;
use crate::run_view::ViewedSample;
use training_run::token_record::{TokenRecord, covariance_thresholds};

/// A quantity of every token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenMeasure {
    /// Product of centred advantage and centred log-probability, in nat·reward.
    Covariance,
    /// Entropy of the distribution the token was drawn from, in nats.
    Entropy,
    /// Minus the log-probability of the token, in nats.
    Surprise,
    /// Advantage, in reward.
    Advantage,
    /// 1 if the loss selected the token, else 0.
    Selected,
}

impl TokenMeasure {
    /// All measures, in the order in which the tab key cycles through them.
    pub(super) const ALL: [Self; 5] =
        [Self::Covariance, Self::Entropy, Self::Surprise, Self::Advantage, Self::Selected];

    /// Key that switches to the measure.
    pub(super) fn key(self) -> char {
        match self {
            Self::Covariance => 'c',
            Self::Entropy => 'e',
            Self::Surprise => 'p',
            Self::Advantage => 'a',
            Self::Selected => 's',
        }
    }

    /// Name with its unit.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Covariance => "covariance (nat·reward)",
            Self::Entropy => "entropy (nat)",
            Self::Surprise => "surprise, -log π (nat)",
            Self::Advantage => "advantage (reward)",
            Self::Selected => "selected by the loss",
        }
    }

    /// Value of a token.
    pub(super) fn of(self, record: &TokenRecord, position: usize) -> f64 {
        match self {
            Self::Covariance => record.covariance[position],
            Self::Entropy => record.entropy[position],
            Self::Surprise => -record.log_prob[position],
            Self::Advantage => record.advantage[position],
            Self::Selected => f64::from(u8::from(record.is_selected(position))),
        }
    }

    /// Absolute values from which on a token is coloured weakly, clearly and strongly. They are fixed, so that steps compare. The
    /// covariance scales with the rewards: it has [`covariance_thresholds`] of the step.
    pub(super) fn thresholds(self, samples: &[ViewedSample]) -> [f64; 3] {
        match self {
            Self::Entropy => [0.1, 0.5, 1.5],
            Self::Surprise => [0.1, 1.0, 3.0],
            Self::Advantage => [0.0, 0.5, 1.5],
            Self::Selected => [0.5; 3],
            Self::Covariance => {
                covariance_thresholds(samples.iter().filter_map(|sample| sample.tokens.as_ref()))
            }
        }
    }

    /// Describes one token in a line.
    pub(super) fn describe(record: &TokenRecord, position: usize) -> String {
        let selected = match &record.selected {
            None => "not in the update",
            Some(_) if record.is_selected(position) => "selected",
            Some(_) => "not selected",
        };
        format!(
            "token {} of {} {:?} id {}  log π {:.4}  entropy {:.4}  advantage {:+.4}  covariance {:+.4}  {selected}",
            position + 1,
            record.token_ids.len(),
            plain(&record.text[position]),
            record.token_ids[position],
            record.log_prob[position],
            record.entropy[position],
            record.advantage[position],
            record.covariance[position],
        )
    }
}
