//! Name, unit and definition of every metric, once.

use std::sync::LazyLock;

/// One metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// Name, as `metrics.jsonl` or the results of an evaluation have it.
    pub name: &'static str,
    /// Unit; `1` for a pure number, a `fraction` lies in 0..=1.
    pub unit: &'static str,
    /// Definition, and the scope over which it is computed.
    pub definition: &'static str,
}

impl Metric {
    /// Reads a table of lines `name | unit | definition`.
    ///
    /// # Panics
    ///
    /// If a line has not these three.
    pub fn table(text: &'static str) -> Vec<Self> {
        let row = |line: &'static str| {
            let (name, rest) = line.split_once(" | ")?;
            let (unit, definition) = rest.split_once(" | ")?;
            Some(Self { name, unit, definition })
        };
        text.lines().map(|line| row(line).expect("a line has three parts")).collect()
    }
}

/// Text of [`METRICS`].
pub(super) const TABLE: &str = include_str!("table.txt");

/// Every metric but the families of [`Validation`](super::Validation), grouped.
pub static METRICS: LazyLock<Vec<Metric>> = LazyLock::new(|| Metric::table(TABLE));
