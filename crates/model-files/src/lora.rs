//! `[lora]`: train low-rank corrections of the projections and leave the model itself as it is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use messages::Problem;

use crate::model_config::ExpertOptions;
use crate::section;

/// A projection of a block, under its name in a Hugging Face checkpoint.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
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
    /// Every projection of a block, in the order of [`name`](Self::name)'s list.
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
        ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"][self as usize]
    }

    /// The projection of that name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|target| target.name() == name)
    }
}

section! {
    /// `[lora]`: `W x + (alpha / rank) · B A x` in place of `W x`, where only `A` and `B` are trained.
    ///
    /// There is no dropout: the policy that is trained is the one that sampled.
    ///
    /// Source: Hu et al. 2021, *LoRA*, [arXiv:2106.09685](https://arxiv.org/abs/2106.09685).
    pub struct LoraSection {
        /// Rank of the two narrow matrices trained beside each projection; the model itself stays as it
        /// is. Checkpoints are PEFT adapters, which `llm-trainer merge` adds to the model. A reference
        /// policy costs no second copy; there is no dropout.
        #[schemars(range(min = 1, max = 65_536))]
        pub rank: usize = 32,
        /// Scale of the product, which is multiplied by `alpha / rank`.
        #[schemars(extend("exclusiveMinimum" = 0))]
        pub alpha: f64 = 32.0,
        /// Projections that have an adapter.
        pub targets: Vec<LoraTarget> = LoraTarget::ALL.to_vec(),
    }
}

impl LoraSection {
    /// Factor of the correction: `alpha / rank`.
    pub fn scale(&self) -> f64 {
        self.alpha / self.rank as f64
    }

    /// The targets, if they are none or one of them stands twice.
    pub fn problem(&self) -> Option<Problem> {
        let mut distinct = self.targets.clone();
        distinct.sort_unstable();
        distinct.dedup();
        if !distinct.is_empty() && distinct.len() == self.targets.len() {
            return None;
        }
        Some(self.fault_of_targets("one projection or more, each once"))
    }

    /// The targets, if the model has `experts` and one of the targets is a part of them: these take no adapter.
    pub fn problem_with(&self, experts: Option<&ExpertOptions>) -> Option<Problem> {
        use LoraTarget::{DownProj, GateProj, UpProj};
        let of_experts = |target: &LoraTarget| matches!(target, GateProj | UpProj | DownProj);
        let is_fault = experts.is_some() && self.targets.iter().any(of_experts);
        let expected = "q_proj, k_proj, v_proj or o_proj: experts take no adapter";
        is_fault.then(|| self.fault_of_targets(expected))
    }

    fn fault_of_targets(&self, expected: &str) -> Problem {
        let names: Vec<&str> = self.targets.iter().map(|target| target.name()).collect();
        Problem {
            field: "lora.targets".to_owned(),
            value: format!("{names:?}"),
            expected: expected.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_stands_once() {
        assert_eq!(LoraSection::default().problem(), None);
        let twice = vec![LoraTarget::QProj, LoraTarget::QProj];
        for targets in [twice, Vec::new()] {
            let text = format!(
                "`lora.targets` is {:?}, expected one projection or more, each once",
                targets.iter().map(|target| target.name()).collect::<Vec<_>>()
            );
            let problem = LoraSection { targets, ..LoraSection::default() }.problem();
            assert_eq!(problem.map(|problem| problem.to_string()), Some(text));
        }
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
