//! One optimiser step: the loss of a mini-batch, chained through the softmax.

use super::{
    method::Method,
    rollout::Rollout,
    rows::{PROMPTS_PER_TASK, Rows},
};
use crate::environment::{Questions, Shape};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use rl_losses::{
    CustomLoss, Evaluation, LossSums, StepPlan, Threads, TokenBatch, TokenColumns, entropy_bonus,
};
use std::ops::Range;

/// Buffers that the updates of a run reuse.
#[derive(Debug, Clone, Default)]
pub(crate) struct Workspace {
    rows: Rows,
    log_prob: Vec<f64>,
    entropy: Vec<f64>,
    grad_log_prob: Vec<f64>,
    /// `[prompts, positions, actions]`.
    d_logits: Vec<f64>,
}

/// Inputs of an update.
pub(crate) struct MiniBatch<'a> {
    pub(crate) questions: &'a Questions,
    pub(crate) rollout: &'a Rollout,
    /// Indices of its prompts in the rollout.
    pub(crate) slots: Range<usize>,
    pub(crate) group_size: usize,
    /// Lengths of at least as many sequences as the mini-batch has.
    pub(crate) sequence_lengths: &'a [usize],
    /// Log-probabilities of the reference policy, `[all prompts, positions, actions]`.
    pub(crate) reference: &'a [f64],
    /// Bucket of each sequence, and share of each bucket's tokens that the loss treats, in place of its own.
    pub(crate) by_difficulty: Option<(&'a [usize], &'a [f64])>,
    /// Loss in place of the method's formula.
    pub(crate) custom_loss: Option<&'a CustomLoss>,
}

impl MiniBatch<'_> {
    /// Tokens of the mini-batch.
    pub(crate) fn tokens(&self) -> usize {
        self.slots.len() * self.group_size * self.questions.shape().positions
    }

    /// The prompts of the mini-batch.
    fn prompts(&self) -> &[usize] {
        &self.rollout.prompts[self.slots.clone()]
    }

    /// Moves `parameters` down the loss of `method`, by `factor` times its gradient.
    pub(crate) fn update(
        &self,
        method: &Method,
        factor: f64,
        parameters: &mut [f64],
        workspace: &mut Workspace,
        rng: &mut ChaCha8Rng,
    ) -> LossSums {
        workspace.rows.fill(self.questions, parameters, self.prompts());
        let tokens = self.tokens();
        let span = self.slots.start * (tokens / self.slots.len());
        let actions = &self.rollout.actions[span..span + tokens];
        workspace.gather_log_probs(self, actions);
        let positions = self.questions.shape().positions;
        workspace.rows.entropy_of_tokens(positions, self.group_size, &mut workspace.entropy);
        let old_log_prob = &self.rollout.old_log_prob[span..span + tokens];
        let columns = TokenColumns {
            log_prob: &workspace.log_prob,
            old_log_prob,
            advantage: &self.rollout.advantage[span..span + tokens],
        };
        let lengths = &self.sequence_lengths[..self.slots.len() * self.group_size];
        let batch = TokenBatch::new(columns, lengths)
            .and_then(|batch| batch.with_entropy(&workspace.entropy))
            .and_then(|batch| {
                batch.with_old_entropy(&self.rollout.old_entropy[span..span + tokens])
            })
            // The policy before the update has sampled.
            .and_then(|batch| batch.with_rollout_log_prob(old_log_prob))
            .expect("columns of a finite policy")
            .with_threads(Threads::new(rayon::current_num_threads(), in_parallel));
        let plan = match self.by_difficulty {
            None => method.loss.plan(&batch, &method.aggregation, rng),
            Some((buckets, fractions)) => {
                method.loss.plan_by_bucket(&batch, buckets, fractions, &method.aggregation, rng)
            }
        };
        let plan = plan.expect("a loss over entropies and old log-probabilities");
        let part = plan.part(0..tokens);
        let sums = if let Some(custom) = self.custom_loss {
            let output = custom.evaluate(&batch, part);
            workspace.grad_log_prob = output.grad_log_prob;
            output.sums
        } else {
            workspace.grad_log_prob.resize(tokens, 0.0);
            let Evaluation { sums, .. } =
                method.loss.evaluate_into(&batch, &part, &mut workspace.grad_log_prob);
            sums
        };
        workspace.chain(self, method, &plan, actions);
        self.questions.descend(parameters, self.prompts(), &workspace.d_logits, factor);
        sums
    }
}

