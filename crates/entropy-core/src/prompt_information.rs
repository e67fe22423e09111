//! Information that responses carry about their prompts: low where a policy answers every prompt from one template.

use crate::input_error::{InputError, check_all_finite, check_length, check_parameter};

/// How well responses tell their prompts apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PromptInformation {
    /// Mutual information of prompt and response, in nats a response: 0 where responses ignore the prompt, at most `ln prompts`.
    pub mutual_information: f64,
    /// Fraction of the responses that their own prompt makes likelier than any other does; `n` equally likely ones count `1 / n`.
    /// Chance is `1 / prompts`.
    pub retrieval_accuracy: f64,
}

/// Estimates the mutual information of prompt and response from the log-probability of every response under every prompt.
///
/// ```text
/// I(X; Y) ≈ mean over responses of [ log π(y|x) - log( mean over prompts x' of π(y|x') ) ]
/// ```
///
/// Prompts are as likely as each other; give each as many responses. `cross_log_prob` is `[responses, prompts]`: the sum over a
/// response's tokens, in nats. Their mean in its place gives the length-normalised proxy of the published code. `own_prompts`,
/// `[responses]`, is the prompt that each response answers.
///
/// Source: RAGEN-2, [arXiv:2604.06268](https://arxiv.org/abs/2604.06268), `CollapseDetector`: `mi_seq_estimate` and
/// `retrieval_accuracy`. Derivation: `docs/theory.md#prompt-information`.
///
/// # Errors
///
/// [`InputError`] if the table does not fit the responses, a value is not finite, or a prompt is not below `prompts`.
pub fn prompt_information(
    cross_log_prob: &[f64],
    own_prompts: &[usize],
    prompts: usize,
) -> Result<PromptInformation, InputError> {
    let column = "cross_log_prob";
    check_length(column, cross_log_prob.len(), own_prompts.len().saturating_mul(prompts))?;
    check_all_finite(column, cross_log_prob)?;
    for &prompt in own_prompts {
        let expected = "a prompt below `prompts`";
        check_parameter("own_prompts", prompt as f64, prompt < prompts, expected)?;
    }
    let (mut information, mut retrieved) = (0.0, 0.0);
    for (scores, &prompt) in
        std::iter::zip(cross_log_prob.chunks_exact(prompts.max(1)), own_prompts)
    {
        let highest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mean = scores.iter().map(|score| (score - highest).exp()).sum::<f64>() / prompts as f64;
        information += scores[prompt] - highest - mean.ln();
        if scores[prompt] >= highest {
            let ties = scores.iter().filter(|score| **score >= highest).count();
            retrieved += 1.0 / ties as f64;
        }
    }
    let responses = own_prompts.len() as f64;
    let (mutual_information, retrieval_accuracy) = (information / responses, retrieved / responses);
    Ok(PromptInformation { mutual_information, retrieval_accuracy })
}
