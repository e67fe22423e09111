//! Columns of a mini-batch by name, in the precision that all of them have.

use std::borrow::Cow;

use pyo3::prelude::*;
use rayon::prelude::*;
use rl_losses::{BatchError, Column as Optional, Real, Threads, TokenBatch, TokenColumns};

use crate::column::Column;
use crate::trained::Trained;

/// Columns that Python passed.
pub(crate) struct Columns<'a, 'py> {
    pub(crate) log_prob: &'a Column<'py>,
    pub(crate) old_log_prob: &'a Column<'py>,
    pub(crate) advantage: &'a Column<'py>,
    pub(crate) optional: [Option<&'a Column<'py>>; Optional::ALL.len()],
}

/// Trained tokens of each column, `[tokens]`.
pub(crate) struct Flat<'a, R: Copy> {
    log_prob: Cow<'a, [R]>,
    old_log_prob: Cow<'a, [R]>,
    advantage: Cow<'a, [R]>,
    optional: [Option<Cow<'a, [R]>>; Optional::ALL.len()],
}

/// Columns in single precision, as in training, if all have it; else in double.
pub(crate) enum Precise<'a> {
    Single(Flat<'a, f32>),
    Double(Flat<'a, f64>),
}

impl<'a> Columns<'a, '_> {
    /// The trained tokens of all columns.
    pub(crate) fn precise(&self, trained: &Trained<'_>) -> PyResult<Precise<'a>> {
        let singles = self.flat(|name, column| trained.singles(name, column));
        if let Some(flat) = singles? {
            return Ok(Precise::Single(flat));
        }
        let doubles = self.flat(|name, column| trained.doubles(name, column).map(Some));
        Ok(Precise::Double(doubles?.expect("every column has doubles")))
    }

    fn flat<R: Copy>(
        &self,
        numbers: impl Fn(&str, &'a Column<'_>) -> PyResult<Option<Cow<'a, [R]>>>,
    ) -> PyResult<Option<Flat<'a, R>>> {
        let log_prob = numbers("log_prob", self.log_prob)?;
        let old_log_prob = numbers("old_log_prob", self.old_log_prob)?;
        let advantage = numbers("advantage", self.advantage)?;
        let mut optional = [const { None }; Optional::ALL.len()];
        for (name, into) in std::iter::zip(Optional::ALL, &mut optional) {
            if let Some(column) = self.optional[name as usize] {
                let Some(values) = numbers(name.name(), column)? else { return Ok(None) };
                *into = Some(values);
            }
        }
        let three = log_prob.zip(old_log_prob).zip(advantage);
        Ok(three.map(|((log_prob, old_log_prob), advantage)| Flat {
            log_prob,
            old_log_prob,
            advantage,
            optional,
        }))
    }
}

impl<R: Real> Flat<'_, R> {
    /// The batch of these columns, in rows of the given lengths.
    pub(crate) fn batch<'b>(
        &'b self,
        row_lengths: &'b [usize],
    ) -> Result<TokenBatch<'b, R>, BatchError> {
        let columns = TokenColumns {
            log_prob: &self.log_prob,
            old_log_prob: &self.old_log_prob,
            advantage: &self.advantage,
        };
        let threads = Threads::new(rayon::current_num_threads(), in_parallel);
        let mut batch = TokenBatch::new(columns, row_lengths)?.with_threads(threads);
        for (name, values) in std::iter::zip(Optional::ALL, &self.optional) {
            if let Some(values) = values {
                batch = batch.with(name, values)?;
            }
        }
        Ok(batch)
    }
}

fn in_parallel(pieces: usize, work: &(dyn Fn(usize) + Sync)) {
    (0..pieces).into_par_iter().for_each(work);
}
