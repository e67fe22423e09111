//! What tokens are coloured by.

use super::token_text::plain;
use crate::run_view::ViewedSample;
use crate::token_record::TokenRecord;

/// A quantity of every token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Product of centred advantage and centred log-probability, in nat·reward.
    Covariance,
    /// Entropy of the distribution the token was drawn from, in nats.
    Entropy,
    /// Minus the log-probability of the token, in nats.
    Surprise,
    /// Advantage, in reward.
    Advantage,
    /// Whether the loss singled the token out.
    Selected,
}

impl Measure {
    /// All, in the order in which the tabulator key goes through them.
    pub const ALL: [Self; 5] =
        [Self::Covariance, Self::Entropy, Self::Surprise, Self::Advantage, Self::Selected];

    /// The key that switches to it.
    pub fn key(self) -> char {
        match self {
            Self::Covariance => 'c',
            Self::Entropy => 'e',
            Self::Surprise => 'p',
            Self::Advantage => 'a',
            Self::Selected => 's',
        }
    }

    /// Its name, with the unit.
    pub fn name(self) -> &'static str {
        match self {
            Self::Covariance => "covariance (nat·reward)",
            Self::Entropy => "entropy (nat)",
            Self::Surprise => "surprise, -log π (nat)",
            Self::Advantage => "advantage (reward)",
            Self::Selected => "selected by the loss",
        }
    }

    /// The value of a token.
    pub fn of(self, record: &TokenRecord, position: usize) -> f64 {
        match self {
            Self::Covariance => record.covariance[position],
            Self::Entropy => record.entropy[position],
            Self::Surprise => -record.log_prob[position],
            Self::Advantage => record.advantage[position],
            Self::Selected => f64::from(u8::from(record.is_selected(position))),
        }
    }

    /// The sizes at which a token counts as somewhat, clearly and very much coloured. Fixed, so that steps can be compared; of
    /// the covariance, whose scale is the rewards', those that half, a tenth and a fiftieth of the recorded tokens of the step
    /// exceed.
    pub fn thresholds(self, samples: &[ViewedSample]) -> [f64; 3] {
        match self {
            Self::Entropy => [0.1, 0.5, 1.5],
            Self::Surprise => [0.1, 1.0, 3.0],
            Self::Advantage => [0.0, 0.5, 1.5],
            Self::Selected => [0.5; 3],
            Self::Covariance => {
                let records = samples.iter().filter_map(|sample| sample.tokens.as_ref());
                let sizes = records.flat_map(|record| record.covariance.iter().map(|c| c.abs()));
                let mut sizes: Vec<f64> = sizes.collect();
                sizes.sort_by(f64::total_cmp);
                let exceeded_by = |share: usize| {
                    let place = sizes.len() - sizes.len() / share;
                    sizes.get(place.saturating_sub(1)).copied().unwrap_or(f64::INFINITY)
                };
                [exceeded_by(2), exceeded_by(10), exceeded_by(50)]
            }
        }
    }

    /// How strongly a value is coloured: −3..=3, the sign that of the value.
    pub fn strength(value: f64, thresholds: [f64; 3]) -> i8 {
        let passed = thresholds.iter().filter(|&&threshold| value.abs() > threshold).count();
        let strength = i8::try_from(passed).unwrap_or(3);
        if value < 0.0 { -strength } else { strength }
    }

    /// What is known of one token, in a line.
    pub fn describe(record: &TokenRecord, position: usize) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn covariances_are_coloured_by_how_many_exceed_them() {
        let covariance: Vec<f64> = (1..=100).map(|size| f64::from(size) * -0.01).collect();
        let record = TokenRecord { covariance, ..TokenRecord::default() };
        let sample = ViewedSample { tokens: Some(record), ..ViewedSample::default() };
        let thresholds = Measure::Covariance.thresholds(&[sample]);
        assert_eq!(thresholds, [0.5, 0.9, 0.98]);
        let strengths = [-0.5, -0.51, 0.95, 0.99].map(|value| Measure::strength(value, thresholds));
        assert_eq!(strengths, [0, -1, 2, 3]);
        assert_eq!(Measure::strength(9.0, Measure::Covariance.thresholds(&[])), 0);
    }
}
