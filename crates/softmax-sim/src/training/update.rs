//! One optimiser step: the loss of a mini-batch, chained through the softmax.

use super::{
    method::Method,
    rollout::Rollout,
    rows::{PROMPTS_PER_TASK, Rows},
    tokens::Tokens,
    trust_region::TrustRegion,
};
use crate::environment::Questions;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use rl_losses::{
    Column, CustomLoss, LossOutput, LossSums, StepPlan, Threads, TokenBatch, TokenColumns,
    entropy_bonus,
};
use std::iter::zip;
use std::ops::Range;

pub(crate) struct MiniBatch<'a> {
    pub(crate) questions: &'a Questions,
    pub(crate) rollout: &'a Rollout,
    /// Indices of its prompts in the rollout.
    pub(crate) slots: Range<usize>,
    pub(crate) group_size: usize,
    /// Lengths of at least as many sequences as the mini-batch has.
    pub(crate) sequence_lengths: &'a [usize],
    /// Log-probabilities of the reference policy, `[all prompts, states, actions]`.
    pub(crate) reference: &'a [f64],
    /// Bucket of each sequence, and share of each bucket's tokens that the loss treats, in place of its own.
    pub(crate) by_difficulty: Option<(&'a [usize], &'a [f64])>,
    /// Loss in place of the method's formula.
    pub(crate) custom_loss: Option<&'a CustomLoss>,
    /// Natural-gradient step of a bounded divergence in place of one along the gradient.
    pub(crate) trust_region: Option<TrustRegion>,
}

impl MiniBatch<'_> {
    pub(crate) fn tokens(&self) -> usize {
        self.slots.len() * self.group_size * self.questions.shape().positions
    }

    fn prompts(&self) -> &[usize] {
        &self.rollout.prompts[self.slots.clone()]
    }

    /// Moves `parameters` down the loss of `method`, by `factor` times its gradient.
    pub(crate) fn update(
        &self,
        method: &Method,
        factor: f64,
        parameters: &mut [f64],
        rng: &mut ChaCha8Rng,
    ) -> LossSums {
        let policy = Rows::of(self.questions, parameters, self.prompts());
        let places = self.rollout.tokens().of_prompts(&self.slots);
        let entropy = policy.entropy_of_tokens(places);
        let (loss, plan) = self.evaluate(method, places, (&policy, &entropy), rng);
        let mut d_logits = d_logits(self.questions, &policy, places, &loss.grad_log_prob);
        if method.entropy_bonus != 0.0 || method.reference_kl != 0.0 {
            let weights = plan.weights();
            let (_, d_entropy) = entropy_bonus(method.entropy_bonus, &entropy, &weights);
            let (kl, slopes) = (method.reference_kl, [&d_entropy[..], &weights]);
            self.add_regularisers(&mut d_logits, &policy, places, kl, slopes);
        }
        if let Some(region) = self.trust_region {
            let (states, tokens) = (self.questions.states().states(), self.tokens());
            let weights = places.sums(states, &vec![1.0 / tokens as f64; tokens]);
            region.step(self.questions, parameters, self.prompts(), (&policy, &weights, &d_logits));
        } else {
            self.questions.descend(parameters, self.prompts(), &d_logits, factor);
        }
        loss.sums
    }

    /// The loss of `method` under `policy` over the tokens at `places`, with its slopes by their log-probabilities, and its plan.
    /// `entropy` is the policy's at the tokens, in nats.
    fn evaluate(
        &self,
        method: &Method,
        places: Tokens<'_>,
        (policy, entropy): (&Rows, &[f64]),
        rng: &mut ChaCha8Rng,
    ) -> (LossOutput, StepPlan) {
        let tokens = self.tokens();
        let first = self.slots.start * (tokens / self.slots.len());
        let Rollout { old_log_prob, advantage, old_entropy, sampled_log_prob, .. } = self.rollout;
        let [old_log_prob, advantage, old_entropy, sampled_log_prob] =
            [old_log_prob, advantage, old_entropy, sampled_log_prob]
                .map(|column| &column[first..first + tokens]);
        let log_prob = policy.log_prob_of_tokens(places);
        let columns = TokenColumns { log_prob: &log_prob, old_log_prob, advantage };
        let lengths = &self.sequence_lengths[..self.slots.len() * self.group_size];
        let reference = self.reference_log_prob(method, places);
        let further = [
            Some((Column::Entropy, entropy)),
            Some((Column::OldEntropy, old_entropy)),
            Some((Column::RolloutLogProb, sampled_log_prob)),
            reference.as_deref().map(|reference| (Column::ReferenceLogProb, reference)),
        ];
        let finite = "columns of a finite policy";
        let mut batch = TokenBatch::new(columns, lengths).expect(finite);
        for (name, column) in further.into_iter().flatten() {
            batch = batch.with(name, column).expect(finite);
        }
        let batch = batch.with_threads(Threads::new(rayon::current_num_threads(), in_parallel));
        let mut plan = self.plan(method, &batch, rng);
        if let Some(correction) = method.correction {
            let weights = correction.weights(old_log_prob, sampled_log_prob, lengths);
            plan.reweight(&weights.expect("columns of finite policies, settings in range").weights);
        }
        let part = plan.part(0..tokens);
        let loss = match self.custom_loss {
            Some(custom) => custom.evaluate(&batch, part),
            None => method.loss.evaluate(&batch, part),
        };
        (loss, plan)
    }

    fn plan(&self, method: &Method, batch: &TokenBatch<'_>, rng: &mut ChaCha8Rng) -> StepPlan {
        let plan = match self.by_difficulty {
            None => method.loss.plan(batch, &method.aggregation, rng),
            Some((buckets, fractions)) => {
                method.loss.plan_by_bucket(batch, buckets, fractions, &method.aggregation, rng)
            }
        };
        plan.expect("a loss over the columns of a rollout")
    }

    /// Log-probability of each of `tokens` under the reference policy, `[tokens]`; none of a loss that does not read it.
    fn reference_log_prob(&self, method: &Method, tokens: Tokens<'_>) -> Option<Vec<f64>> {
        let reads = method.loss.requirements().contains(&Column::ReferenceLogProb);
        let sizes = self.questions.states_and_actions();
        reads.then(|| tokens.values_in(self.reference, self.prompts(), sizes).collect())
    }

    /// Adds the gradients of the entropy bonus and of the reference KL, of coefficient `kl`. `d_entropy` and `weights` are the
    /// slopes of the bonus by the tokens' entropies and the weights of the tokens.
    ///
    /// Both are exact in each state and weigh in it what its tokens do. Each is the mean of a function `v` of the action whose own
    /// derivative has mean 0: `-log π` and `log π - log π_ref`. So the gradient is the softmax's Jacobian times `v`, `π (v - E v)`.
    fn add_regularisers(
        &self,
        d_logits: &mut [f64],
        policy: &Rows,
        places: Tokens<'_>,
        kl: f64,
        [d_entropy, weights]: [&[f64]; 2],
    ) {
        let (states_of_prompt, actions) = self.questions.states_and_actions();
        let d_entropies = places.sums(states_of_prompt, d_entropy);
        let weights = places.sums(states_of_prompt, weights);
        let mut values = vec![0.0; actions];
        for (state, d_logits) in d_logits.chunks_exact_mut(actions).enumerate() {
            let d_entropy = d_entropies[state];
            let d_divergence = kl * weights[state];
            let rows = state * actions..(state + 1) * actions;
            let (log_probs, probs) = (&policy.log_probs()[rows.clone()], &policy.probs()[rows]);
            let prompt = self.prompts()[state / states_of_prompt];
            let first = (prompt * states_of_prompt + state % states_of_prompt) * actions;
            let reference = &self.reference[first..first + actions];
            for ((value, log_prob), reference) in values.iter_mut().zip(log_probs).zip(reference) {
                *value = d_divergence * (log_prob - reference) - d_entropy * log_prob;
            }
            let mean: f64 = zip(probs, &values).map(|(p, v)| p * v).sum();
            for ((d_logit, prob), value) in d_logits.iter_mut().zip(probs).zip(&values) {
                *d_logit += prob * (value - mean);
            }
        }
    }
}

