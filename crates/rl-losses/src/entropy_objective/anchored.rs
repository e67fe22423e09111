//! SIREN: holds the mean entropy of uncertain tokens at an anchor.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::{
    ColumnError, ParameterError,
    column::{check_columns, check_length},
    parameter::{check_not_negative, check_unit},
    settings::{Settings, checked_when_read},
};

/// Settings of the anchored entropy penalty.
///
/// Default: as published, tokens above the 0.8 quantile of entropy, coefficient 5e-3.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", default, deny_unknown_fields)]
pub struct AnchoredEntropy {
    /// Only tokens whose entropy is at this quantile of the batch or above, `0..=1`.
    pub quantile: f64,
    /// Weight of the squared distance to the anchor, per nat², 0 or above.
    pub coefficient: f64,
}

impl Default for AnchoredEntropy {
    fn default() -> Self {
        Self { quantile: 0.8, coefficient: 5e-3 }
    }
}

impl Settings for AnchoredEntropy {
    fn check(&self) -> Result<(), ParameterError> {
        check_unit("quantile", self.quantile)?;
        check_not_negative("coefficient", self.coefficient).map(drop)
    }
}

checked_when_read!(AnchoredEntropy);

/// Tokens whose entropy is at least that of the token at `quantile` of the batch, `[tokens]`.
///
/// `0` marks all, `1` those at the maximum. The whole mini-batch sets the threshold: pass all of it.
///
/// # Errors
///
/// [`ColumnError`] if an entropy is not finite or `quantile` is outside `0..=1`.
pub fn uncertain_tokens(entropy: &[f64], quantile: f64) -> Result<Vec<bool>, ColumnError> {
    check_unit("quantile", quantile)?;
    check_columns(&[("entropy", entropy)])?;
    let Some(last) = entropy.len().checked_sub(1) else { return Ok(Vec::new()) };
    let mut entropies = entropy.to_vec();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a level within 0..=1 times the last index is an index"
    )]
    let rank = ((quantile * last as f64).ceil() as usize).min(last);
    let (_, threshold, _) = entropies.select_nth_unstable_by(rank, f64::total_cmp);
    Ok(entropy.iter().map(|entropy| entropy >= threshold).collect())
}

/// Additive statistics of the marked tokens: add every part and rank, then divide.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct EntropySums {
    /// Tokens marked.
    pub tokens: usize,
    /// Sum of their entropies, in nats.
    pub entropy: f64,
}

impl EntropySums {
    /// Sums over the tokens that `marked` holds true for.
    ///
    /// # Errors
    ///
    /// [`ColumnError`] if the columns, both `[tokens]`, differ in length or an entropy is not
    /// finite.
    pub fn of(entropy: &[f64], marked: &[bool]) -> Result<Self, ColumnError> {
        check_columns(&[("entropy", entropy)])?;
        check_length("marked", marked.len(), "entropy", entropy.len())?;
        let mut sums = Self::default();
        for (entropy, _) in std::iter::zip(entropy, marked).filter(|(_, marked)| **marked) {
            sums += Self { tokens: 1, entropy: *entropy };
        }
        Ok(sums)
    }

    /// Mean entropy, in nats; NaN of no tokens.
    pub fn mean(&self) -> f64 {
        self.entropy / self.tokens as f64
    }
}

impl AddAssign for EntropySums {
    fn add_assign(&mut self, other: Self) {
        self.tokens += other.tokens;
        self.entropy += other.entropy;
    }
}

/// The penalty of a batch: one value, and one slope for every marked token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AnchoredEntropyTerm {
    /// `coefficient · (mean H - anchor)²`, to be added to a loss once.
    pub value: f64,
    /// `∂value/∂H_t` of each marked token; 0 for the others.
    pub slope: f64,
}

impl AnchoredEntropy {
    /// Penalty for the mean entropy of the marked tokens being away from `anchor` (nats; in SIREN
    /// its value in the first step).
    ///
    /// `sums` are those of the whole mini-batch, added over parts and ranks. Of no tokens the penalty
    /// is 0.
    ///
    /// Source: SIREN, [arXiv:2509.25133](https://arxiv.org/abs/2509.25133). There the entropy is
    /// that of the nucleus, [`restricted_entropy`](crate::restricted_entropy).
    ///
    /// # Errors
    ///
    /// [`ColumnError`] if the anchor is negative or a setting is out of its range.
    pub fn term(
        &self,
        sums: &EntropySums,
        anchor: f64,
    ) -> Result<AnchoredEntropyTerm, ColumnError> {
        self.check()?;
        check_not_negative("anchor", anchor)?;
        if sums.tokens == 0 {
            return Ok(AnchoredEntropyTerm { value: 0.0, slope: 0.0 });
        }
        let distance = sums.mean() - anchor;
        Ok(AnchoredEntropyTerm {
            value: self.coefficient * distance * distance,
            slope: 2.0 * self.coefficient * distance / sums.tokens as f64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quantile_marks_the_uncertain_share() {
        let entropy: Vec<f64> = (0..11).map(f64::from).collect();
        let count = |quantile: f64| {
            uncertain_tokens(&entropy, quantile).unwrap().iter().filter(|&&mark| mark).count()
        };
        assert_eq!([0.0, 0.8, 1.0].map(count), [11, 3, 1]);
        assert!(uncertain_tokens(&[], 0.5).unwrap().is_empty());
        assert_eq!(uncertain_tokens(&[1.0; 3], 1.0).unwrap(), [true; 3]);
    }

    #[test]
    fn the_slope_is_the_derivative_of_the_value() {
        let (settings, marked) = (AnchoredEntropy::default(), [true, false, true]);
        let at = |first: f64| {
            let sums = EntropySums::of(&[first, 9.0, 0.5], &marked).unwrap();
            settings.term(&sums, 0.4).unwrap()
        };
        let slope = (at(0.7 + 1e-5).value - at(0.7 - 1e-5).value) / 2e-5;
        assert!((at(0.7).slope - slope).abs() < 1e-12);
        assert!((at(0.3).value).abs() < 1e-18, "at the anchor");
    }

    #[test]
    fn parts_add_up_and_nothing_costs_nothing() {
        let mut sums = EntropySums::of(&[1.0, 2.0], &[true, false]).unwrap();
        sums += EntropySums::of(&[3.0], &[true]).unwrap();
        assert_eq!(sums, EntropySums::of(&[1.0, 2.0, 3.0], &[true, false, true]).unwrap());
        let none = AnchoredEntropy::default().term(&EntropySums::default(), 0.4).unwrap();
        assert_eq!(none, AnchoredEntropyTerm { value: 0.0, slope: 0.0 });
    }
}
