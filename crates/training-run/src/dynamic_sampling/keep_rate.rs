//! Share of the sampled groups that are kept, and the prompts that a step needs by it.

use serde::{Deserialize, Serialize};

/// Sums over this step and those before it, each step weighing half of the next.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KeepRate {
    kept: f64,
    asked: f64,
}

impl KeepRate {
    pub(super) fn age(&mut self) {
        self.kept /= 2.0;
        self.asked /= 2.0;
    }

    pub(super) fn add(&mut self, kept: usize, asked: usize) {
        self.kept += kept as f64;
        self.asked += asked as f64;
    }

    /// Number of prompts of which `missing` are kept but for one deviation: `n p - √(n p (1 - p)) = missing`.
    pub(super) fn prompts_for(&self, missing: usize) -> usize {
        if self.asked <= 0.0 {
            return missing;
        }
        // At least half a group of all asked: none kept so far is no share of 0.
        let rate = self.kept.max(0.5) / self.asked.max(1.0);
        let (rate, wanted) = (rate.min(1.0), missing as f64);
        let deviation = (rate * (1.0 - rate)).sqrt();
        let root =
            (deviation + (deviation * deviation + 4.0 * rate * wanted).sqrt()) / (2.0 * rate);
        at_least(missing, root * root)
    }
}

/// The next integer, at least `count`; a rounding error adds none.
pub(super) fn at_least(count: usize, number: f64) -> usize {
    const HAIR: f64 = 1e-9;
    let number = (number - HAIR).ceil().max(count as f64);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at least `count`, and a float too large for an integer becomes its largest"
    )]
    let number = number as usize;
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prompts_leave_one_deviation_of_room() {
        let mut rate = KeepRate::default();
        assert_eq!(rate.prompts_for(7), 7, "nothing is known");
        rate.add(64, 64);
        assert_eq!(rate.prompts_for(7), 7, "all are kept");
        let mut half = KeepRate::default();
        half.add(32, 64);
        // 288 · 0.5 - √(288 · 0.25) = 135.5 and 289 · 0.5 - 8.5 = 136.
        assert_eq!(half.prompts_for(136), 289);
        let mut none = KeepRate::default();
        none.add(0, 10);
        assert!(none.prompts_for(1) > 20, "{}", none.prompts_for(1));
    }

    #[test]
    fn old_steps_are_forgotten() {
        let mut rate = KeepRate::default();
        rate.add(100, 100);
        for _ in 0..10 {
            rate.age();
            rate.add(10, 100);
        }
        assert!((rate.kept / rate.asked - 0.1).abs() < 1e-3);
    }
}