fn in_parallel(pieces: usize, work: &(dyn Fn(usize) + Sync)) {
    (0..pieces).into_par_iter().for_each(work);
}

impl Workspace {
    /// Log-probability of each token under the current policy.
    fn gather_log_probs(&mut self, batch: &MiniBatch<'_>, actions: &[u32]) {
        let shape = batch.questions.shape();
        let tokens = batch.group_size * shape.positions;
        self.log_prob.resize(actions.len(), 0.0);
        let prompts = self.log_prob.chunks_exact_mut(tokens).zip(actions.chunks_exact(tokens));
        for ((log_prob, actions), rows) in
            prompts.zip(self.rows.log_probs().chunks_exact(shape.row()))
        {
            for (index, (log_prob, action)) in std::iter::zip(log_prob, actions).enumerate() {
                *log_prob = rows[index % shape.positions * shape.actions + *action as usize];
            }
        }
    }

    /// Gradient of the whole loss with respect to the logits, into `d_logits`.
    ///
    /// A token's `∂L/∂log π(y)` reaches logit `k` times `1[k = y] - π_k`; the parts with `π_k` are
    /// collected first. Regularisers are exact in each state, and weigh in it what its tokens do.
    fn chain(&mut self, batch: &MiniBatch<'_>, method: &Method, plan: &StepPlan, chosen: &[u32]) {
        let Shape { positions, actions, .. } = batch.questions.shape();
        let (row, tokens) = (positions * actions, batch.group_size * positions);
        self.d_logits.clear();
        self.d_logits.resize(batch.slots.len() * row, 0.0);
        self.d_logits
            .par_chunks_exact_mut(row)
            .zip(chosen.par_chunks_exact(tokens))
            .zip(self.grad_log_prob.par_chunks_exact(tokens))
            .zip(self.rows.probs().par_chunks_exact(row))
            .with_min_len(PROMPTS_PER_TASK)
            .for_each(|(((d_logits, chosen), slopes), probs)| {
                for (index, (action, slope)) in std::iter::zip(chosen, slopes).enumerate() {
                    d_logits[index % positions * actions + *action as usize] += slope;
                }
                for position in 0..positions {
                    let total: f64 = slopes.iter().skip(position).step_by(positions).sum();
                    let state = position * actions..(position + 1) * actions;
                    for (d_logit, prob) in d_logits[state.clone()].iter_mut().zip(&probs[state]) {
                        *d_logit -= total * prob;
                    }
                }
            });
        if method.entropy_bonus != 0.0 || method.reference_kl != 0.0 {
            self.chain_regularisers(batch, method, plan);
        }
    }

    /// Adds the gradients of the entropy bonus and of the reference KL.
    ///
    /// Both are means over the state of a function `v` of the action whose own derivative has mean
    /// 0: `-log π` and `log π - log π_ref`. So the gradient is the softmax's Jacobian times `v`,
    /// `π (v - E v)`.
    fn chain_regularisers(&mut self, batch: &MiniBatch<'_>, method: &Method, plan: &StepPlan) {
        let Shape { positions, actions, .. } = batch.questions.shape();
        let tokens = batch.group_size * positions;
        let weights = plan.weights();
        let (_, d_entropy) = entropy_bonus(method.entropy_bonus, &self.entropy, &weights);
        let mut values = vec![0.0; actions];
        let states = self.d_logits.chunks_exact_mut(actions).enumerate();
        for (state, d_logits) in states {
            let (slot, position) = (state / positions, state % positions);
            let of_state = |column: &[f64]| -> f64 {
                column[slot * tokens..(slot + 1) * tokens]
                    .iter()
                    .skip(position)
                    .step_by(positions)
                    .sum()
            };
            let d_entropy = of_state(&d_entropy);
            let d_divergence = method.reference_kl * of_state(&weights);
            let rows = state * actions..(state + 1) * actions;
            let (log_probs, probs) =
                (&self.rows.log_probs()[rows.clone()], &self.rows.probs()[rows]);
            let first = batch.prompts()[slot] * batch.questions.shape().row() + position * actions;
            let reference = &batch.reference[first..first + actions];
            for ((value, log_prob), reference) in values.iter_mut().zip(log_probs).zip(reference) {
                *value = d_divergence * (log_prob - reference) - d_entropy * log_prob;
            }
            let mean: f64 = std::iter::zip(probs, &values).map(|(p, v)| p * v).sum();
            for ((d_logit, prob), value) in d_logits.iter_mut().zip(probs).zip(&values) {
                *d_logit += prob * (value - mean);
            }
        }
    }
}
