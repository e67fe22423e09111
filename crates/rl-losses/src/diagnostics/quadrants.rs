//! Tokens by the sign of their advantage and by whether they were likely.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::{ColumnError, column::check_columns};

/// What a log-probability must exceed to count as likely.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LikelyAbove<'a> {
    /// The mean log-probability of the mini-batch, in nats
    /// ([`EntropyChangeSums::mean_log_prob`](crate::EntropyChangeSums::mean_log_prob)).
    Mean(f64),
    /// What the token's own distribution expects, `-H_t`: entropies `[tokens]`, in nats.
    State(&'a [f64]),
}

/// What fell into one quadrant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct QuadrantCell {
    /// Number of tokens.
    pub tokens: usize,
    /// Sum of their advantages.
    pub advantage: f64,
    /// Sum of `(log π - threshold) · A`, in nat·reward: positive lowers entropy.
    pub covariance: f64,
}

/// Additive statistics by quadrant: add every part and rank, then divide.
///
/// | | likely | rare |
/// |---|---|---|
/// | **A > 0** | entropy falls | entropy rises |
/// | **A < 0** | entropy rises | entropy falls |
///
/// That is the reading of Theorem 2; Theorem 1 may differ in sign (`docs/theory.md#theorem-1`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct QuadrantSums {
    /// `A > 0`, likely.
    pub positive_likely: QuadrantCell,
    /// `A > 0`, rare.
    pub positive_rare: QuadrantCell,
    /// `A < 0`, likely.
    pub negative_likely: QuadrantCell,
    /// `A < 0`, rare.
    pub negative_rare: QuadrantCell,
    /// `A = 0`: no quadrant.
    pub neutral: QuadrantCell,
}

impl QuadrantSums {
    /// Sums over tokens. A log-probability at its threshold counts as likely.
    ///
    /// # Errors
    ///
    /// [`ColumnError`] if the columns, all `[tokens]`, differ in length or a value is not finite.
    pub fn of(
        log_prob: &[f64],
        advantage: &[f64],
        likely_above: LikelyAbove<'_>,
    ) -> Result<Self, ColumnError> {
        check_columns(&[("log_prob", log_prob), ("advantage", advantage)])?;
        match likely_above {
            LikelyAbove::Mean(mean) => check_columns(&[("mean_log_prob", &[mean])])?,
            LikelyAbove::State(entropy) => {
                check_columns(&[("log_prob", log_prob), ("entropy", entropy)])?;
            }
        }
        let mut sums = Self::default();
        for (token, (log_prob, &advantage)) in std::iter::zip(log_prob, advantage).enumerate() {
            let above = match likely_above {
                LikelyAbove::Mean(mean) => log_prob - mean,
                LikelyAbove::State(entropy) => log_prob + entropy[token],
            };
            *sums.cell_mut(advantage, above) +=
                QuadrantCell { tokens: 1, advantage, covariance: above * advantage };
        }
        Ok(sums)
    }

    /// Tokens of all quadrants, neutral ones included.
    pub fn tokens(&self) -> usize {
        self.cells().iter().map(|cell| cell.tokens).sum()
    }

    /// Mean over all tokens of the covariance of those in `cell`, one of this value's own: the four
    /// add up to the whole covariance. NaN of no tokens.
    pub fn share_of_covariance(&self, cell: QuadrantCell) -> f64 {
        cell.covariance / self.tokens() as f64
    }

    fn cells(&self) -> [QuadrantCell; 5] {
        let (positive, negative) = (
            [self.positive_likely, self.positive_rare],
            [self.negative_likely, self.negative_rare],
        );
        [positive[0], positive[1], negative[0], negative[1], self.neutral]
    }

    fn cell_mut(&mut self, advantage: f64, above: f64) -> &mut QuadrantCell {
        match (advantage, above >= 0.0) {
            (a, true) if a > 0.0 => &mut self.positive_likely,
            (a, false) if a > 0.0 => &mut self.positive_rare,
            (a, true) if a < 0.0 => &mut self.negative_likely,
            (a, false) if a < 0.0 => &mut self.negative_rare,
            _ => &mut self.neutral,
        }
    }
}

impl AddAssign for QuadrantCell {
    fn add_assign(&mut self, other: Self) {
        self.tokens += other.tokens;
        self.advantage += other.advantage;
        self.covariance += other.covariance;
    }
}

impl AddAssign for QuadrantSums {
    fn add_assign(&mut self, other: Self) {
        self.positive_likely += other.positive_likely;
        self.positive_rare += other.positive_rare;
        self.negative_likely += other.negative_likely;
        self.negative_rare += other.negative_rare;
        self.neutral += other.neutral;
    }
}
