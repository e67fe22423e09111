//! `[parallel]`: how a run is spread over processes and memory.

use serde::{Deserialize, Serialize};

use messages::Problem;

/// `[parallel]`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ParallelSection {
    /// What is cut over the ranks in place of being on each.
    pub zero: Zero,
    /// Processes that hold one model together, each a part of every large matrix; at least 1.
    pub tensor: usize,
    /// Whether what the ranks exchange travels while they compute, where it can.
    pub overlap: bool,
    /// Whether master weights, in f32, and moments lie in the host's memory and are stepped there.
    pub offload_optimizer: bool,
    /// Whether inputs of blocks wait in the host's memory for the backward pass.
    pub offload_block_inputs: bool,
    /// Longest that a rank waits for another, in seconds.
    pub timeout_seconds: u64,
    /// Longest that a rank waits for the store to be served, in seconds.
    pub connect_seconds: u64,
}

/// Stage of `ZeRO`: what is cut over the ranks in place of being on each.
///
/// Source: Rajbhandari et al. 2020, *`ZeRO`*, [arXiv:1910.02054](https://arxiv.org/abs/1910.02054), Sec. 5.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub enum Zero {
    /// Nothing.
    #[default]
    Nothing,
    /// Stage 1: the optimiser's state.
    Optimizer,
    /// Stage 2: that and the gradients of blocks, embedding and head.
    Gradients,
    /// Stage 3: those and their parameters.
    Parameters,
}

impl TryFrom<u8> for Zero {
    type Error = String;

    fn try_from(stage: u8) -> Result<Self, String> {
        match stage {
            0 => Ok(Self::Nothing),
            1 => Ok(Self::Optimizer),
            2 => Ok(Self::Gradients),
            3 => Ok(Self::Parameters),
            other => Err(format!("zero is {other}, expected 0, 1, 2 or 3")),
        }
    }
}

impl From<Zero> for u8 {
    fn from(stage: Zero) -> Self {
        match stage {
            Zero::Nothing => 0,
            Zero::Optimizer => 1,
            Zero::Gradients => 2,
            Zero::Parameters => 3,
        }
    }
}

impl Zero {
    /// Whether each rank keeps a part of the optimiser's state alone.
    pub fn shards_optimizer(self) -> bool {
        self != Self::Nothing
    }

    /// Whether each rank keeps a part of the gradients of blocks, embedding and head alone.
    pub fn shards_gradients(self) -> bool {
        matches!(self, Self::Gradients | Self::Parameters)
    }

    /// Whether each rank keeps a part of the parameters of blocks, embedding and head alone.
    pub fn shards_parameters(self) -> bool {
        self == Self::Parameters
    }
}

impl Default for ParallelSection {
    fn default() -> Self {
        // The time-out is that of torch's own process groups on the CPU.
        Self {
            zero: Zero::default(),
            tensor: 1,
            overlap: true,
            offload_optimizer: false,
            offload_block_inputs: false,
            timeout_seconds: 1800,
            connect_seconds: 60,
        }
    }
}

impl ParallelSection {
    /// What is out of range.
    pub(crate) fn problems(self) -> Vec<Problem> {
        const DAY: u64 = 86_400;
        let Self { timeout_seconds, connect_seconds, tensor, .. } = self;
        let problem = |field: &str, value: String, expected: String| Problem {
            field: format!("parallel.{field}"),
            value,
            expected,
        };
        let mut problems = Vec::new();
        let waits = [("timeout_seconds", timeout_seconds), ("connect_seconds", connect_seconds)];
        for (field, seconds) in waits {
            if !(1..=DAY).contains(&seconds) {
                let expected = format!("1 to {DAY} seconds");
                problems.push(problem(field, seconds.to_string(), expected));
            }
        }
        if tensor == 0 {
            problems.push(problem("tensor", "0".to_owned(), "at least 1".to_owned()));
        }
        problems
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_is_its_number() {
        let section: ParallelSection = toml::from_str("zero = 1").unwrap();
        assert!(section.zero.shards_optimizer());
        assert_eq!(
            toml::to_string(&section).unwrap(),
            "zero = 1\ntensor = 1\noverlap = true\noffload_optimizer = false\noffload_block_inputs = false\n\
             timeout_seconds = 1800\nconnect_seconds = 60\n"
        );
        let error = toml::from_str::<ParallelSection>("zero = 7").unwrap_err().to_string();
        assert!(error.contains("zero is 7, expected 0, 1, 2 or 3"), "{error}");
    }

    #[test]
    fn a_model_has_at_least_one_rank() {
        assert!(ParallelSection::default().problems().is_empty());
        let none = ParallelSection { tensor: 0, ..ParallelSection::default() };
        let problems = none.problems();
        assert_eq!((problems.len(), problems[0].field.as_str()), (1, "parallel.tensor"));
        assert_eq!(problems[0].value, "0");
    }

    #[test]
    fn waits_are_a_second_to_a_day() {
        let section =
            ParallelSection { timeout_seconds: 0, connect_seconds: 86_401, ..Default::default() };
        let fields = section.problems().into_iter().map(|problem| (problem.field, problem.value));
        let expected = [("parallel.timeout_seconds", "0"), ("parallel.connect_seconds", "86401")];
        assert!(fields.eq(expected.map(|(field, value)| (field.to_owned(), value.to_owned()))));
    }
}
