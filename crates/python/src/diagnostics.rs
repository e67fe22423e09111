//! Diagnostics of a step's effect on entropy, from its tokens.

use std::borrow::Cow;

use entropy_core::{UpdateRule, state_token_covariances};
use pyo3::prelude::*;
use rl_losses::{EntropyChangeColumns, EntropyChangeSums, TokenBatch, TokenColumns};

use crate::array::Array;
use crate::column::{Column, Mask};
use crate::error::value_error;
use crate::repr::record;
use crate::trained::Trained;

/// The trained tokens of columns that were checked against each other.
struct Tokens<'a, 'py> {
    trained: Trained<'py>,
    log_prob: Cow<'a, [f64]>,
    advantage: Cow<'a, [f64]>,
    entropy: Option<Cow<'a, [f64]>>,
}

impl<'a, 'py> Tokens<'a, 'py> {
    fn new(
        log_prob: &'a Column<'py>,
        advantage: &'a Column<'_>,
        entropy: Option<&'a Column<'_>>,
        response_mask: Option<Mask>,
    ) -> PyResult<Self> {
        let trained = Trained::new("log_prob", log_prob, response_mask)?;
        let log_prob = trained.doubles("log_prob", log_prob)?;
        let advantage = trained.doubles("advantage", advantage)?;
        let entropy = entropy.map(|entropy| trained.doubles("entropy", entropy)).transpose()?;
        let columns =
            TokenColumns { log_prob: &log_prob, old_log_prob: &log_prob, advantage: &advantage };
        let lengths = [log_prob.len()];
        let batch = TokenBatch::new(columns, &lengths).map_err(value_error)?;
        if let Some(entropy) = &entropy {
            batch.with(rl_losses::Column::Entropy, entropy).map_err(value_error)?;
        }
        Ok(Self { trained, log_prob, advantage, entropy })
    }

    fn covariances(&self) -> Vec<f64> {
        match &self.entropy {
            Some(entropy) => state_token_covariances(&self.advantage, &self.log_prob, entropy),
            None => entropy_core::token_covariances(&self.advantage, &self.log_prob),
        }
    }
}

/// Compute the covariance of each token, float64 [tokens], in nat·reward.
///
/// Clip-Cov and KL-Cov select by it. Without entropy it is centred over the batch,
/// `(A - mean A)(log π - mean log π)` (arXiv:2505.22617, Eq. 10): pass all tokens of a mini-batch,
/// never those of a micro-batch. With entropy it is centred in the state of each token, `A (log π + H)`.
///
/// log_prob: log-probability of the sampled tokens, [tokens], nats.
/// advantage: [tokens].
/// entropy: entropy of the distribution of each token, [tokens], nats.
/// response_mask: marks the trained tokens; columns of [batch, length] need it, of that shape. Results of
///     the other tokens are 0.
///
/// A column is an array, a tensor or a sequence of floats. For tensors the result is a tensor on their device.
#[pyfunction]
#[pyo3(signature = (log_prob, advantage, *, entropy=None, response_mask=None))]
pub(crate) fn token_covariances<'py>(
    py: Python<'py>,
    log_prob: Column<'py>,
    advantage: Column<'py>,
    entropy: Option<Column<'py>>,
    response_mask: Option<Mask>,
) -> PyResult<Bound<'py, PyAny>> {
    let tokens = Tokens::new(&log_prob, &advantage, entropy.as_ref(), response_mask)?;
    tokens.trained.result(py, tokens.covariances())
}

record! {
    /// Mean of the largest covariances.
    ///
    /// Attributes
    /// ----------
    /// fraction: share of the tokens, 0 to 1.
    /// tokens: number of these tokens, rounded up, at least one.
    /// mean: their mean covariance, nat·reward.
    TopMean from entropy_core::TopMean {
        fraction: f64,
        tokens: usize,
        mean: f64,
    }
}

record! {
    /// A quantile of the covariances.
    ///
    /// Attributes
    /// ----------
    /// level: share of the tokens below, 0 to 1.
    /// value: covariance, nat·reward.
    Quantile from entropy_core::Quantile {
        level: f64,
        value: f64,
    }
}

record! {
    /// Distribution of the covariance over tokens.
    ///
    /// Attributes
    /// ----------
    /// tokens: number of tokens.
    /// mean: mean over all tokens, the covariance of the batch, nat·reward.
    /// top_means: means of the top 0.0002, 0.002, 0.02, 0.2, 0.5 and all (the paper's Table 1).
    /// quantiles: quantiles at 0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99 and 1.
    CovarianceSummary {
        tokens: usize,
        mean: f64,
        top_means: Vec<TopMean>,
        quantiles: Vec<Quantile>,
    }
}

/// Summarise the covariances of tokens; arguments as in token_covariances.
#[pyfunction]
#[pyo3(signature = (log_prob, advantage, *, entropy=None, response_mask=None))]
pub(crate) fn covariance_summary<'py>(
    log_prob: Column<'py>,
    advantage: Column<'py>,
    entropy: Option<Column<'py>>,
    response_mask: Option<Mask>,
) -> PyResult<CovarianceSummary> {
    let tokens = Tokens::new(&log_prob, &advantage, entropy.as_ref(), response_mask)?;
    let entropy_core::CovarianceSummary { tokens, mean, top_means, quantiles } =
        entropy_core::CovarianceSummary::of(&tokens.covariances());
    Ok(CovarianceSummary {
        tokens,
        mean,
        top_means: top_means.into_iter().map(TopMean::from).collect(),
        quantiles: quantiles.into_iter().map(Quantile::from).collect(),
    })
}

