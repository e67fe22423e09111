//! Plan of one optimiser step, and the loss of the mini-batch or of any of its rows.

use std::collections::BTreeMap;
use std::iter::zip;
use std::ops::Range;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rl_losses::{Aggregation, LossSums, PolicyLoss, Real, TokenBatch};

use crate::batch::{Columns, Flat, Precise};
use crate::column::{Column, Mask};
use crate::error::value_error;
use crate::repr::{attributes, repr, shown};
use crate::settings::{json_of, loss, parsed};
use crate::trained::Trained;

/// Relative difference of advantages that is only rounding of a gradient, even in single precision.
const ROUNDING: f64 = 1e-5;

/// Policy losses by name, as plan takes them.
#[pyfunction]
pub(crate) fn methods() -> Vec<&'static str> {
    rl_losses::registry().iter().map(|method| method.name).collect()
}

/// Published settings of policy losses: the source of each by its name, which plan takes as that of a method.
#[pyfunction]
pub(crate) fn presets() -> BTreeMap<&'static str, &'static str> {
    rl_losses::presets().iter().map(|preset| (preset.name, preset.source)).collect()
}

/// Selection and weights of one optimiser step, fixed over its whole mini-batch.
///
/// Evaluate the mini-batch or, row by row, any part of it: values, gradients and sums of the parts add up.
///
/// Attributes
/// ----------
/// policy_loss: name of the method.
/// rows: number of sequences.
/// tokens: number of trained tokens.
/// selected: number of tokens that the method singles out.
#[pyclass(frozen, module = "entropy_rl")]
pub(crate) struct StepPlan {
    loss: PolicyLoss,
    plan: rl_losses::StepPlan,
    row_lengths: Vec<usize>,
}

/// Value, gradient and sums of a policy loss.
///
/// Attributes
/// ----------
/// value: the loss, to be minimised; those of the parts of a mini-batch add up.
/// gradient: its derivative by log_prob, in the shape of the columns, 0 outside of response_mask.
/// advantages: float64; under them the plain surrogate `-r A` has this gradient. A trainer that takes an advantage
///     per token, and weighs the tokens as the plan does, follows the method with them; it must not clip. Where the
///     method leaves the surrogate's gradient, the one passed; where it has none, as at the tokens that Clip-Cov
///     drops, 0.
/// tokens: number of trained tokens.
/// selected: tokens that the method singles out.
/// clipped, clipped_lower: tokens without gradient under the clip; tokens at the dual clip's ceiling.
/// altered: tokens whose gradient is another than that of the plain surrogate.
/// neg_log_ratio, abs_log_ratio: sums of `log π_old - log π` and of its absolute value, nats.
#[pyclass(frozen, get_all, module = "entropy_rl")]
pub(crate) struct Evaluation {
    value: f64,
    gradient: Py<PyAny>,
    advantages: Py<PyAny>,
    tokens: usize,
    selected: usize,
    clipped: usize,
    clipped_lower: usize,
    altered: usize,
    neg_log_ratio: f64,
    abs_log_ratio: f64,
}

shown!(Evaluation: value, tokens, selected, clipped, clipped_lower, altered);

