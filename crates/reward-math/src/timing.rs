//! How long verdicts take: the body of `reward-math bench`.

use std::time::{Duration, Instant};

use crate::grade::Row;
use crate::options::Options;
use crate::verify;

/// Durations over a set of rows, one verification each: extraction, both parsers, the ladder.
#[derive(Debug, Clone, PartialEq)]
pub struct Timing {
    /// Number of rows.
    pub rows: usize,
    /// Mean duration.
    pub mean: Duration,
    /// Half of the rows take no longer.
    pub median: Duration,
    /// 99 of 100 rows take no longer.
    pub p99: Duration,
    /// The longest, and the position of its row.
    pub worst: (Duration, usize),
}

/// Times each row on this thread: the shortest of `repeats` runs, so that what else the machine
/// does counts little. `None` if there are no rows.
pub fn time_rows(rows: &[Row], options: &Options, repeats: usize) -> Option<Timing> {
    let time = |row: &Row| {
        let run = || {
            let start = Instant::now();
            std::hint::black_box(verify(&row.response, &row.ground_truth, options));
            start.elapsed()
        };
        (0..repeats.max(1)).map(|_| run()).min().unwrap_or_default()
    };
    let durations: Vec<Duration> = rows.iter().map(time).collect();
    let (position, worst) = durations.iter().copied().enumerate().max_by_key(|(_, time)| *time)?;
    let total: Duration = durations.iter().sum();
    let mut sorted = durations;
    sorted.sort_unstable();
    let last = sorted.len() - 1;
    Some(Timing {
        rows: sorted.len(),
        mean: total / u32::try_from(sorted.len()).unwrap_or(u32::MAX),
        median: sorted[last / 2],
        p99: sorted[last * 99 / 100],
        worst: (worst, position),
    })
}
