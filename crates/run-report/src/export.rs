//! Metrics of a run in formats of other programs.

use std::collections::BTreeSet;
use std::io::Write;

use training_run::metrics::StepMetrics;

/// Writes one row per step, ascending, and one column per metric: `step` first, then by name. A metric that a step lacks is an
/// empty cell. Numbers read back to the same bits.
///
/// # Errors
///
/// A write that failed.
pub fn write_csv(steps: &[StepMetrics], out: impl Write) -> std::io::Result<()> {
    let names: BTreeSet<&str> =
        steps.iter().flat_map(|step| step.iter().map(|(name, _)| name)).collect();
    let mut table = csv::Writer::from_writer(out);
    table.write_record(std::iter::once("step").chain(names.iter().copied()))?;
    for step in steps {
        let values = names.iter().map(|name| step.get(name).map(|value| value.to_string()));
        let cells = values.map(Option::unwrap_or_default);
        table.write_record(std::iter::once(step.step().to_string()).chain(cells))?;
    }
    table.flush()
}
