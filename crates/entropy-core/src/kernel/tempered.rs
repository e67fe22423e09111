//! Entropy of one row at a temperature, and its derivative in that temperature.

#![expect(clippy::inline_always, reason = "inlined, the code takes on its caller's instructions")]

use super::InstructionSet;
use super::exp::exp_lanes;
use super::lanes::{LANES, Lanes};
use super::row::OddsSums;
use pulp::NullaryFnOnce;

/// Entropy of `softmax(z / T)`, in nats, with its derivative.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TemperedEntropy {
    /// `H(T)`.
    pub(crate) entropy: f64,
    /// `dH / d ln T = Var_π(log π)`, in nats, never negative.
    pub(crate) slope: f64,
}

/// Entropy and slope of a checked row whose largest logit stands at `mode`.
pub(crate) fn tempered(logits: &[f64], mode: usize, temperature: f64) -> TemperedEntropy {
    on(InstructionSet::widest(), logits, mode, temperature)
}

fn on(set: InstructionSet, logits: &[f64], mode: usize, temperature: f64) -> TemperedEntropy {
    let inverse = temperature.recip();
    set.run(Tempered { logits, mode, inverse })
}

struct Tempered<'a> {
    logits: &'a [f64],
    mode: usize,
    inverse: f64,
}

impl NullaryFnOnce for Tempered<'_> {
    type Output = TemperedEntropy;

    #[inline(always)]
    fn call(self) -> TemperedEntropy {
        let highest = self.logits[self.mode];
        let (anchor, inverse) = (Lanes::splat(highest), Lanes::splat(self.inverse));
        let mode = Lanes::splat(self.mode as f64);
        let mut actions = Lanes(std::array::from_fn(|lane| lane as f64));
        let mut sums = [Lanes::splat(0.0); 3];
        let mut add = |logits: Lanes| {
            let gap = logits.minus(anchor).times(inverse).floored();
            let odds = exp_lanes(gap);
            sums[0] = sums[0].plus(odds.except(actions, mode));
            actions = actions.plus(Lanes::splat(LANES as f64));
            let weighted = odds.times(gap);
            sums[1] = sums[1].plus(weighted);
            sums[2] = weighted.fused(gap, sums[2]);
        };
        let (blocks, rest) = self.logits.as_chunks::<LANES>();
        for block in blocks {
            add(Lanes(*block));
        }
        add(Lanes::padded(rest, f64::NEG_INFINITY));
        let [others, weighted_gaps, weighted_squares] = sums.map(Lanes::sum);
        let odds = OddsSums { anchor: highest, others, weighted_gaps };
        let mean = odds.mean_gap();
        let slope = (weighted_squares / odds.total() - mean * mean).max(0.0);
        TemperedEntropy { entropy: odds.entropy(), slope }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Categorical;

    fn row(actions: usize) -> Vec<f64> {
        let logit = |a: usize| if a % 13 == 5 { f64::NEG_INFINITY } else { (a as f64).sin() * 6.0 };
        (0..actions).map(logit).collect()
    }

    #[test]
    fn every_instruction_set_gives_the_same_bits() {
        for actions in [1, 7, 8, 9, 33, 1000] {
            let logits = row(actions);
            let mode = super::super::row::mode(&logits).unwrap();
            let results: Vec<TemperedEntropy> = InstructionSet::available()
                .into_iter()
                .map(|set| on(set, &logits, mode, 0.7))
                .collect();
            assert!(results.iter().all(|one| *one == results[0]), "{results:?}");
        }
    }

    #[test]
    fn entropy_and_slope_are_those_of_the_policy_at_the_temperature() {
        for actions in [1, 2, 9, 40] {
            for temperature in [0.05, 0.7, 1.0, 3.0, 50.0] {
                let logits = row(actions);
                let mode = super::super::row::mode(&logits).unwrap();
                let scaled: Vec<f64> = logits.iter().map(|logit| logit / temperature).collect();
                let policy = Categorical::from_logits(&scaled).unwrap();
                let gaps: Vec<f64> = policy.log_probs().iter().map(|&l| l.max(-1e6)).collect();
                let result = tempered(&logits, mode, temperature);
                assert!((result.entropy - policy.entropy()).abs() < 1e-13, "{result:?}");
                let variance = policy.covariance(&gaps, &gaps);
                assert!((result.slope - variance).abs() < 1e-12, "{result:?} {variance}");
            }
        }
    }
}
