//! Computing a shard.

use super::SweepError;
use super::cell::CellResult;
use super::folder::{Folder, Record, ShardFile};
use super::plan::{Cell, Plan};
use super::shard::Shard;
use rayon::prelude::*;
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};

/// How far a shard is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Cells of the shard.
    pub cells: usize,
    /// Cells whose results were in a file of the folder already.
    pub found: usize,
    /// Cells computed and written since.
    pub computed: usize,
    /// Computed cells that failed.
    pub failed: usize,
}

/// Computes the cells of a shard that no file of the folder holds, on all threads, and appends each
/// to the shard's file as it is done.
///
/// Records that are done at the same time are written and synced together, so a kill costs the cells
/// under way and those of one write. A cell that panics has failed; the others go on. `progress` is
/// called at the start and after every write.
///
/// # Errors
///
/// [`SweepError`] if the folder's files cannot be read or written.
pub fn run_shard(
    plan: &Plan,
    folder: &Folder,
    shard: Shard,
    compute: impl Fn(&Cell) -> CellResult + Sync,
    mut progress: impl FnMut(Tally) + Send,
) -> Result<Tally, SweepError> {
    let mut file = folder.shard_file(shard)?;
    let mut done = HashSet::new();
    for (_, records) in folder.contents()?.files {
        done.extend(records.into_iter().map(|record| record.key));
    }
    // In the order of the keys, so that costly corners of the grid are spread over all shards.
    let mut cells: Vec<&Cell> = plan.cells.iter().collect();
    cells.sort_unstable_by(|a, b| a.key.cmp(&b.key));
    let cells: Vec<&Cell> = cells.into_iter().skip(shard.index - 1).step_by(shard.count).collect();
    let left: Vec<&Cell> = cells.iter().copied().filter(|cell| !done.contains(&cell.key)).collect();
    let known = cells.len() - left.len();
    let tally = Tally { cells: cells.len(), found: known, ..Tally::default() };
    progress(tally);
    let stopped = AtomicBool::new(false);
    let (sender, results) = mpsc::channel::<Record>();
    std::thread::scope(|scope| {
        let stopped = &stopped;
        let writer = scope.spawn(move || {
            let written = write(&mut file, &results, tally, &mut progress);
            // Once nothing can be written any more, the cells left are not worth computing.
            stopped.store(true, Ordering::Relaxed);
            written
        });
        left.par_iter().for_each_with(sender, |sender, cell| {
            if !stopped.load(Ordering::Relaxed) {
                let outcome = outcome_of(cell, &compute);
                let _ = sender.send(Record { key: cell.key.clone(), outcome });
            }
        });
        writer.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}

/// Appends records as they come, those that have come together in one write.
fn write(
    file: &mut ShardFile,
    results: &Receiver<Record>,
    mut tally: Tally,
    progress: &mut impl FnMut(Tally),
) -> Result<Tally, SweepError> {
    while let Ok(first) = results.recv() {
        let batch: Vec<Record> = std::iter::once(first).chain(results.try_iter()).collect();
        file.append(&batch)?;
        let failed = |record: &&Record| matches!(record.outcome, CellResult::Failed(_));
        tally.computed += batch.len();
        tally.failed += batch.iter().filter(failed).count();
        progress(tally);
    }
    Ok(tally)
}

fn outcome_of(cell: &Cell, compute: &impl Fn(&Cell) -> CellResult) -> CellResult {
    // A panic becomes the cell's outcome; nothing that it may have left half done is used again.
    catch_unwind(AssertUnwindSafe(|| compute(cell))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        CellResult::Failed(format!("panicked: {}", text.unwrap_or("without a message")))
    })
}
