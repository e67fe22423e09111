//! Slurm's variables: every task that `srun` starts is one rank.

use super::host_list::{count_at, first_host};
use super::placement::{Coordinator, MOST_RANKS, Placement, PlacementError, Variables};

/// Below the ports that Linux assigns to clients, 32768 and up.
const FIRST_PORT: u16 = 20_000;
const PORTS: u64 = 12_000;

/// Reads a placement from Slurm's variables. `MASTER_ADDR` and `MASTER_PORT`, if set, override Slurm's host list and job
/// number.
pub(super) fn placement(variables: &Variables<'_>) -> Result<Placement, PlacementError> {
    let because = || "SLURM_PROCID is set".to_owned();
    let world_size = variables.number("SLURM_NTASKS", 1..=MOST_RANKS, because)?;
    let rank = variables.number("SLURM_PROCID", 0..=world_size - 1, because)?;
    if world_size == 1 {
        return Ok(Placement::single());
    }
    let many = || format!("SLURM_NTASKS is {world_size}");
    let local_world_size = local_world_size(variables, world_size)?;
    let local_rank = variables.number("SLURM_LOCALID", 0..=local_world_size - 1, many)?;
    let coordinator = Coordinator {
        host: host(variables, many)?,
        port: port(variables, many)?,
        served_by_launcher: false,
        attempt: 0,
    };
    Ok(Placement { rank, world_size, local_rank, local_world_size, coordinator: Some(coordinator) })
}

/// The entry of this node in the list of tasks, or the equal number on every node, or all tasks on a single node.
fn local_world_size(variables: &Variables<'_>, world_size: usize) -> Result<usize, PlacementError> {
    for variable in ["SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"] {
        let Some(value) = variables.get(variable) else { continue };
        let node = variables.number_or("SLURM_NODEID", 0..=MOST_RANKS, 0)?;
        return match count_at(&value, node) {
            Some(count) if (1..=world_size).contains(&count) => Ok(count),
            _ => {
                let expected =
                    format!("counts as 4(x2),3 with one in 1..={world_size} for node {node}");
                Err(PlacementError::value(variable, &value, &expected))
            }
        };
    }
    let nodes = variables.number_or("SLURM_NNODES", 1..=MOST_RANKS, 0)?;
    if nodes == 1 {
        return Ok(world_size);
    }
    variables.number("SLURM_NTASKS_PER_NODE", 1..=world_size, || {
        format!("SLURM_NTASKS is {world_size} and SLURM_STEP_TASKS_PER_NODE is not set")
    })
}

/// Host of rank 0: the first node of the step, as a step may use only some of the job's nodes.
fn host(
    variables: &Variables<'_>,
    because: impl Fn() -> String + Copy,
) -> Result<String, PlacementError> {
    let expected = "a list of hosts as node[003-007,9]";
    if variables.has("MASTER_ADDR") {
        return variables.text("MASTER_ADDR", "the host of rank 0", because);
    }
    let variable = if variables.has("SLURM_STEP_NODELIST") {
        "SLURM_STEP_NODELIST"
    } else {
        "SLURM_JOB_NODELIST"
    };
    let value = variables.text(variable, expected, because)?;
    first_host(&value).ok_or_else(|| PlacementError::value(variable, &value, expected))
}

fn port(
    variables: &Variables<'_>,
    because: impl Fn() -> String + Copy,
) -> Result<u16, PlacementError> {
    if variables.has("MASTER_PORT") {
        return variables.number("MASTER_PORT", 1..=u16::MAX, because);
    }
    let job = variables.number("SLURM_JOB_ID", 0..=u64::MAX, because)?;
    let offset = u16::try_from(job % PORTS).expect("PORTS fits");
    Ok(FIRST_PORT + offset)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distributed::environment;

    /// Task 5 of 7 on the second of three nodes, 3 + 3 + 1.
    const STEP: &[(&str, &str)] = &[
        ("SLURM_PROCID", "5"),
        ("SLURM_NTASKS", "7"),
        ("SLURM_LOCALID", "2"),
        ("SLURM_NODEID", "1"),
        ("SLURM_STEP_TASKS_PER_NODE", "3(x2),1"),
        ("SLURM_STEP_NODELIST", "node[003-005]"),
        ("SLURM_JOB_NODELIST", "node[001-005]"),
        ("SLURM_JOB_ID", "123456"),
    ];

    fn changed(changes: &[(&'static str, &'static str)]) -> Result<Placement, PlacementError> {
        environment::placement(&[STEP, changes].concat())
    }

    fn coordinator(changes: &[(&'static str, &'static str)]) -> (String, u16) {
        let coordinator = changed(changes).expect("a whole environment").coordinator;
        let coordinator = coordinator.expect("more than one process");
        assert!(!coordinator.served_by_launcher && coordinator.attempt == 0);
        (coordinator.host, coordinator.port)
    }

    #[test]
    fn a_task_of_a_step_is_a_rank() {
        let placement = changed(&[]).unwrap();
        let Placement { rank, world_size, local_rank, local_world_size, .. } = placement;
        assert_eq!((rank, world_size, local_rank, local_world_size), (5, 7, 2, 3));
        // 123456 mod 12000 = 3456.
        assert_eq!(coordinator(&[]), ("node003".to_owned(), 23_456));
        assert_eq!(coordinator(&[("SLURM_STEP_NODELIST", "unset")]).0, "node001");
        let given = [("MASTER_ADDR", "ib-node7"), ("MASTER_PORT", "4000")];
        assert_eq!(coordinator(&given), ("ib-node7".to_owned(), 4000));
    }

    #[test]
    fn tasks_on_this_host_come_from_whichever_variable_is_there() {
        let local = |changes: &[(&'static str, &'static str)]| {
            let none = ("SLURM_STEP_TASKS_PER_NODE", "unset");
            changed(&[&[none], changes].concat()).map(|placement| placement.local_world_size)
        };
        assert_eq!(local(&[("SLURM_TASKS_PER_NODE", "1,4,2")]), Ok(4));
        assert_eq!(local(&[("SLURM_NTASKS_PER_NODE", "3")]), Ok(3));
        assert_eq!(local(&[("SLURM_NNODES", "1")]), Ok(7));
        let text = local(&[("SLURM_NNODES", "3")]).unwrap_err().to_string();
        assert!(text.starts_with("SLURM_NTASKS_PER_NODE is not set, expected "), "{text}");
    }

    #[test]
    fn errors_name_the_variable_its_value_and_what_was_expected() {
        for (variable, value, text) in [
            (
                "SLURM_NTASKS",
                "unset",
                "not set, expected a whole number in 1..=2147483647, as SLURM_PROCID is set",
            ),
            ("SLURM_LOCALID", "3", "\"3\", expected a whole number in 0..=2"),
            (
                "SLURM_STEP_NODELIST",
                "node[3",
                "\"node[3\", expected a list of hosts as node[003-007,9]",
            ),
            (
                "SLURM_STEP_TASKS_PER_NODE",
                "3",
                "\"3\", expected counts as 4(x2),3 with one in 1..=7 for node 1",
            ),
            (
                "SLURM_JOB_ID",
                "unset",
                "not set, expected a whole number in 0..=18446744073709551615, as SLURM_NTASKS is 7",
            ),
        ] {
            let message = changed(&[(variable, value)]).unwrap_err().to_string();
            assert_eq!(message, format!("{variable} is {text}"));
        }
    }
}