/// Fix selection and weights of a policy loss over a mini-batch.
///
/// Pass all tokens of the optimiser step, on every rank those of all ranks; never those of a micro-batch.
///
/// policy_loss: name of the method, one of methods().
/// log_prob, old_log_prob: log-probability of the sampled tokens, now and before the step, nats.
/// advantage: a constant of the loss.
/// response_mask: as in token_covariances. Columns of [tokens] are one sequence.
/// entropy, old_entropy, reference_log_prob, rollout_log_prob: columns that some methods need.
/// aggregation: "token-mean", "seq-mean-token-mean", "seq-mean-token-sum" or
///     {"seq-mean-token-sum-norm": {"divisor": 1024}}; by default the one that the method was published with.
/// micro_batches: rows of each micro-batch, for a method with scope "micro-batch".
/// seed: for methods that draw tokens; another for each update.
/// settings: keys of the method's table in a configuration; the rest have their defaults.
#[pyfunction]
#[pyo3(signature = (
    policy_loss, log_prob, old_log_prob, advantage, *, response_mask=None, entropy=None,
    old_entropy=None, reference_log_prob=None, rollout_log_prob=None, aggregation=None,
    micro_batches=None, seed=None, **settings,
))]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn plan<'py>(
    policy_loss: &str,
    log_prob: Column<'py>,
    old_log_prob: Column<'py>,
    advantage: Column<'py>,
    response_mask: Option<Mask>,
    entropy: Option<Column<'py>>,
    old_entropy: Option<Column<'py>>,
    reference_log_prob: Option<Column<'py>>,
    rollout_log_prob: Option<Column<'py>>,
    aggregation: Option<Bound<'py, PyAny>>,
    micro_batches: Option<Vec<usize>>,
    seed: Option<u64>,
    settings: Option<Bound<'py, PyDict>>,
) -> PyResult<StepPlan> {
    let loss = loss(policy_loss, settings.as_ref())?;
    let aggregation = match aggregation {
        Some(rule) => parsed("aggregation", json_of(&rule)?)?,
        None => rl_losses::method(loss.name())
            .map_or_else(Aggregation::default, |method| method.aggregation),
    };
    let draws = loss.draw_seed(&mut ChaCha8Rng::seed_from_u64(0)) != 0;
    if draws && seed.is_none() {
        let problem = format!("`{policy_loss}` draws tokens and needs `seed`, another each update");
        return Err(value_error(problem));
    }
    let trained = Trained::new("log_prob", &log_prob, response_mask)?;
    let columns = Columns {
        required: [&log_prob, &old_log_prob, &advantage],
        optional: [&entropy, &old_entropy, &reference_log_prob, &rollout_log_prob]
            .map(Option::as_ref),
    };
    let (micro_batches, seed) = (micro_batches.as_deref(), seed.unwrap_or(0));
    let row_lengths = trained.row_lengths();
    let plan = columns.plan(&trained, &row_lengths, &loss, &aggregation, micro_batches, seed)?;
    Ok(StepPlan { loss, plan, row_lengths })
}

attributes! { StepPlan, self: {
    policy_loss: &'static str = self.loss.name();
    rows: usize = self.row_lengths.len();
    tokens: usize = self.plan.len();
    selected: usize = self.plan.selected_tokens().len();
}
    /// Evaluate the loss on the mini-batch, or on some of its rows.
    ///
    /// rows: the mini-batch's row of each row passed; None passes all of them.
    /// Other arguments as in plan.
    #[pyo3(signature = (
        log_prob, old_log_prob, advantage, *, rows=None, response_mask=None, entropy=None,
        old_entropy=None, reference_log_prob=None, rollout_log_prob=None,
    ))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn evaluate<'py>(
        &self,
        py: Python<'py>,
        log_prob: Column<'py>,
        old_log_prob: Column<'py>,
        advantage: Column<'py>,
        rows: Option<Vec<usize>>,
        response_mask: Option<Mask>,
        entropy: Option<Column<'py>>,
        old_entropy: Option<Column<'py>>,
        reference_log_prob: Option<Column<'py>>,
        rollout_log_prob: Option<Column<'py>>,
    ) -> PyResult<Evaluation> {
        let trained = Trained::new("log_prob", &log_prob, response_mask)?;
        let columns = Columns {
            required: [&log_prob, &old_log_prob, &advantage],
            optional: [&entropy, &old_entropy, &reference_log_prob, &rollout_log_prob]
                .map(Option::as_ref),
        };
        match columns.precise(&trained)? {
            Precise::Single(flat) => self.evaluation(py, rows, &trained, &flat),
            Precise::Double(flat) => self.evaluation(py, rows, &trained, &flat),
        }
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        repr(slf, &["policy_loss", "rows", "tokens", "selected"])
    }
}

