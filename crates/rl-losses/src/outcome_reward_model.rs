//! How an implicit process reward model learns from outcomes: right or wrong, one label a response.

use crate::{
    advantage::implicit_process_rewards,
    column::{ColumnError, check_columns, check_length, check_sequences, sequence_ranges, total},
    parameter::check_not_negative,
};

/// Loss of an implicit reward model on some responses, and its gradient.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OutcomeLoss {
    /// Sum of the responses' cross-entropies over `responses`, in nats.
    pub value: f64,
    /// `∂value / ∂ log π_φ(y_t)`, `[tokens]`.
    pub grad_log_prob: Vec<f64>,
    /// Reward of each whole response, `[samples]`: the log-odds that it is right.
    pub rewards: Vec<f64>,
}

/// Cross-entropy of outcomes under an implicit reward model `φ`, with its derivative.
///
/// ```text
/// r_i = β Σ_t (log π_φ(y_t) - log π_ref(y_t))            over the tokens of response i
/// L   = -1/n Σ_i [y_i ln σ(r_i) + (1 - y_i) ln(1 - σ(r_i))]
/// ∂L/∂ log π_φ(y_t) = β (σ(r_i) - y_i) / n               for every token of response i
/// ```
///
/// `log_ratio` is `[tokens]`, in nats; `outcomes` (`y_i`, whether the response is right) and
/// `sequence_lengths` are `[samples]`. `n` is `responses`, at least 1: those of the whole
/// mini-batch, so that values and gradients of its parts add up to those of the whole.
///
/// Source: Cui et al. 2025, [arXiv:2502.01456](https://arxiv.org/abs/2502.01456), the loss of the
/// implicit PRM; `compute_ce_dpo_loss_rm` of its code.
///
/// # Errors
///
/// [`ColumnError`] if the columns do not fit each other, a log-ratio is not finite, or `beta` is
/// negative.
pub fn outcome_cross_entropy(
    log_ratio: &[f64],
    outcomes: &[bool],
    sequence_lengths: &[usize],
    beta: f64,
    responses: usize,
) -> Result<OutcomeLoss, ColumnError> {
    check_not_negative("beta", beta)?;
    check_columns(&[("log_ratio", log_ratio)])?;
    check_sequences(sequence_lengths, ("log_ratio", log_ratio))?;
    check_length("outcomes", outcomes.len(), "sequence_lengths", sequence_lengths.len())?;
    let process = implicit_process_rewards(log_ratio, beta);
    let share = 1.0 / responses.max(1) as f64;
    let mut loss =
        OutcomeLoss { grad_log_prob: vec![0.0; process.len()], ..OutcomeLoss::default() };
    for (tokens, &right) in sequence_ranges(sequence_lengths).zip(outcomes) {
        let reward: f64 = process[tokens.clone()].iter().sum();
        // Towards the wrong side: -r of a right response, r of a wrong one.
        let against = if right { -reward } else { reward };
        loss.value += share * softplus(against);
        let slope = if right { -logistic(against) } else { logistic(against) };
        loss.grad_log_prob[tokens].fill(share * beta * slope);
        loss.rewards.push(reward);
    }
    Ok(loss)
}

/// `ln(1 + e^x)` without overflow.
fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

/// `1 / (1 + e^-x)`, to rounding even where it is small.
fn logistic(x: f64) -> f64 {
    if x >= 0.0 { 1.0 / (1.0 + (-x).exp()) } else { x.exp() / (1.0 + x.exp()) }
}

/// How rewards agree with outcomes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct OutcomeAgreement {
    /// Responses seen.
    pub responses: usize,
    /// Those whose reward has the sign of their outcome; a reward of 0 counts one half.
    pub agreeing: f64,
    /// Pairs of a right and a wrong response to one prompt.
    pub pairs: usize,
    /// Pairs whose right response has the higher reward; equal ones count one half.
    pub ordered: f64,
}

impl OutcomeAgreement {
    /// Share of the responses whose outcome the sign of their reward tells; NaN if there are none.
    pub fn accuracy(&self) -> f64 {
        self.agreeing / self.responses as f64
    }

    /// Share of the pairs of a group that rewards put in order, whatever their level; NaN if there
    /// are none.
    pub fn pair_accuracy(&self) -> f64 {
        self.ordered / self.pairs as f64
    }
}

/// Agreement of the rewards of whole responses with their outcomes, both `[samples]`, in groups of
/// `group_sizes` samples laid end to end.
///
/// # Errors
///
/// [`ColumnError`] if the columns do not fit each other or a reward is not finite.
pub fn outcome_agreement(
    rewards: &[f64],
    outcomes: &[bool],
    group_sizes: &[usize],
) -> Result<OutcomeAgreement, ColumnError> {
    check_columns(&[("rewards", rewards)])?;
    check_length("outcomes", outcomes.len(), "rewards", rewards.len())?;
    check_length("group_sizes", total(group_sizes), "rewards", rewards.len())?;
    let mut sums = OutcomeAgreement { responses: rewards.len(), ..OutcomeAgreement::default() };
    for group in sequence_ranges(group_sizes) {
        let (mut right, mut wrong) = (Vec::new(), Vec::new());
        for (&reward, &outcome) in std::iter::zip(&rewards[group.clone()], &outcomes[group]) {
            let signed = if outcome { reward } else { -reward };
            sums.agreeing += half_at_zero(signed);
            if outcome { &mut right } else { &mut wrong }.push(reward);
        }
        sums.pairs += right.len() * wrong.len();
        let above =
            |&better: &f64| wrong.iter().map(|&worse| half_at_zero(better - worse)).sum::<f64>();
        sums.ordered += right.iter().map(above).sum::<f64>();
    }
    Ok(sums)
}

fn half_at_zero(difference: f64) -> f64 {
    // Of a finite number: the sign is 0 for either zero.
    0.5 + 0.5 * if difference.abs() > 0.0 { difference.signum() } else { 0.0 }
}