fn in_parallel(pieces: usize, work: &(dyn Fn(usize) + Sync)) {
    (0..pieces).into_par_iter().for_each(work);
}

/// Gradient with respect to the logits of `policy` of what has `slopes`, its derivatives by the tokens' log-probabilities, `[tokens]`:
/// `[prompts, states, actions]`.
///
/// A token's `∂L/∂log π(y)` reaches logit `k` times `1[k = y] - π_k`; the parts with `π_k` are
/// collected first.
pub(super) fn d_logits(
    questions: &Questions,
    policy: &Rows,
    tokens: Tokens<'_>,
    slopes: &[f64],
) -> Vec<f64> {
    let (states, actions) = questions.states_and_actions();
    let (row, per_prompt) = (questions.row(), tokens.per_prompt);
    let mut d_logits = vec![0.0; tokens.actions.len() / per_prompt * row];
    d_logits
        .par_chunks_exact_mut(row)
        .zip(tokens.actions.par_chunks_exact(per_prompt))
        .zip(tokens.states.par_chunks_exact(per_prompt))
        .zip(slopes.par_chunks_exact(per_prompt))
        .zip(policy.probs().par_chunks_exact(row))
        .with_min_len(PROMPTS_PER_TASK)
        .for_each_init(
            || vec![0.0; states],
            |totals, ((((d_logits, chosen), states_visited), slopes), probs)| {
                totals.fill(0.0);
                for ((action, state), slope) in zip(zip(chosen, states_visited), slopes) {
                    d_logits[*state as usize * actions + *action as usize] += slope;
                    totals[*state as usize] += slope;
                }
                let each = d_logits.chunks_exact_mut(actions).zip(probs.chunks_exact(actions));
                for ((d_logits, probs), total) in each.zip(totals.iter()) {
                    for (d_logit, prob) in d_logits.iter_mut().zip(probs) {
                        *d_logit -= total * prob;
                    }
                }
            },
        );
    d_logits
}
