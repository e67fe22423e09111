//! One optimiser step: the loss of a mini-batch, chained through the softmax.

use super::{method::Method, rollout::Rollout, rows::Rows, tokens::Tokens, trainer::Trainer};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use rl_losses::{
    Column, LossOutput, LossSums, StepPlan, Threads, TokenBatch, TokenColumns, entropy_bonus,
};
use std::iter::zip;
use std::ops::Range;

impl Trainer<'_> {
    /// Moves `parameters` down the loss of `method` over the prompts `slots` of the rollout.
    ///
    /// `by_difficulty` has the bucket of each response of the rollout, and the share of each bucket's tokens that the loss treats
    /// in place of its own.
    pub(super) fn update(
        &self,
        method: &Method,
        slots: &Range<usize>,
        by_difficulty: Option<&(Vec<usize>, Vec<f64>)>,
        parameters: &mut [f64],
        rng: &mut ChaCha8Rng,
    ) -> LossSums {
        let (questions, prompts) =
            (&self.environment.training, &self.rollout.prompts[slots.clone()]);
        let policy = Rows::of(questions, parameters, prompts);
        let places = self.rollout.tokens().of_prompts(slots);
        let entropy = policy.entropy_of_tokens(places);
        let (loss, plan) = self.loss(method, slots, by_difficulty, (&policy, &entropy), rng);
        let mut d_logits = policy.d_logits(questions, places, &loss.grad_log_prob);
        if method.entropy_bonus != 0.0 || method.reference_kl != 0.0 {
            let weights = plan.weights();
            let (_, d_entropy) = entropy_bonus(method.entropy_bonus, &entropy, &weights);
            let (kl, slopes) = (method.reference_kl, [&d_entropy[..], &weights]);
            self.add_regularisers(&mut d_logits, &policy, (prompts, places), kl, slopes);
        }
        let tokens = places.actions.len();
        if let Some(region) = self.schedule.trust_region {
            let states = questions.states().states();
            let weights = places.sums(states, &vec![1.0 / tokens as f64; tokens]);
            region.step(questions, parameters, prompts, (&policy, &weights, &d_logits));
        } else {
            questions.descend(parameters, prompts, &d_logits, self.schedule.factor(tokens));
        }
        loss.sums
    }

    /// The loss of `method` under `policy` over the prompts `slots`, with its slopes by the tokens' log-probabilities, and its plan.
    /// `entropy` is the policy's at the tokens, in nats.
    fn loss(
        &self,
        method: &Method,
        slots: &Range<usize>,
        by_difficulty: Option<&(Vec<usize>, Vec<f64>)>,
        (policy, entropy): (&Rows, &[f64]),
        rng: &mut ChaCha8Rng,
    ) -> (LossOutput, StepPlan) {
        let places = self.rollout.tokens().of_prompts(slots);
        let span = slots.start * places.per_prompt..slots.end * places.per_prompt;
        let Rollout { old_log_prob, advantage, old_entropy, sampled_log_prob, .. } = &self.rollout;
        let [old_log_prob, advantage, old_entropy, sampled_log_prob] =
            [old_log_prob, advantage, old_entropy, sampled_log_prob]
                .map(|column| &column[span.clone()]);
        let log_prob = policy.log_prob_of_tokens(places);
        let columns = TokenColumns { log_prob: &log_prob, old_log_prob, advantage };
        let samples = slots.start * self.schedule.group_size..slots.end * self.schedule.group_size;
        let lengths = &self.sequence_lengths[..samples.len()];
        let reads = method.loss.requirements().contains(&Column::ReferenceLogProb);
        let sizes = self.environment.training.states_and_actions();
        let prompts = &self.rollout.prompts[slots.clone()];
        let reference: Option<Vec<f64>> =
            reads.then(|| places.values_in(&self.reference, prompts, sizes).collect());
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
        let (loss, aggregation) = (&method.loss, &method.aggregation);
        let plan = match by_difficulty {
            None => loss.plan(&batch, aggregation, rng),
            Some((buckets, fractions)) => {
                loss.plan_by_bucket(&batch, &buckets[samples], fractions, aggregation, rng)
            }
        };
        let mut plan = plan.expect("a loss over the columns of a rollout");
        if let Some(correction) = method.correction {
            let weights = correction.weights(old_log_prob, sampled_log_prob, lengths);
            plan.reweight(&weights.expect("columns of finite policies, settings in range").weights);
        }
        let part = plan.part(0..span.len());
        let output = match &self.custom_loss {
            Some(custom) => custom.evaluate(&batch, part),
            None => loss.evaluate(&batch, part),
        };
        (output, plan)
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
        (prompts, places): (&[usize], Tokens<'_>),
        kl: f64,
        [d_entropy, weights]: [&[f64]; 2],
    ) {
        let (states_of_prompt, actions) = self.environment.training.states_and_actions();
        let d_entropies = places.sums(states_of_prompt, d_entropy);
        let weights = places.sums(states_of_prompt, weights);
        let mut values = vec![0.0; actions];
        for (state, d_logits) in d_logits.chunks_exact_mut(actions).enumerate() {
            let d_entropy = d_entropies[state];
            let d_divergence = kl * weights[state];
            let rows = state * actions..(state + 1) * actions;
            let (log_probs, probs) = (&policy.log_probs()[rows.clone()], &policy.probs()[rows]);
            let prompt = prompts[state / states_of_prompt];
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