record! {
    /// Number and covariance of the tokens in one quadrant.
    ///
    /// Attributes
    /// ----------
    /// tokens: number of tokens.
    /// covariance: sum of their covariances, nat·reward.
    Quadrant from entropy_core::Quadrant {
        tokens: u64,
        covariance: f64,
    }
}

record! {
    /// Tokens by the sign of their advantage and by their probability relative to the average.
    ///
    /// To first order, under the natural policy gradient, up_likely and down_unlikely lower the entropy;
    /// up_unlikely and down_likely raise it. Tokens with advantage 0 are in still.
    Quadrants from entropy_core::Quadrants {
        up_likely: Quadrant,
        up_unlikely: Quadrant,
        down_likely: Quadrant,
        down_unlikely: Quadrant,
        still: Quadrant,
    }
}

/// Sort tokens into the four quadrants; arguments as in token_covariances.
#[pyfunction]
#[pyo3(signature = (log_prob, advantage, *, entropy=None, response_mask=None))]
pub(crate) fn quadrants<'py>(
    log_prob: Column<'py>,
    advantage: Column<'py>,
    entropy: Option<Column<'py>>,
    response_mask: Option<Mask>,
) -> PyResult<Quadrants> {
    let tokens = Tokens::new(&log_prob, &advantage, entropy.as_ref(), response_mask)?;
    let entropy = tokens.entropy.as_deref();
    let quadrants = rl_losses::quadrants(&tokens.log_prob, &tokens.advantage, entropy);
    quadrants.map(Quadrants::from).map_err(value_error)
}

record! {
    /// Entropy change that the theorems predict for a step, in nats.
    ///
    /// Attributes
    /// ----------
    /// policy_gradient_batch: Theorem 1, `-η Cov(log π, π A)` centred over the batch, as published.
    /// natural_policy_gradient_batch: Theorem 2, `-η Cov(log π, A)`, centred over the batch too.
    /// policy_gradient_state, natural_policy_gradient_state: both centred in the state of each token, which
    ///     makes them unbiased; None without entropy.
    EntropyChange {
        policy_gradient_batch: f64,
        natural_policy_gradient_batch: f64,
        policy_gradient_state: Option<f64>,
        natural_policy_gradient_state: Option<f64>,
    }
}

/// Predict the entropy change of a step with logit step eta, in nats; NaN without tokens.
///
/// eta is the step in the logits of a tabular policy. The logits of a network move differently: compare
/// signs and ranks only.
///
/// mean_score: `Σ π² (log π + H)` of each token's distribution, [tokens]; needed if the advantage is not
///     centred under the policy; default 0. Used with entropy only.
/// Other arguments as in token_covariances.
#[pyfunction]
#[pyo3(signature = (log_prob, advantage, *, eta, entropy=None, mean_score=None, response_mask=None))]
pub(crate) fn predicted_entropy_change<'py>(
    log_prob: Column<'py>,
    advantage: Column<'py>,
    eta: f64,
    entropy: Option<Column<'py>>,
    mean_score: Option<Column<'py>>,
    response_mask: Option<Mask>,
) -> PyResult<EntropyChange> {
    let tokens = Tokens::new(&log_prob, &advantage, entropy.as_ref(), response_mask)?;
    let doubles = |scores| tokens.trained.doubles("mean_score", scores);
    let mean_score = mean_score.as_ref().map(doubles).transpose()?;
    let known = tokens.entropy.is_some();
    let columns = EntropyChangeColumns {
        log_prob: &tokens.log_prob,
        advantage: &tokens.advantage,
        // Without it, the state-centred sums are meaningless, and not read.
        entropy: tokens.entropy.as_deref().unwrap_or(&tokens.log_prob),
        mean_score: mean_score.as_deref(),
    };
    let sums = EntropyChangeSums::of(columns).map_err(value_error)?;
    let (vanilla, natural) = (UpdateRule::PolicyGradient, UpdateRule::NaturalPolicyGradient);
    Ok(EntropyChange {
        policy_gradient_batch: sums.batch_centred(vanilla, eta),
        natural_policy_gradient_batch: sums.batch_centred(natural, eta),
        policy_gradient_state: known.then(|| sums.state_centred(vanilla, eta)),
        natural_policy_gradient_state: known.then(|| sums.state_centred(natural, eta)),
    })
}

record! {
    /// How well responses tell their prompts apart.
    ///
    /// Attributes
    /// ----------
    /// mutual_information: of prompt and response, nats a response; 0 where responses ignore the prompt.
    /// retrieval_accuracy: fraction of the responses that their own prompt makes likelier than any other does; chance is
    ///     1 over the number of prompts.
    PromptInformation from entropy_core::PromptInformation {
        mutual_information: f64,
        retrieval_accuracy: f64,
    }
}

/// Measure template collapse: the mutual information of prompt and response (RAGEN-2, arXiv:2604.06268).
///
/// Prompts count alike: give each as many responses.
///
/// cross_log_prob: log-probability of every response under every prompt, summed over its tokens, [responses, prompts],
///     nats.
/// own_prompts: column of the prompt that each response answers, [responses].
#[pyfunction]
pub(crate) fn prompt_information(
    cross_log_prob: &Bound<'_, PyAny>,
    own_prompts: Vec<usize>,
) -> PyResult<PromptInformation> {
    let expected = "[responses, prompts]";
    let (values, [_, prompts]) = Array::with_sizes("cross_log_prob", cross_log_prob, expected)?;
    let information = entropy_core::prompt_information(&values, &own_prompts, prompts);
    information.map(PromptInformation::from).map_err(value_error)
}
