//! The current activity of a rank, in words.

use std::fmt::{self, Display, Formatter};

use serde::{Deserialize, Serialize};

/// The current activity of a rank.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Status {
    /// The rank.
    pub rank: usize,
    /// Current training step; 0 before the first.
    pub step: u64,
    /// Current phase, such as `sampling responses`.
    pub phase: String,
    /// Number of operations between ranks that this rank has begun.
    pub operations: u64,
    /// The operation in progress, if there is one.
    pub operation: Option<String>,
}

impl Display for Status {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let Self { rank, step, phase, operations, operation } = self;
        write!(out, "rank {rank}, step {step}, {phase}")?;
        match operation {
            Some(operation) => {
                write!(out, ", waiting for others at operation {operations} ({operation})")
            }
            None => write!(out, ", after operation {operations}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_names_rank_step_phase_and_operation() {
        let mut status = Status {
            rank: 2,
            step: 7,
            phase: "updating the policy".to_owned(),
            operations: 40,
            operation: Some("sum of gradients, 12 MiB".to_owned()),
        };
        assert_eq!(
            status.to_string(),
            "rank 2, step 7, updating the policy, waiting for others at operation 40 (sum of gradients, 12 MiB)"
        );
        status.operation = None;
        assert_eq!(status.to_string(), "rank 2, step 7, updating the policy, after operation 40");
    }
}
