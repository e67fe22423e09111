//! Softmax, log-softmax, log-sum-exp and entropy of one row of logits.
//!
//! Rows are `[actions]`, natural-log scale; `-∞` marks an impossible action. Every function checks its
//! row, needs no memory of its own, and gives what [`Categorical`](crate::Categorical) gives, to rounding.
//!
//! ```
//! use entropy_core::kernel::row;
//!
//! let mut probs = [0.0; 3];
//! row::softmax_into(&[0.0, f64::NEG_INFINITY, 0.0], &mut probs)?;
//! assert_eq!(probs, [0.5, 0.0, 0.5]);
//! # Ok::<(), entropy_core::LogitsError>(())
//! ```

#![expect(clippy::inline_always, reason = "inlined, the code takes on its caller's instructions")]

use super::InstructionSet;
use super::exp::exp_lanes;
use super::lanes::{LANES, Lanes};
use crate::LogitsError;
use crate::categorical::mode_of;
use pulp::NullaryFnOnce;

/// The first action with the largest logit, after checking all of them.
///
/// # Errors
///
/// [`LogitsError`] if `logits` is empty, holds NaN or `+∞`, or is all `-∞`.
pub fn mode(logits: &[f64]) -> Result<usize, LogitsError> {
    mode_on(InstructionSet::widest(), logits)
}

/// Entropy `H = -Σ π log π` of the softmax of `logits`, in nats.
///
/// # Errors
///
/// [`LogitsError`] if `logits` is empty, holds NaN or `+∞`, or is all `-∞`.
pub fn entropy(logits: &[f64]) -> Result<f64, LogitsError> {
    on(InstructionSet::widest(), logits, None).map(OddsSums::entropy)
}

/// `log Σ e^z` over `logits`, in nats.
///
/// # Errors
///
/// [`LogitsError`] if `logits` is empty, holds NaN or `+∞`, or is all `-∞`.
pub fn log_sum_exp(logits: &[f64]) -> Result<f64, LogitsError> {
    let sums = on(InstructionSet::widest(), logits, None)?;
    Ok(sums.anchor + sums.others.ln_1p())
}

/// Writes the softmax of `logits` to `probs`, both `[actions]`; returns its entropy, in nats.
///
/// # Errors
///
/// [`LogitsError`] if `logits` is empty, holds NaN or `+∞`, or is all `-∞`; `probs` is then unchanged.
///
/// # Panics
///
/// If the two differ in length.
pub fn softmax_into(logits: &[f64], probs: &mut [f64]) -> Result<f64, LogitsError> {
    assert_eq!(logits.len(), probs.len(), "one probability per logit");
    on(InstructionSet::widest(), logits, Some(probs)).map(OddsSums::entropy)
}

/// Sums over a row relative to its largest logit, which is itself left out of `others`: with gaps
/// `y = z - z_mode`, so that no digit of a peaked policy's entropy is lost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct OddsSums {
    /// The largest logit.
    pub(super) anchor: f64,
    /// `Σ_{a≠mode} e^y`.
    pub(super) others: f64,
    /// `Σ y e^y`, at most 0.
    pub(super) weighted_gaps: f64,
}

impl OddsSums {
    /// `Σ e^y`, the mode included: the reciprocal of its probability.
    pub(super) fn total(self) -> f64 {
        1.0 + self.others
    }

    /// `E_π y`, at most 0.
    pub(super) fn mean_gap(self) -> f64 {
        self.weighted_gaps / self.total()
    }

    /// Entropy in nats: `log Σ e^y - E_π y`, both terms non-negative.
    pub(super) fn entropy(self) -> f64 {
        self.others.ln_1p() - self.mean_gap()
    }
}

/// Accumulator of [`OddsSums`], a block of lanes at a time, from the first on.
pub(super) struct OddsAccumulator {
    anchor: Lanes,
    /// The actions of the next block, and the mode; `f64`, to be compared as fast as all else.
    actions: Lanes,
    mode: Lanes,
    others: Lanes,
    weighted_gaps: Lanes,
}

impl OddsAccumulator {
    #[inline(always)]
    pub(super) fn new(logits: &[f64], mode: usize) -> Self {
        let zero = Lanes::splat(0.0);
        Self {
            anchor: Lanes::splat(logits[mode]),
            actions: Lanes(std::array::from_fn(|lane| lane as f64)),
            mode: Lanes::splat(mode as f64),
            others: zero,
            weighted_gaps: zero,
        }
    }

    /// Adds the next block of logits; returns their odds `e^y`.
    #[inline(always)]
    pub(super) fn add(&mut self, logits: Lanes) -> Lanes {
        let gap = logits.minus(self.anchor).floored();
        let odds = exp_lanes(gap);
        self.others = self.others.plus(odds.except(self.actions, self.mode));
        self.actions = self.actions.plus(Lanes::splat(LANES as f64));
        self.weighted_gaps = odds.fused(gap, self.weighted_gaps);
        odds
    }

    #[inline(always)]
    pub(super) fn finish(&self) -> OddsSums {
        OddsSums {
            anchor: self.anchor.0[0],
            others: self.others.sum(),
            weighted_gaps: self.weighted_gaps.sum(),
        }
    }
}

fn on(
    set: InstructionSet,
    logits: &[f64],
    probs: Option<&mut [f64]>,
) -> Result<OddsSums, LogitsError> {
    let mode = mode_on(set, logits)?;
    Ok(set.run(Normalise { logits, mode, probs }))
}

fn mode_on(set: InstructionSet, logits: &[f64]) -> Result<usize, LogitsError> {
    // The careful search names what is wrong.
    set.run(Mode { logits }).map_or_else(|| mode_of(logits), Ok)
}

