//! Conversion of a verdict to the reward for training.

use serde::{Deserialize, Serialize};

use crate::verdict::Verdict;

/// Reward of each verdict, in reward units.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Reward {
    /// Reward of a correct answer; above `wrong`.
    pub right: f64,
    /// Reward of a wrong answer.
    pub wrong: f64,
    /// Reward if no answer could be read.
    pub unparsed: f64,
}

impl Default for Reward {
    fn default() -> Self {
        Self { right: 1.0, wrong: 0.0, unparsed: 0.0 }
    }
}

impl Reward {
    /// Returns the reward of this verdict.
    pub fn of(&self, verdict: &Verdict) -> f64 {
        match verdict {
            Verdict::Right { .. } => self.right,
            Verdict::Wrong { .. } => self.wrong,
            Verdict::Unparsed { .. } => self.unparsed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Reward;
    use crate::verdict::{ParseError, Rung, Side, Verdict};

    #[test]
    fn each_verdict_has_its_own_reward() {
        let reward = Reward { right: 1.0, wrong: -1.0, unparsed: -0.5 };
        let unparsed = Verdict::Unparsed { which: Side::Response, why: ParseError::NoAnswer };
        let reward_bits = |verdict| reward.of(&verdict).to_bits();
        assert_eq!(reward_bits(Verdict::decided(true, Rung::Number)), 1.0_f64.to_bits());
        assert_eq!(reward_bits(Verdict::decided(false, Rung::Number)), (-1.0_f64).to_bits());
        assert_eq!(reward_bits(unparsed), (-0.5_f64).to_bits());
    }

    #[test]
    fn defaults_are_one_and_zero_and_unknown_keys_are_refused() {
        assert_eq!(serde_json::from_str::<Reward>("{}").unwrap(), Reward::default());
        let error = serde_json::from_str::<Reward>(r#"{"rigth": 2}"#).unwrap_err();
        assert!(error.to_string().contains("rigth"), "{error}");
    }
}
