//! Columns of a mini-batch by name, in the precision that all of them have.

use std::borrow::Cow;
use std::iter::zip;

use pyo3::prelude::*;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rayon::prelude::*;
use rl_losses::{
    Aggregation, BatchError, Column as Optional, PolicyLoss, Real, StepPlan, Threads, TokenBatch,
    TokenColumns,
};

use crate::column::Column;
use crate::error::value_error;
use crate::trained::Trained;

/// Names of the columns that every batch has, in their order.
const REQUIRED: [&str; 3] = ["log_prob", "old_log_prob", "advantage"];

/// Columns that Python passed.
pub(crate) struct Columns<'a, 'py> {
    pub(crate) required: [&'a Column<'py>; REQUIRED.len()],
    pub(crate) optional: [Option<&'a Column<'py>>; Optional::ALL.len()],
}

/// Trained tokens of each column, `[tokens]`.
pub(crate) struct Flat<'a, R: Copy> {
    required: Vec<Cow<'a, [R]>>,
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

    /// The plan of a loss over these columns, in rows of the given lengths.
    pub(crate) fn plan(
        &self,
        trained: &Trained<'_>,
        rows: &[usize],
        loss: &PolicyLoss,
        aggregation: &Aggregation,
        micro_batches: Option<&[usize]>,
        seed: u64,
    ) -> PyResult<StepPlan> {
        match self.precise(trained)? {
            Precise::Single(flat) => flat.plan(rows, loss, aggregation, micro_batches, seed),
            Precise::Double(flat) => flat.plan(rows, loss, aggregation, micro_batches, seed),
        }
    }

    fn flat<R: Copy>(
        &self,
        numbers: impl Fn(&str, &'a Column<'_>) -> PyResult<Option<Cow<'a, [R]>>>,
    ) -> PyResult<Option<Flat<'a, R>>> {
        let mut required = Vec::with_capacity(REQUIRED.len());
        for (name, column) in zip(REQUIRED, self.required) {
            let Some(values) = numbers(name, column)? else { return Ok(None) };
            required.push(values);
        }
        let mut optional = [const { None }; Optional::ALL.len()];
        for (name, into) in zip(Optional::ALL, &mut optional) {
            if let Some(column) = self.optional[name as usize] {
                let Some(values) = numbers(name.name(), column)? else { return Ok(None) };
                *into = Some(values);
            }
        }
        Ok(Some(Flat { required, optional }))
    }
}

impl<R: Real> Flat<'_, R> {
    fn plan(
        &self,
        row_lengths: &[usize],
        loss: &PolicyLoss,
        aggregation: &Aggregation,
        micro_batches: Option<&[usize]>,
        seed: u64,
    ) -> PyResult<StepPlan> {
        let mut batch = self.batch(row_lengths).map_err(value_error)?;
        if let Some(rows) = micro_batches {
            batch = batch.with_micro_batches(rows).map_err(value_error)?;
        }
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        loss.plan(&batch, aggregation, &mut rng).map_err(value_error)
    }

    /// The batch of these columns, in rows of the given lengths.
    pub(crate) fn batch<'b>(
        &'b self,
        row_lengths: &'b [usize],
    ) -> Result<TokenBatch<'b, R>, BatchError> {
        let columns = TokenColumns {
            log_prob: &self.required[0],
            old_log_prob: &self.required[1],
            advantage: &self.required[2],
        };
        let threads = Threads::new(rayon::current_num_threads(), in_parallel);
        let mut batch = TokenBatch::new(columns, row_lengths)?.with_threads(threads);
        for (name, values) in zip(Optional::ALL, &self.optional) {
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