/// The first largest logit, or none if something is wrong with the row.
struct Mode<'a> {
    logits: &'a [f64],
}

impl NullaryFnOnce for Mode<'_> {
    type Output = Option<usize>;

    #[inline(always)]
    fn call(self) -> Option<usize> {
        let (blocks, rest) = self.logits.as_chunks::<LANES>();
        let mut largest = [Lanes::splat(f64::NEG_INFINITY); 2];
        let mut orderly = [true; LANES];
        for (index, block) in blocks.iter().enumerate() {
            // Two chains of comparisons: one would wait for its own results.
            largest[index % 2] = Lanes(*block).max(largest[index % 2]);
            for (orderly, logit) in orderly.iter_mut().zip(block) {
                *orderly &= *logit < f64::INFINITY;
            }
        }
        let tail = Lanes::padded(rest, f64::NEG_INFINITY);
        let orderly = orderly.iter().all(|lane| *lane) && tail.0.iter().all(|z| *z < f64::INFINITY);
        let anchor = largest[0].max(largest[1]).max(tail).largest();
        if orderly && anchor > f64::NEG_INFINITY { position(self.logits, anchor) } else { None }
    }
}

/// Returns the first position of `value` in the row.
#[inline(always)]
pub(super) fn position(row: &[f64], value: f64) -> Option<usize> {
    let (blocks, _) = row.as_chunks::<LANES>();
    let holds = |block: &[f64; LANES]| {
        block.iter().fold(false, |found, x| found | (x.to_bits() == value.to_bits()))
    };
    let start = LANES * blocks.iter().position(holds).unwrap_or(blocks.len());
    // Zeros of either sign are equal but not the same bits; the second search finds them.
    let within = |from: usize| row[from..].iter().position(|x| *x >= value).map(|at| from + at);
    if value == 0.0 { within(0) } else { within(start) }
}

struct Normalise<'a> {
    logits: &'a [f64],
    mode: usize,
    /// Receives the probabilities.
    probs: Option<&'a mut [f64]>,
}

impl NullaryFnOnce for Normalise<'_> {
    type Output = OddsSums;

    #[inline(always)]
    fn call(self) -> OddsSums {
        let Self { logits, mode, probs } = self;
        let mut accumulator = OddsAccumulator::new(logits, mode);
        let (blocks, rest) = logits.as_chunks::<LANES>();
        let tail = Lanes::padded(rest, f64::NEG_INFINITY);
        match probs {
            None => {
                for block in blocks {
                    accumulator.add(Lanes(*block));
                }
                accumulator.add(tail);
                accumulator.finish()
            }
            Some(probs) => {
                let (prob_blocks, prob_rest) = probs.as_chunks_mut::<LANES>();
                for (block, odds) in blocks.iter().zip(prob_blocks) {
                    *odds = accumulator.add(Lanes(*block)).0;
                }
                let odds = accumulator.add(tail);
                prob_rest.copy_from_slice(&odds.0[..rest.len()]);
                let sums = accumulator.finish();
                for prob in probs {
                    *prob /= sums.total();
                }
                sums
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lengths around the block, a mode in every place of it, impossible actions, odds down to the smallest numbers.
    fn rows() -> Vec<Vec<f64>> {
        let logit = |a: usize, n: usize| match (a * 7919 + n) % 23 {
            0 => f64::NEG_INFINITY,
            k => (k as f64 - 11.0) * (n as f64).sqrt() + (a as f64).sin(),
        };
        let mut rows: Vec<Vec<f64>> = [1, 2, 5, 7, 8, 9, 15, 16, 17, 24, 37, 100, 1003]
            .map(|n| (0..n).map(|a| if n == 1 { 3.0 } else { logit(a, n) }).collect())
            .into();
        rows.extend(
            (0..19).map(|mode| {
                (0..19).map(|a| if a == mode { 40.0 } else { -f64::from(a) }).collect()
            }),
        );
        rows.push((0..400).map(|a| -1.87 * f64::from(a)).collect());
        rows
    }

    #[test]
    fn every_instruction_set_gives_the_same_bits() {
        for row in rows() {
            let mut seen: Option<(usize, OddsSums, Vec<u64>)> = None;
            for set in InstructionSet::available() {
                let mut probs = vec![0.0; row.len()];
                let mode = mode_on(set, &row).unwrap();
                let sums = on(set, &row, Some(&mut probs)).unwrap();
                let bits = probs.iter().map(|p| p.to_bits()).collect();
                let actual = (mode, sums, bits);
                assert_eq!(*seen.get_or_insert_with(|| actual.clone()), actual, "{set} of {row:?}");
            }
        }
    }

    #[test]
    fn the_mode_is_the_first_of_the_largest() {
        let mut ties = vec![-1.0; 40];
        (ties[11], ties[30]) = (0.0, -0.0);
        assert_eq!(mode(&ties), Ok(11));
        (ties[11], ties[30]) = (-0.0, 0.0);
        assert_eq!(mode(&ties), Ok(11));
    }

    #[test]
    fn a_bad_row_is_refused_as_the_reference_refuses_it() {
        for position in [0, 7, 8, 16, 18] {
            for bad in [f64::NAN, f64::INFINITY] {
                let mut row = vec![0.5; 19];
                row[position] = bad;
                let message = entropy(&row).unwrap_err().to_string();
                assert_eq!(
                    message,
                    format!("logit {position} is {bad}; logits must be finite or -inf")
                );
            }
        }
        assert_eq!(entropy(&[]), Err(LogitsError::Empty));
        assert_eq!(
            log_sum_exp(&[f64::NEG_INFINITY; 9]),
            Err(LogitsError::NoSupport { actions: 9 })
        );
    }
}