impl StepPlan {
    fn evaluation<R: Real + numpy::Element>(
        &self,
        py: Python<'_>,
        rows: Option<Vec<usize>>,
        trained: &Trained<'_>,
        flat: &Flat<'_, R>,
    ) -> PyResult<Evaluation> {
        let row_lengths = trained.row_lengths();
        let batch = flat.batch(&row_lengths).map_err(value_error)?;
        let runs = self.runs(rows, &row_lengths)?;
        let (value, gradient, sums) = self.sum_of_runs(&runs, &batch)?;
        let advantages = self.equivalent(runs, &batch, &gradient);
        Ok(Evaluation {
            value,
            gradient: trained.result(py, gradient)?.unbind(),
            advantages: trained.result(py, advantages)?.unbind(),
            tokens: sums.tokens,
            selected: sums.selected,
            clipped: sums.clipped,
            clipped_lower: sums.clipped_lower,
            altered: sums.altered,
            neg_log_ratio: sums.neg_log_ratio,
            abs_log_ratio: sums.abs_log_ratio,
        })
    }

    /// Advantages under which the plain surrogate has the gradient, of the same runs.
    fn equivalent<R: Real>(
        &self,
        runs: Vec<Range<usize>>,
        batch: &TokenBatch<'_, R>,
        gradient: &[R],
    ) -> Vec<f64> {
        let weights = runs.into_iter().flat_map(|run| self.plan.part(run).weights());
        // Above 0: where nothing is left of a ratio, neither is of the slope.
        let ratio = |log_ratio: R| log_ratio.to_f64().exp().max(f64::MIN_POSITIVE);
        let ratios = batch.log_ratios().map(ratio);
        let plain = zip(zip(batch.advantage(), ratios), weights);
        zip(gradient, plain)
            .map(|(slope, ((&advantage, ratio), weight))| {
                let (equivalent, advantage) =
                    (-slope.to_f64() / (weight * ratio), advantage.to_f64());
                let unchanged = (equivalent - advantage).abs() <= ROUNDING * advantage.abs();
                if unchanged { advantage } else { equivalent }
            })
            .collect()
    }

    /// Value, gradient and sums of runs of the mini-batch's tokens, which the batch has one after another.
    fn sum_of_runs<R: Real>(
        &self,
        runs: &[Range<usize>],
        batch: &TokenBatch<'_, R>,
    ) -> PyResult<(f64, Vec<R>, LossSums)> {
        let needed = self.loss.requirements();
        if let Some(column) = needed.into_iter().find(|&column| batch.column(column).is_none()) {
            let method = self.loss.name();
            return Err(value_error(format!("`{method}` needs the column `{column}`")));
        }
        let (mut value, mut sums) = (0.0, LossSums::default());
        let mut gradient = vec![R::default(); batch.len()];
        let mut start = 0;
        for run in runs {
            let part = start..start + run.len();
            start = part.end;
            let (batch, plan) = (batch.part(part.clone()), self.plan.part(run.clone()));
            let evaluation = self.loss.evaluate_into(&batch, &plan, &mut gradient[part]);
            value += evaluation.value;
            sums += evaluation.sums;
        }
        Ok((value, gradient, sums))
    }

    /// Tokens of the mini-batch that the rows own, neighbours as one run.
    fn runs(&self, rows: Option<Vec<usize>>, row_lengths: &[usize]) -> PyResult<Vec<Range<usize>>> {
        let rows = rows.unwrap_or_else(|| (0..self.row_lengths.len()).collect());
        if rows.len() != row_lengths.len() {
            let (entries, expected) = (rows.len(), row_lengths.len());
            let problem = format!("`rows` has {entries} entries, the columns have {expected} rows");
            return Err(value_error(problem));
        }
        let mut runs: Vec<Range<usize>> = Vec::new();
        for (row, &tokens) in zip(rows, row_lengths) {
            let Some(&expected) = self.row_lengths.get(row) else {
                let rows = self.row_lengths.len();
                return Err(value_error(format!("`rows` has {row}, the plan has {rows} rows")));
            };
            if tokens != expected {
                return Err(value_error(format!(
                    "row {row} has {tokens} trained tokens, {expected} in the plan"
                )));
            }
            let start = self.row_lengths[..row].iter().sum();
            match runs.last_mut() {
                Some(run) if run.end == start => run.end += expected,
                _ => runs.push(start..start + expected),
            }
        }
        Ok(runs)
    }
}
