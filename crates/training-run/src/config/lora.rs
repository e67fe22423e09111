//! `[lora]`: train low-rank corrections of the projections and leave the model itself as it is.

use serde::{Deserialize, Serialize};

use messages::Problem;

/// A projection of a block, under its name in a Hugging Face checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoraTarget {
    /// Queries of attention.
    QProj,
    /// Keys.
    KProj,
    /// Values.
    VProj,
    /// Output of attention.
    OProj,
    /// Gate of the MLP.
    GateProj,
    /// Its upward projection.
    UpProj,
    /// Its downward projection.
    DownProj,
}

impl LoraTarget {
    /// Every projection of a block.
    pub const ALL: [Self; 7] = [
        Self::QProj,
        Self::KProj,
        Self::VProj,
        Self::OProj,
        Self::GateProj,
        Self::UpProj,
        Self::DownProj,
    ];

    /// The name in a checkpoint and in a configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::QProj => "q_proj",
            Self::KProj => "k_proj",
            Self::VProj => "v_proj",
            Self::OProj => "o_proj",
            Self::GateProj => "gate_proj",
            Self::UpProj => "up_proj",
            Self::DownProj => "down_proj",
        }
    }

    /// The projection of that name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|target| target.name() == name)
    }
}

/// `[lora]`: `W x + (alpha / rank) · B A x` in place of `W x`, where only `A` and `B` are trained.
///
/// There is no dropout: the policy that is trained is the one that sampled.
///
/// Source: Hu et al. 2021, *LoRA*, [arXiv:2106.09685](https://arxiv.org/abs/2106.09685).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LoraSection {
    /// Rows of `A` and columns of `B`.
    pub rank: usize,
    /// Weight of the correction, times the rank.
    pub alpha: f64,
    /// Which projections are corrected.
    pub targets: Vec<LoraTarget>,
}

impl Default for LoraSection {
    fn default() -> Self {
        Self { rank: 32, alpha: 32.0, targets: LoraTarget::ALL.to_vec() }
    }
}

impl LoraSection {
    /// What the correction is multiplied by: `alpha / rank`.
    pub fn scale(&self) -> f64 {
        self.alpha / self.rank as f64
    }

    /// What is out of range, all of it.
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut require = |good: bool, field: &str, value: String, expected: &str| {
            if !good {
                let field = format!("lora.{field}");
                problems.push(Problem { field, value, expected: expected.to_owned() });
            }
        };
        require(self.rank > 0, "rank", self.rank.to_string(), "at least 1");
        let good = self.alpha.is_finite() && self.alpha > 0.0;
        require(good, "alpha", format!("{:?}", self.alpha), "a finite number above 0");
        let mut distinct = self.targets.clone();
        distinct.sort_unstable();
        distinct.dedup();
        let good = !distinct.is_empty() && distinct.len() == self.targets.len();
        let names: Vec<&str> = self.targets.iter().map(|target| target.name()).collect();
        require(good, "targets", format!("{names:?}"), "one projection or more, each once");
        problems
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_out_of_range_is_named() {
        assert!(LoraSection::default().problems().is_empty());
        let twice = vec![LoraTarget::QProj, LoraTarget::QProj];
        let wrong = LoraSection { rank: 0, alpha: f64::NAN, targets: twice };
        let said: Vec<String> = wrong.problems().iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            [
                "`lora.rank` is 0, expected at least 1",
                "`lora.alpha` is NaN, expected a finite number above 0",
                "`lora.targets` is [\"q_proj\", \"q_proj\"], expected one projection or more, each once"
            ]
        );
    }

    #[test]
    fn names_are_those_of_the_configuration() {
        for target in LoraTarget::ALL {
            let written = serde_json::to_value(target).unwrap();
            assert_eq!(written, target.name());
            assert_eq!(LoraTarget::of_name(target.name()), Some(target));
        }
        assert_eq!(LoraTarget::of_name("lm_head"), None);
    }
}
