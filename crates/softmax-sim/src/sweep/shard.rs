//! Which part of a sweep a process computes.

use super::SweepError;
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// Part `index` of `count`, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    pub(super) index: usize,
    pub(super) count: usize,
}

impl Display for Shard {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

/// The variables of a Slurm job array: id, least, largest, count and step of the tasks' numbers.
const VARIABLES: [&str; 5] = [
    "SLURM_ARRAY_TASK_ID",
    "SLURM_ARRAY_TASK_MIN",
    "SLURM_ARRAY_TASK_MAX",
    "SLURM_ARRAY_TASK_COUNT",
    STEP,
];

/// Not every scheduler that calls itself Slurm sets it.
const STEP: &str = "SLURM_ARRAY_TASK_STEP";

impl Shard {
    /// The only shard: all cells.
    pub const WHOLE: Self = Self { index: 1, count: 1 };

    /// The shard of a task of a Slurm job array, read from its variables through `variable`; none
    /// outside a job array.
    ///
    /// # Errors
    ///
    /// [`SweepError`] if some variables are missing or make no sense together.
    pub fn of_job_array(
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>, SweepError> {
        let values = VARIABLES.map(|name| (name, variable(name)));
        let Some((set, _)) = values.iter().find(|(_, value)| value.is_some()) else {
            return Ok(None);
        };
        let mut numbers = [0_usize; VARIABLES.len()];
        for (number, (variable, value)) in numbers.iter_mut().zip(&values) {
            if *variable == STEP && value.is_none() {
                continue; // follows from the others
            }
            let value = value.as_ref().ok_or_else(|| {
                let expected = "expected all of a job array's variables or none; or give --shard";
                SweepError(format!("{variable} is not set although {set} is: {expected}"))
            })?;
            *number = value.trim().parse().map_err(|_| {
                SweepError(format!("{variable} is `{value}`, expected a whole number"))
            })?;
        }
        let [id, min, max, count, step] = numbers;
        let step = match values[4].1 {
            Some(_) => step,
            None => max.saturating_sub(min).checked_div(count.saturating_sub(1)).unwrap_or(1),
        };
        let spaced = |number: usize| number >= min && (number - min).is_multiple_of(step.max(1));
        let expected = max.saturating_sub(min) / step.max(1) + 1;
        if step == 0 || max < min || !spaced(max) || expected != count {
            return Err(SweepError(format!(
                "the job array has {count} tasks, but {min} to {max} in steps of {step} would be {expected}: expected \
                 evenly spaced task numbers; or give --shard"
            )));
        }
        if !spaced(id) || id > max {
            return Err(SweepError(format!(
                "SLURM_ARRAY_TASK_ID is {id}, expected one of {min} to {max} in steps of {step}"
            )));
        }
        Ok(Some(Self { index: (id - min) / step + 1, count }))
    }
}

impl FromStr for Shard {
    type Err = SweepError;

    fn from_str(text: &str) -> Result<Self, SweepError> {
        let (index, count) = text.split_once('/').unwrap_or_default();
        let numbers = index.parse().ok().zip(count.parse().ok());
        let within = numbers.filter(|(index, count)| (1..=*count).contains(index));
        let shard = within.map(|(index, count)| Self { index, count });
        let expected = "expected i/n with 1 <= i <= n, such as 2/8";
        shard.ok_or_else(|| SweepError(format!("`{text}` is no shard, {expected}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(values: [&str; 5]) -> Result<Option<Shard>, SweepError> {
        Shard::of_job_array(|name| {
            let place = VARIABLES.iter().position(|variable| *variable == name)?;
            (!values[place].is_empty()).then(|| values[place].to_owned())
        })
    }

    #[test]
    fn a_shard_is_one_of_several() {
        assert_eq!("2/3".parse(), Ok(Shard { index: 2, count: 3 }));
        for text in ["0/3", "4/3", "3", "1/", "-1/3", "1/3/5", "0/0"] {
            let error = text.parse::<Shard>().unwrap_err();
            assert!(error.to_string().starts_with(&format!("`{text}` is no shard")), "{error}");
        }
    }

    /// Without its variable, the step follows from the others.
    #[test]
    fn tasks_of_a_job_array_are_shards() {
        assert_eq!(array([""; 5]), Ok(None));
        for (variables, index, count) in [
            (["0", "0", "7", "8", "1"], 1, 8),
            (["2", "1", "8", "8", ""], 2, 8),
            (["9", "1", "13", "4", "4"], 3, 4),
            (["9", "1", "13", "4", ""], 3, 4),
            (["5", "5", "5", "1", "1"], 1, 1),
            (["5", "5", "5", "1", ""], 1, 1),
        ] {
            assert_eq!(array(variables), Ok(Some(Shard { index, count })), "{variables:?}");
        }
    }

    #[test]
    fn variables_that_make_no_array_are_refused() {
        for (variables, message) in [
            (
                ["3", "", "7", "8", "1"],
                "SLURM_ARRAY_TASK_MIN is not set although SLURM_ARRAY_TASK_ID",
            ),
            (["", "0", "7", "8", "1"], "SLURM_ARRAY_TASK_ID is not set"),
            (
                ["three", "0", "7", "8", "1"],
                "SLURM_ARRAY_TASK_ID is `three`, expected a whole number",
            ),
            // --array=0,5,9 tells Slurm's tasks a count of 3 and a step of 1.
            (["5", "0", "9", "3", "1"], "the job array has 3 tasks, but"),
            (["5", "0", "9", "3", ""], "the job array has 3 tasks, but"),
            (["3", "1", "13", "4", "4"], "SLURM_ARRAY_TASK_ID is 3"),
            (["3", "1", "13", "4", "0"], "the job array has 4 tasks"),
        ] {
            let error = array(variables).unwrap_err().to_string();
            assert!(error.starts_with(message), "{variables:?}: {error}");
        }
    }
}
