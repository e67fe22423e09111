//! Teachers of the warm-up: each writes answers to sums and differences, which the warmed-up model imitates.

use rand::Rng;
use rand::seq::IndexedRandom;
use serde::{Deserialize, Serialize};

/// Ways to begin that have no bearing on the answer.
const OPENINGS: [&str; 6] = ["", "", "So ", "Well, ", "I see. ", "Hm, "];

/// How the teacher answers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Teacher {
    /// In several styles, with honest slips. The model starts with entropy to lose: in the way it begins, in whether it works the
    /// answer out, and in the digits it is unsure of.
    Styles {
        /// Share of answers that show the intermediate results, `0..=1`.
        worked_fraction: f64,
        /// Share of slips among answers given directly, `0..=1`.
        direct_slip_fraction: f64,
        /// Share of slips among worked answers, `0..=1`.
        worked_slip_fraction: f64,
    },
    /// Sums digit by digit, seldom carrying, and not where it is due. The model starts sure of a habit that is right for sums without
    /// carries. To carry pays only where ten is reached, and costs elsewhere, until the model tells the two apart.
    Digits {
        /// Share of digits to which one is carried, whether or not the digits before them reach ten, `0..=1`.
        carry_fraction: f64,
    },
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
    /// The settings by name, each a fraction.
    pub(super) fn fractions(&self) -> Vec<(&'static str, f64)> {
        match *self {
            Self::Styles { worked_fraction, direct_slip_fraction, worked_slip_fraction } => vec![
                ("styles.worked_fraction", worked_fraction),
                ("styles.direct_slip_fraction", direct_slip_fraction),
                ("styles.worked_slip_fraction", worked_slip_fraction),
            ],
            Self::Digits { carry_fraction } => vec![("digits.carry_fraction", carry_fraction)],
        }
    }

    /// An answer to `sum`, ending in `#### value`.
    ///
    /// # Panics
    ///
    /// If a fraction is not within `0..=1`.
    pub fn answer(&self, sum: Sum, rng: &mut impl Rng) -> String {
        match *self {
            Self::Styles { worked_fraction, direct_slip_fraction, worked_slip_fraction } => {
                let opening = OPENINGS.choose(rng).expect("a constant list that is not empty");
                if rng.random_bool(worked_fraction) {
                    format!("{opening}{}", worked(sum, worked_slip_fraction, rng))
                } else {
                    let value = slip(sum.value(), direct_slip_fraction, rng);
                    format!("{opening}#### {value}")
                }
            }
            Self::Digits { carry_fraction } => {
                format!("#### {}", digit_by_digit(sum, carry_fraction, rng))
            }
        }
    }
}

/// Tens first, then ones, then both together.
fn worked(Sum { left, right }: Sum, slip_fraction: f64, rng: &mut impl Rng) -> String {
    let (tens, ones) = (left - left % 10, left % 10);
    let (right_tens, right_ones) = (right - right % 10, right % 10);
    let tens_together = tens + right_tens;
    let ones_together = slip(ones + right_ones, slip_fraction, rng);
    let value = tens_together + ones_together;
    format!(
        "{tens}{right_tens:+}={tens_together}, {ones}{right_ones:+}={ones_together}, \
         {tens_together}{ones_together:+}={value} #### {value}"
    )
}

/// The last digit of each pair's sum, the first pair's in full, with one carried by chance.
fn digit_by_digit(
    Sum { mut left, mut right }: Sum,
    carry_fraction: f64,
    rng: &mut impl Rng,
) -> i64 {
    let (mut value, mut place, mut carried) = (0, 1, 0);
    while left.max(right) >= 10 {
        value += (left % 10 + right % 10 + carried).rem_euclid(10) * place;
        carried = i64::from(rng.random_bool(carry_fraction));
        (left, right, place) = (left / 10, right / 10, place * 10);
    }
    value + (left + right + carried) * place
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

    fn styles(worked_fraction: f64, direct_slip_fraction: f64) -> Teacher {
        Teacher::Styles { worked_fraction, direct_slip_fraction, worked_slip_fraction: 0.0 }
    }

    #[test]
    fn a_teacher_that_never_slips_is_right_and_shows_its_work() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for (left, right) in [(47, 38), (47, -38), (5, 60), (13, -90)] {
            let answer = styles(1.0, 0.0).answer(Sum { left, right }, &mut rng);
            assert!(answer.ends_with(&format!("#### {}", left + right)), "{answer}");
        }
        let answer = worked(Sum { left: 47, right: -38 }, 0.0, &mut rng);
        assert_eq!(answer, "40-30=10, 7-8=-1, 10-1=9 #### 9");
    }

    /// Of 20,000 samples with probability `p`; five standard deviations of a binomial are allowed.
    fn assert_share(teacher: Teacher, sum: Sum, answer: &str, p: f64) {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let samples = 20_000;
        let count =
            (0..samples).filter(|_| teacher.answer(sum, &mut rng).ends_with(answer)).count();
        let share = count as f64 / f64::from(samples);
        let deviation = (p * (1.0 - p) / f64::from(samples)).sqrt();
        assert!((share - p).abs() <= 5.0 * deviation, "{answer}: {share}");
    }

    #[test]
    fn slips_occur_as_often_as_asked() {
        assert_share(styles(0.0, 0.3), Sum { left: 20, right: 22 }, "#### 42", 0.7);
    }

    #[test]
    fn one_is_carried_as_often_as_asked_whether_due_or_not() {
        let teacher = Teacher::Digits { carry_fraction: 0.25 };
        assert_share(teacher, Sum { left: 47, right: 38 }, "#### 75", 0.75);
        assert_share(teacher, Sum { left: 47, right: 38 }, "#### 85", 0.25);
        assert_share(teacher, Sum { left: 20, right: 22 }, "#### 52", 0.25);
        assert_share(teacher, Sum { left: 995, right: 7 }, "#### 992", 0.5625);
        assert_share(teacher, Sum { left: 995, right: 7 }, "#### 902", 0.1875);
        assert_share(teacher, Sum { left: 4, right: 9 }, "#### 13", 1.0);
    }
}
