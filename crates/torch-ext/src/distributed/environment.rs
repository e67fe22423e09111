//! The place of this process in its run, as the launcher's environment defines it.

use super::placement::{Coordinator, MOST_RANKS, Placement, PlacementError, Variables};
use super::slurm;

impl Placement {
    /// Reads the placement from the environment of this process; see [`Self::from_lookup`].
    ///
    /// # Errors
    ///
    /// The errors of [`Self::from_lookup`]; a variable that is not Unicode is an error too.
    pub fn from_env() -> Result<Self, PlacementError> {
        Self::from_lookup(|variable| Some(std::env::var_os(variable)?.to_string_lossy().into()))
    }

    /// Reads torchrun's variables if `RANK` or `WORLD_SIZE` is set, else Slurm's if `SLURM_PROCID` is set. Otherwise the run
    /// has one process.
    ///
    /// # Errors
    ///
    /// [`PlacementError`] names the variable that is missing or has an invalid value.
    pub fn from_lookup(
        lookup: impl Fn(&'static str) -> Option<String>,
    ) -> Result<Self, PlacementError> {
        let variables = Variables { lookup: &lookup };
        if variables.has("RANK") || variables.has("WORLD_SIZE") {
            from_torchrun(&variables)
        } else if variables.has("SLURM_PROCID") {
            slurm::placement(&variables)
        } else {
            Ok(Self::single())
        }
    }
}

fn from_torchrun(variables: &Variables<'_>) -> Result<Placement, PlacementError> {
    let because = |other: &str| format!("{other} is set");
    let world_size = variables.number("WORLD_SIZE", 1..=MOST_RANKS, || because("RANK"))?;
    let rank = variables.number("RANK", 0..=world_size - 1, || because("WORLD_SIZE"))?;
    if world_size == 1 {
        return Ok(Placement::single());
    }
    let many = || format!("WORLD_SIZE is {world_size}");
    let local_world_size = variables.number("LOCAL_WORLD_SIZE", 1..=world_size, many)?;
    let local_rank = variables.number("LOCAL_RANK", 0..=local_world_size - 1, many)?;
    let coordinator = Some(Coordinator {
        host: variables.text("MASTER_ADDR", "the host of rank 0", many)?,
        port: variables.number("MASTER_PORT", 1..=u16::MAX, many)?,
        served_by_launcher: variables.truth("TORCHELASTIC_USE_AGENT_STORE")?,
        attempt: variables.number_or("TORCHELASTIC_RESTART_COUNT", 0..=u64::MAX, 0)?,
    });
    Ok(Placement { rank, world_size, local_rank, local_world_size, coordinator })
}

/// The placement by these variables; the last entry of a variable counts, "unset" for none.
#[cfg(test)]
pub(super) fn placement(variables: &[(&str, &str)]) -> Result<Placement, PlacementError> {
    Placement::from_lookup(|name| {
        let entry = variables.iter().rev().find(|(variable, _)| *variable == name)?;
        (entry.1 != "unset").then(|| entry.1.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TORCHRUN: &[(&str, &str)] = &[
        ("RANK", "5"),
        ("WORLD_SIZE", "8"),
        ("LOCAL_RANK", "1"),
        ("LOCAL_WORLD_SIZE", "4"),
        ("MASTER_ADDR", "node1"),
        ("MASTER_PORT", "29500"),
    ];

    /// torchrun's variables with some of them changed.
    fn changed(changes: &[(&'static str, &'static str)]) -> Result<Placement, PlacementError> {
        placement(&[TORCHRUN, changes].concat())
    }

    fn message(changes: &[(&'static str, &'static str)]) -> String {
        changed(changes).unwrap_err().to_string()
    }

    #[test]
    fn without_other_ranks_nothing_else_is_needed() {
        for variables in [
            &[][..],
            // Variables that a shell or a batch script may have set say nothing about ranks.
            &[("MASTER_PORT", "x"), ("LOCAL_RANK", "3")],
            &[("RANK", "0"), ("WORLD_SIZE", "1")],
            &[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "1")],
        ] {
            assert_eq!(placement(variables).unwrap(), Placement::single());
        }
    }

    #[test]
    fn torchrun_says_who_one_is_and_where_to_meet() {
        let (host, port) = ("node1".to_owned(), 29500);
        let coordinator = Coordinator { host, port, served_by_launcher: false, attempt: 0 };
        let placement = changed(&[]).unwrap();
        let Placement { rank, world_size, local_rank, local_world_size, .. } = placement;
        assert_eq!((rank, world_size, local_rank, local_world_size), (5, 8, 1, 4));
        assert_eq!(placement.coordinator.as_ref(), Some(&coordinator));
        let restarted = changed(&[
            ("TORCHELASTIC_USE_AGENT_STORE", "True"),
            ("TORCHELASTIC_RESTART_COUNT", "2"),
        ]);
        assert_eq!(
            restarted.unwrap().coordinator.unwrap(),
            Coordinator { served_by_launcher: true, attempt: 2, ..coordinator }
        );
        let both = changed(&[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "2")]);
        assert_eq!(both.unwrap().world_size, 8, "torchrun comes before Slurm");
    }

    #[test]
    fn a_missing_variable_is_named_with_the_reason_it_is_needed() {
        for (variable, expected) in [
            ("WORLD_SIZE", "a whole number in 1..=2147483647, as RANK is set"),
            ("RANK", "a whole number in 0..=7, as WORLD_SIZE is set"),
            ("LOCAL_RANK", "a whole number in 0..=3, as WORLD_SIZE is 8"),
            ("LOCAL_WORLD_SIZE", "a whole number in 1..=8, as WORLD_SIZE is 8"),
            ("MASTER_ADDR", "the host of rank 0, as WORLD_SIZE is 8"),
            ("MASTER_PORT", "a whole number in 1..=65535, as WORLD_SIZE is 8"),
        ] {
            let text = format!("{variable} is not set, expected {expected}");
            assert_eq!(message(&[(variable, "unset")]), text);
        }
    }

    #[test]
    fn a_value_out_of_range_is_shown_beside_the_range() {
        for (variable, value, expected) in [
            ("RANK", "8", "a whole number in 0..=7"),
            ("RANK", "-1", "a whole number in 0..=7"),
            ("LOCAL_RANK", "4", "a whole number in 0..=3"),
            ("LOCAL_WORLD_SIZE", "9", "a whole number in 1..=8"),
            ("WORLD_SIZE", "0", "a whole number in 1..="),
            ("WORLD_SIZE", "eight", "a whole number in 1..="),
            ("WORLD_SIZE", "", "a whole number in 1..="),
            ("MASTER_PORT", "0", "a whole number in 1..=65535"),
            ("MASTER_PORT", "65536", "a whole number in 1..=65535"),
            ("MASTER_ADDR", " ", "the host of rank 0"),
            ("TORCHELASTIC_USE_AGENT_STORE", "yes", "True or False"),
            ("TORCHELASTIC_RESTART_COUNT", "-1", "a whole number in 0..="),
        ] {
            let text = message(&[(variable, value)]);
            let begins = format!("{variable} is {value:?}, expected {expected}");
            assert!(text.starts_with(&begins), "{text}");
        }
    }
}
