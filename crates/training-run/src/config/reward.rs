use std::collections::BTreeMap;

use code_sandbox::CodeSection;
use question_data::ground_truth::{RewardKind, RewardKinds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::by_name;
use super::error::Problems;
use crate::overlong::Overlong;
use model_files::section;

section! {
    /// `[reward]`
    pub struct RewardSection {
        /// Comparison with the known answer: `"math"`, `"multiple-choice"` (A to J), `"exact-match"` or
        /// `"code"` (unit tests, `docs/reward-math.md`). `"code"` runs the row's tests on the program
        /// in the response; `reward.grading` finds the answer for all other kinds. A known answer that
        /// is not of its kind is a bad row.
        #[serde(deserialize_with = "by_name::reward_kind")]
        #[schemars(transform = by_name::or_kind_name)]
        pub kind: RewardKind = RewardKind::default(),
        /// Kinds by source (`data_source` of a row) instead of `kind`: `{ triviaqa = { exact-match = {
        /// normalisation = "words" } } }`.
        #[serde(deserialize_with = "by_name::reward_kinds")]
        pub kind_by_source: BTreeMap<String, RewardKind> = BTreeMap::new(),
        /// Threads that judge during sampling; 0 takes one per core. Changes speed, never a reward.
        #[schemars(range(max = 1024))]
        pub threads: usize = 0,
        /// Reward of each verdict.
        pub values: reward_math::Reward = reward_math::Reward::default(),
        /// Rewards instead of `values`, none by default, from a program (`{ command = ["./score"] }`), a service (`{ http =
        /// "http://127.0.0.1:9000/score" }`) or a Python function (`{ python = "module:function" }`);
        /// see [your own reward](reward-math.md#your-own-reward).
        #[serde(skip_serializing_if = "Option::is_none")]
        pub custom: Option<RewardProgram> = None,
        /// Longest wait for the rewards of one batch of responses.
        #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 86_400))]
        pub custom_timeout_seconds: f64 = 600.0,
        /// How an answer is found and read.
        pub grading: reward_math::Options = reward_math::Options::default(),
        /// Treatment of responses that reach `rollout.max_response_tokens`: `"none"`, `"mask"` (out of
        /// the update) or `soft-buffer`.
        pub overlong: Overlong = Overlong::default(),
        /// Sandbox that runs programs.
        pub code: CodeSection = CodeSection::default(),
    }
}

impl RewardSection {
    /// The kind of each source.
    pub fn kinds(&self) -> RewardKinds {
        RewardKinds { otherwise: self.kind, by_source: self.kind_by_source.clone() }
    }
}

/// Program or service that rewards responses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RewardProgram {
    /// Program with its arguments. It runs as long as the run.
    Command(Vec<String>),
    /// Address to which responses are posted.
    Http(String),
    /// Python function, as `module:function`, run by the `python3` of the path.
    Python(String),
}

impl RewardProgram {
    pub(super) fn check(&self, problems: &mut Problems) {
        match self {
            Self::Command(words) => problems.require_program("reward.custom.command", words),
            Self::Http(url) => {
                let place = url.strip_prefix("http://").unwrap_or_default();
                let fits = !place.is_empty() && !url.contains(char::is_whitespace);
                problems.require(fits, "reward.custom.http", url, "http://HOST:PORT/PATH");
            }
            Self::Python(name) => {
                let (module, function) = name.split_once(':').unwrap_or_default();
                let fits = !module.is_empty() && !function.is_empty();
                problems.require(fits, "reward.custom.python", name, "module:function");
            }
        }
    }
}
