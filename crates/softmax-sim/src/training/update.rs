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
        workspace.fill(self.questions, parameters, self.prompts());
        let tokens = self.tokens();
        let span = self.slots.start * (tokens / self.slots.len());
        let actions = &self.rollout.actions[span..span + tokens];
        let shape = self.questions.shape();
        let positions = shape.positions;
        workspace.gather_log_probs(shape, self.group_size, actions);
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
        let slopes = std::mem::take(&mut workspace.grad_log_prob);
        workspace.chain(shape, self.group_size, &slopes, actions);
        workspace.grad_log_prob = slopes;
        if method.entropy_bonus != 0.0 || method.reference_kl != 0.0 {
            workspace.chain_regularisers(self, method, &plan);
        }
        workspace.descend(self.questions, parameters, self.prompts(), factor);
        sums
    }
}

fn in_parallel(pieces: usize, work: &(dyn Fn(usize) + Sync)) {
    (0..pieces).into_par_iter().for_each(work);
}

impl Workspace {
    /// Fills in the policy of `parameters` on `prompts`.
    pub(crate) fn fill(&mut self, questions: &Questions, parameters: &[f64], prompts: &[usize]) {
        self.rows.fill(questions, parameters, prompts);
    }

    /// Log-probability of each token under the policy filled in, `[tokens]`.
    pub(crate) fn log_probs(
        &mut self,
        shape: Shape,
        group_size: usize,
        actions: &[u32],
    ) -> Vec<f64> {
        self.gather_log_probs(shape, group_size, actions);
        std::mem::take(&mut self.log_prob)
    }

    fn gather_log_probs(&mut self, shape: Shape, group_size: usize, actions: &[u32]) {
        let tokens = group_size * shape.positions;
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

    /// Moves `parameters` down the gradient chained last, by `factor` times it.
    pub(crate) fn descend(
        &self,
        questions: &Questions,
        parameters: &mut [f64],
        prompts: &[usize],
        factor: f64,
    ) {
        questions.descend(parameters, prompts, &self.d_logits, factor);
    }

    /// Gradient with respect to the logits of what has `slopes`, its derivatives by the tokens' log-probabilities, `[tokens]`.
    ///
    /// A token's `∂L/∂log π(y)` reaches logit `k` times `1[k = y] - π_k`; the parts with `π_k` are
    /// collected first.
    pub(crate) fn chain(
        &mut self,
        Shape { positions, actions, .. }: Shape,
        group_size: usize,
        slopes: &[f64],
        chosen: &[u32],
    ) {
        let (row, tokens) = (positions * actions, group_size * positions);
        self.d_logits.clear();
        self.d_logits.resize(chosen.len() / tokens * row, 0.0);
        self.d_logits
            .par_chunks_exact_mut(row)
            .zip(chosen.par_chunks_exact(tokens))
            .zip(slopes.par_chunks_exact(tokens))
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
    }

    /// Adds the gradients of the entropy bonus and of the reference KL.
    ///
    /// Both are exact in each state and weigh in it what its tokens do. Each is the mean of a function `v` of the action whose own
    /// derivative has mean 0: `-log π` and `log π - log π_ref`. So the gradient is the softmax's Jacobian times `v`, `π (v - E v)`.
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
