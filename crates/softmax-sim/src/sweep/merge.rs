//! One table of all that the shards have computed.

use super::SweepError;
use super::cell::{CellResult, Figures};
use super::folder::{Contents, Folder, Record};
use super::plan::{Cell, Plan};
use crate::result_file::write_whole;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use toml::Value;

/// Conflicting cells that an error names.
const NAMED: usize = 5;

/// Result of a merge.
#[derive(Debug, Clone, PartialEq)]
pub struct Merged {
    /// Cells of the sweep.
    pub cells: usize,
    /// Cells without a result, by choices and seed.
    pub missing: Vec<String>,
    /// Cells that failed, by choices, seed and reason.
    pub failed: Vec<String>,
    /// Results that were found more than once, always the same.
    pub repeated: usize,
    /// Results of cells that are not in the sweep.
    pub foreign: usize,
    /// Lines of the shards' files that are no results.
    pub damaged: Vec<String>,
    /// The tables that were written; none while cells are missing.
    pub written: Vec<PathBuf>,
}

#[derive(Serialize)]
struct Line<'a> {
    key: &'a str,
    choices: &'a BTreeMap<String, Value>,
    seed: u64,
    outcome: &'a CellResult,
}

/// Puts the results of all shards together, in the order of the grid: `results.jsonl` and
/// `results.csv` in the folder, each replaced as a whole, once no cell is missing.
///
/// # Errors
///
/// [`SweepError`] if a cell has two results that differ, or if files cannot be read or
/// written.
pub fn merge(plan: &Plan, folder: &Folder) -> Result<Merged, SweepError> {
    let Contents { files, damaged } = folder.contents()?;
    let (outcomes, repeated) = outcomes(plan, files)?;
    let missing = plan.cells.iter().filter(|cell| !outcomes.contains_key(&cell.key));
    let row = |cell| -> Option<(&Cell, &CellResult)> { Some((cell, outcomes.get(&cell.key)?)) };
    let rows: Vec<(&Cell, &CellResult)> = plan.cells.iter().filter_map(row).collect();
    let failed = rows.iter().filter_map(|(cell, outcome)| match outcome {
        CellResult::Failed(reason) => Some(format!("{cell}: {reason}")),
        CellResult::Figures(_) => None,
    });
    let mut merged = Merged {
        cells: plan.cells.len(),
        missing: missing.map(Cell::to_string).collect(),
        failed: failed.collect(),
        repeated,
        foreign: outcomes.len() - rows.len(),
        damaged,
        written: Vec::new(),
    };
    if merged.missing.is_empty() {
        let tables = [("results.jsonl", json_lines(&rows)), ("results.csv", csv(plan, &rows))];
        for (name, table) in tables {
            let path = folder.path.join(name);
            write_whole(&path, &table)?;
            merged.written.push(path);
        }
    }
    Ok(merged)
}

/// Every cell's result, and how many were found again.
fn outcomes(
    plan: &Plan,
    files: Vec<(PathBuf, Vec<Record>)>,
) -> Result<(HashMap<String, CellResult>, usize), SweepError> {
    let mut outcomes: HashMap<String, (CellResult, PathBuf)> = HashMap::new();
    let (mut repeated, mut conflicts) = (0, BTreeMap::new());
    for (path, records) in files {
        for record in records {
            match outcomes.get(&record.key) {
                None => {
                    outcomes.insert(record.key, (record.outcome, path.clone()));
                }
                Some((outcome, _)) if *outcome == record.outcome => repeated += 1,
                Some((_, first)) => {
                    conflicts.insert(record.key, [first.clone(), path.clone()]);
                }
            }
        }
    }
    if conflicts.is_empty() {
        let outcomes = outcomes.into_iter().map(|(key, (outcome, _))| (key, outcome));
        return Ok((outcomes.collect(), repeated));
    }
    let named: HashMap<&str, &Cell> =
        plan.cells.iter().map(|cell| (cell.key.as_str(), cell)).collect();
    let cells = conflicts.iter().take(NAMED).map(|(key, [first, second])| {
        let cell =
            named.get(key.as_str()).map_or_else(|| format!("key {key}"), ToString::to_string);
        format!("`{cell}` in {} and {}", first.display(), second.display())
    });
    let (count, cells) = (conflicts.len(), cells.collect::<Vec<_>>().join("; "));
    Err(SweepError(format!("{count} cells have results that differ, such as {cells}")))
}

fn json_lines(rows: &[(&Cell, &CellResult)]) -> Vec<u8> {
    let mut lines = Vec::new();
    for (Cell { key, choices, seed, .. }, outcome) in rows {
        let line = Line { key, choices, seed: *seed, outcome };
        serde_json::to_writer(&mut lines, &line).expect("choices and results go into JSON");
        lines.push(b'\n');
    }
    lines
}

/// Columns: the grid's keys, the seed, every figure, why a cell failed, the key. What a row has not
/// is empty.
fn csv(plan: &Plan, rows: &[(&Cell, &CellResult)]) -> Vec<u8> {
    let names = rows.iter().filter_map(|(_, outcome)| outcome.parts().0);
    let figures: BTreeSet<&str> = names.flat_map(Figures::keys).map(String::as_str).collect();
    let keys = plan.grid_keys();
    let heading = keys.iter().copied().chain(["seed"]).chain(figures.iter().copied());
    let mut table = csv::Writer::from_writer(Vec::new());
    let in_memory = "rows of one length, in memory";
    table.write_record(heading.chain(["failed", "key"])).expect(in_memory);
    for (cell, outcome) in rows {
        let (of_cell, failed) = outcome.parts();
        let choice = |key: &&str| cell.choices.get(*key).map(plain).unwrap_or_default();
        let figure = |name: &&str| {
            let value = of_cell.and_then(|figures| figures.get(*name).copied().flatten());
            value.map(|x| format!("{x:?}")).unwrap_or_default()
        };
        let row = keys.iter().map(choice).chain([cell.seed.to_string()]);
        let row = row.chain(figures.iter().map(figure));
        table.write_record(row.chain([failed.to_owned(), cell.key.clone()])).expect(in_memory);
    }
    table.into_inner().expect(in_memory)
}

/// A value as TOML has it, a text without its quotes.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
