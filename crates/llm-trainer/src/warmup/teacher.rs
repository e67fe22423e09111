//! The teacher of the warm-up: writes answers to sums and differences in several styles, with honest slips.
//!
//! Its styles and slips are what the warmed-up model imitates, so the model starts with entropy to lose: in the way
//! it begins, in whether it works the answer out, and in the digits it is unsure of.

use rand::Rng;
use rand::seq::IndexedRandom;
use serde::{Deserialize, Serialize};

/// Ways to begin that have no bearing on the answer.
const OPENINGS: [&str; 6] = ["", "", "So ", "Well, ", "I see. ", "Hm, "];

/// How the teacher answers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Teacher {
    /// Share of answers that show the intermediate results, `0..=1`.
    pub worked_fraction: f64,
    /// Share of slips among answers given directly, `0..=1`.
    pub direct_slip_fraction: f64,
    /// Share of slips among worked answers, `0..=1`.
    pub worked_slip_fraction: f64,
}

/// A sum (`right` positive) or difference of two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sum {
    /// First operand.
    pub left: i64,
    /// Second operand, its sign the operation.
    pub right: i64,
}

impl Sum {
    /// Reads the first `a + b` or `a - b` of a text, spaces or none.
    pub fn find(text: &str) -> Option<Self> {
        let mut numbers =
            text.split(|c: char| !c.is_ascii_digit() && c != '+' && c != '-').collect::<String>();
        let operator = numbers.find(['+', '-'])?;
        let right = numbers.split_off(operator);
        Some(Self { left: numbers.parse().ok()?, right: right.parse().ok()? })
    }

    fn value(self) -> i64 {
        self.left + self.right
    }
}

impl Teacher {
    /// An answer to `sum`, ending in `#### value`.
    ///
    /// # Panics
    ///
    /// If a fraction is not within `0..=1`.
    pub fn answer(&self, sum: Sum, rng: &mut impl Rng) -> String {
        let opening = OPENINGS.choose(rng).expect("a constant list that is not empty");
        if rng.random_bool(self.worked_fraction) {
            format!("{opening}{}", self.worked(sum, rng))
        } else {
            let value = slip(sum.value(), self.direct_slip_fraction, rng);
            format!("{opening}#### {value}")
        }
    }

    /// Tens first, then ones, then both together.
    fn worked(&self, sum: Sum, rng: &mut impl Rng) -> String {
        let Sum { left, right } = sum;
        let (tens, ones) = (left - left % 10, left % 10);
        let (right_tens, right_ones) = (right - right % 10, right % 10);
        let tens_together = tens + right_tens;
        let ones_together = slip(ones + right_ones, self.worked_slip_fraction, rng);
        let value = tens_together + ones_together;
        format!(
            "{tens}{right_tens:+}={tens_together}, {ones}{right_ones:+}={ones_together}, \
             {tens_together}{ones_together:+}={value} #### {value}"
        )
    }
}

/// `value`, or with the given probability one of the near misses people make.
fn slip(value: i64, fraction: f64, rng: &mut impl Rng) -> i64 {
    const MISSES: [i64; 4] = [-10, -1, 1, 10];
    if rng.random_bool(fraction) {
        value + MISSES.choose(rng).expect("a constant list that is not empty")
    } else {
        value
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;

    #[test]
    fn sums_are_read_however_they_are_written() {
        assert_eq!(Sum::find("What is 47 + 38?"), Some(Sum { left: 47, right: 38 }));
        assert_eq!(Sum::find("47-38="), Some(Sum { left: 47, right: -38 }));
        assert_eq!(Sum::find("no numbers"), None);
        assert_eq!(Sum::find("7 apples"), None);
    }

    #[test]
    fn a_teacher_that_never_slips_is_right_and_shows_its_work() {
        let teacher =
            Teacher { worked_fraction: 1.0, direct_slip_fraction: 0.0, worked_slip_fraction: 0.0 };
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for (left, right) in [(47, 38), (47, -38), (5, 60), (13, -90)] {
            let answer = teacher.answer(Sum { left, right }, &mut rng);
            assert!(answer.ends_with(&format!("#### {}", left + right)), "{answer}");
        }
        let answer = teacher.worked(Sum { left: 47, right: -38 }, &mut rng);
        assert_eq!(answer, "40-30=10, 7-8=-1, 10-1=9 #### 9");
    }

    #[test]
    fn slips_occur_as_often_as_asked() {
        let teacher =
            Teacher { worked_fraction: 0.0, direct_slip_fraction: 0.3, worked_slip_fraction: 0.0 };
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let right = (0..4000)
            .filter(|_| teacher.answer(Sum { left: 20, right: 22 }, &mut rng).ends_with("#### 42"))
            .count();
        // Binomial(4000, 0.7): five standard deviations are 145.
        assert!((2655..=2945).contains(&right), "{right}");
    }
}
