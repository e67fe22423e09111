//! Teachers of the warm-up: each writes answers to arithmetic questions, which the warmed-up model imitates.

use messages::Problem;
use rand::Rng;
use rand::distr::Distribution;
use rand::distr::weighted::WeightedIndex;
use rand::seq::IndexedRandom;
use serde::{Deserialize, Serialize};

/// Ways to begin that have no bearing on the answer.
const OPENINGS: [&str; 6] = ["", "", "So ", "Well, ", "I see. ", "Hm, "];

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Teacher {
    /// Sums and differences in several styles, with honest slips. The model starts with entropy to lose: in the way it begins, in
    /// whether it works the answer out, and in the digits it is unsure of.
    Styles(Styles),
    /// Guesses the operation of a question, without looking at it. The model starts with a habit, whose commonest answer is right most
    /// often: a reward that rises while the other answers are forgotten.
    Guess {
        /// Share of each answer, in the order of the task's different operations; they sum to 1.
        shares: Vec<f64>,
    },
}

/// Shares of the ways in which sums are answered.
#[expect(clippy::struct_field_names, reason = "the names in the file")]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Styles {
    /// Share of answers that show the intermediate results, `0..=1`.
    worked_fraction: f64,
    /// Share of slips among answers given directly, `0..=1`.
    direct_slip_fraction: f64,
    /// Share of slips among worked answers, `0..=1`.
    worked_slip_fraction: f64,
}

/// A sum (`right` positive) or difference of two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sum {
    pub(crate) left: i64,
    /// Second operand, its sign the operation.
    pub(crate) right: i64,
}

impl Sum {
    /// Reads the first `a + b` or `a - b` of a text, spaces or none.
    pub(crate) fn find(text: &str) -> Option<Self> {
        let mut numbers =
            text.split(|c: char| !c.is_ascii_digit() && c != '+' && c != '-').collect::<String>();
        let operator = numbers.find(['+', '-'])?;
        let right = numbers.split_off(operator);
        Some(Self { left: numbers.parse().ok()?, right: right.parse().ok()? })
    }
}

impl Teacher {
    /// Returns the first invalid setting, if there is one.
    pub(super) fn problem(&self) -> Option<Problem> {
        let (fields, total): (Vec<(&str, f64)>, f64) = match self {
            Self::Styles(styles) => {
                let fields = [
                    ("teacher.styles.worked_fraction", styles.worked_fraction),
                    ("teacher.styles.direct_slip_fraction", styles.direct_slip_fraction),
                    ("teacher.styles.worked_slip_fraction", styles.worked_slip_fraction),
                ];
                (fields.to_vec(), 1.0)
            }
            Self::Guess { shares } => (
                shares.iter().map(|&share| ("teacher.guess.shares", share)).collect(),
                shares.iter().sum(),
            ),
        };
        let wrong = fields.into_iter().find(|(_, share)| !(0.0..=1.0).contains(share));
        let (field, value, expected) = match wrong {
            Some((field, share)) => (field, share, "a fraction from 0 to 1"),
            None if (total - 1.0).abs() > 1e-9 => ("teacher.guess.shares", total, "a sum of 1"),
            None => return None,
        };
        Some(Problem {
            field: field.to_owned(),
            value: value.to_string(),
            expected: expected.to_owned(),
        })
    }

    /// Returns an answer to `question`, or nothing if it is not of the kind that the teacher answers.
    pub(crate) fn answer(&self, question: &str, rng: &mut impl Rng) -> Option<String> {
        match self {
            Self::Styles(styles) => Some(styles.answer(Sum::find(question)?, rng)),
            Self::Guess { shares } => {
                question.contains('?').then_some(())?;
                let index = WeightedIndex::new(shares).expect("shares were checked").sample(rng);
                Some((index + 1).to_string())
            }
        }
    }
}

impl Styles {
    /// Returns an answer to `sum`, ending in `#### value`.
    fn answer(self, sum: Sum, rng: &mut impl Rng) -> String {
        let opening = OPENINGS.choose(rng).expect("a constant list that is not empty");
        if rng.random_bool(self.worked_fraction) {
            format!("{opening}{}", self.worked(sum, rng))
        } else {
            let value = slip(sum.left + sum.right, self.direct_slip_fraction, rng);
            format!("{opening}#### {value}")
        }
    }

    /// Tens first, then ones, then both together.
    fn worked(self, sum: Sum, rng: &mut impl Rng) -> String {
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
            Styles { worked_fraction: 1.0, direct_slip_fraction: 0.0, worked_slip_fraction: 0.0 };
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
            Styles { worked_fraction: 0.0, direct_slip_fraction: 0.3, worked_slip_fraction: 0.0 };
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let right = (0..4000)
            .filter(|_| teacher.answer(Sum { left: 20, right: 22 }, &mut rng).ends_with("#### 42"))
            .count();
        // Binomial(4000, 0.7): five standard deviations are 145.
        assert!((2655..=2945).contains(&right), "{right}");
    }
    #[test]
    fn operations_are_guessed_in_their_shares_whatever_the_question() {
        let teacher = Teacher::Guess { shares: vec![0.6, 0.25, 0.15] };
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let mut counts = [0_usize; 3];
        for _ in 0..4000 {
            let answer = teacher.answer("20?3=17: ", &mut rng).expect("a question for it");
            let place: usize = answer.parse().unwrap();
            counts[place - 1] += 1;
        }
        // Binomial(4000, share): five standard deviations are at most 155.
        for (count, mean) in counts.into_iter().zip([2400, 1000, 600]) {
            assert!(count.abs_diff(mean) <= 155, "{counts:?}");
        }
        assert_eq!(teacher.answer("20+3=", &mut rng), None);
    }
}
