//! Name, unit and definition of every metric, once.

/// One metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// Name, as `metrics.jsonl` or the results of an evaluation have it.
    pub name: &'static str,
    /// Unit; `1` for a pure number, a `fraction` lies in 0..=1.
    pub unit: &'static str,
    /// Definition, and the scope over which it is computed.
    pub definition: &'static str,
}

/// A table of names, units and definitions.
macro_rules! metrics {
    ($($name:literal, $unit:literal, $definition:literal;)*) => {
        &[$(Metric { name: $name, unit: $unit, definition: $definition }),*]
    };
}

/// Every metric but the families of [`Validation`](super::Validation), grouped.
pub const METRICS: &[Metric] = metrics! {
    "training/global_step", "step", "Training steps done, this one included; each is one rollout batch.";
    "training/epoch", "epoch", "Whole passes over the training questions before this step.";
    "training/omitted_metrics", "1", "Metrics left out because their value was not finite.";
    "critic/score/mean", "reward", "Mean score of the verifier.";
    "critic/rewards/mean", "reward", "Mean reward over all responses.";
    "critic/rewards/max", "reward", "Largest reward of a response.";
    "critic/rewards/min", "reward", "Smallest reward of a response.";
    "critic/advantages/mean", "reward", "Mean advantage over all response tokens.";
    "critic/advantages/max", "reward", "Largest advantage of a response token.";
    "critic/advantages/min", "reward", "Smallest advantage of a response token.";
    "response_length/mean", "token", "Mean length of a response, its end-of-sequence token included.";
    "response_length/max", "token", "Length of the longest response.";
    "response_length/min", "token", "Length of the shortest response.";
    "response_length/clip_ratio", "fraction", "Responses of length max_response_tokens (verl's name).";
    "prompt_length/mean", "token", "Mean length of a prompt, over responses.";
    "rollout/truncated_fraction", "fraction", "Responses cut at max_response_tokens before an end-of-sequence token.";
    "train/num_gen_batches", "1", "Rollout batches made by dynamic sampling (verl's name).";
    "sampling/asked_groups", "1", "Groups sampled.";
    "sampling/kept_fraction", "fraction", "Sampled groups fit to train on: rewards differ, share of right responses within the band.";
    "sampling/carried_groups", "1", "Groups trained on that an earlier step sampled beyond its need.";
    "sampling/discarded_groups", "1", "Groups fit to train on, thrown away because they waited too long.";
    "sampling/missing_groups", "1", "Groups still lacking after the last rollout batch.";
    "sampling/pass_rate_none", "fraction", "Sampled groups without a right response.";
    "sampling/pass_rate_low", "fraction", "Sampled groups with some, but at most a third of responses right.";
    "sampling/pass_rate_middle", "fraction", "Sampled groups with more than a third and less than two thirds right.";
    "sampling/pass_rate_high", "fraction", "Sampled groups with at least two thirds, but not all, right.";
    "sampling/pass_rate_all", "fraction", "Sampled groups of right responses only.";
    "rollout/unparsed_fraction", "fraction", "Responses without an answer that the verifier can read.";
    "rollout/informative_group_fraction", "fraction", "Groups whose rewards differ: only these give a gradient.";
    "rollout/rerouted_fraction", "1",
        "Mixtures of experts: fraction of the experts recorded in sampling that the policy's router would not have chosen before the update.";
    "rollout/staleness", "1", "With rollout.staleness: mean over response tokens of the optimiser steps since the weights that drew the token.";
    "rollout/staleness_kl", "nat",
        "With rollout.staleness: mean over response tokens of rollout_log_prob - old_log_prob, the policy's movement since included.";
    "rollout/mismatch_kl", "nat",
        "Mean over response tokens of rollout_log_prob - old_log_prob (k1 estimate of the KL between sampler and trainer); 0 if both run the same kernels.";
    "rollout/mismatch_k3", "nat",
        "Correction: mean over response tokens of exp(l) - 1 - l, l = old_log_prob - rollout_log_prob (k3 estimate, never negative).";
    "rollout/correction_weight", "1", "Correction: mean importance weight of a response token, before normalisation.";
    "rollout/correction_effective_fraction", "fraction",
        "Correction: effective sample size of the importance weights over response tokens; 1 if all weigh alike.";
    "rollout/correction_above_fraction", "fraction", "Correction: importance weights (of tokens or responses, by level) above the bound.";
    "rollout/correction_below_fraction", "fraction", "Correction: importance weights below the lower bound, if there is one.";
    "rollout/correction_vetoed_fraction", "fraction", "Correction: responses that `veto` or `reject` leaves out.";
    "rollout/retokenised_fraction", "fraction",
        "Servers: responses without tokens from the engine, whose text gives another number of tokens than it drew.";
    "rollout/dropped_groups", "1", "Environment: groups left out because a harness failed, took too long or gave no reward.";
    "rollout/split_sequences", "1", "Environment: prompts that did not begin with what was recorded, each of which begins a sequence of its own.";
    "rollout/turns", "1", "Environment: mean number of runs of drawn tokens of a rollout.";
    "actor/entropy", "nat",
        "Mean over response tokens of the policy's exact entropy before the update, over the whole vocabulary, at the sampling temperature.";
    "actor/pg_loss", "reward", "Policy loss without the entropy bonus, mean over optimiser steps.";
    "actor/ppo_kl", "nat", "Mean over trained tokens of old_log_prob - log_prob (k1 estimate), over all optimiser steps.";
    "actor/pg_clipfrac", "fraction", "Trained tokens in the flat part of the clipped surrogate.";
    "actor/pg_clipfrac_lower", "fraction", "Trained tokens held by the dual clip: negative advantage, ratio above its bound.";
    "actor/grad_norm", "1", "L2 norm of the whole gradient before clipping, mean over optimiser steps.";
    "actor/lr", "1", "Learning rate of the last optimiser step.";
    "entropy/at_temperature_1", "nat", "As actor/entropy, but at temperature 1.";
    "entropy/measured_change", "nat", "Mean entropy after minus before the update, at `entropy/probe_tokens` response tokens of the step.";
    "entropy/predicted_change_lemma1", "nat",
        "First-order prediction of entropy/measured_change by lemma 1 of docs/theory.md: minus the mean covariance of log-probability and logit change, on the same states.";
    "entropy/probe_tokens", "tokens", "Response tokens, drawn at random from the step, at which entropy/measured_change is measured.";
    "cov/mean", "nat·reward", "Mean over response tokens of (A - mean A)(log_prob - mean log_prob), means over the tokens of the step.";
    "cov/top_0.0002", "nat·reward", "The same over the largest 0.0002 of the tokens (at least one).";
    "cov/top_0.002", "nat·reward", "The same over the largest 0.002 of the tokens (at least one).";
    "cov/top_0.02", "nat·reward", "The same over the largest 0.02 of the tokens (at least one).";
    "cov/top_0.2", "nat·reward", "The same over the largest 0.2 of the tokens (at least one).";
    "cov/top_0.5", "nat·reward", "The same over the largest 0.5 of the tokens (at least one).";
    "cov/easy_prompts", "nat·reward",
        "Mean, over the prompts of which half of the responses or more are right, of cov/mean among the tokens of the prompt's responses.";
    "cov/hard_prompts", "nat·reward", "The same over the prompts of which fewer than half of the responses are right.";
    "cov/selected_fraction", "fraction", "Trained tokens that the loss selects: dropped by Clip-Cov, penalised by KL-Cov.";
    "cov/theorem1", "nat·reward",
        "Mean over response tokens of (pi·A - mean pi·A)(log_prob - mean log_prob), pi = exp(log_prob): the covariance of theorem 1 of docs/theory.md.";
    "entropy/theorem1_batch", "nat·reward",
        "Entropy change that Theorem 1 predicts for a step of size 1 in the logits, covariances centred over the batch: minus cov/theorem1. Shared weights move otherwise: compare signs and ranks.";
    "entropy/theorem1_state", "nat·reward", "The same, centred in each state as in the theory.";
    "entropy/theorem2_batch", "nat·reward", "The same of Theorem 2 (natural gradient), centred over the batch: minus cov/mean, up to the divisor.";
    "entropy/theorem2_state", "nat·reward", "The same, centred in each state.";
    "quadrant/up_likely", "fraction",
        "Response tokens of positive advantage, likelier than their state's mean (log_prob above minus entropy): they lower the entropy.";
    "quadrant/up_unlikely", "fraction", "Positive advantage, less likely: they raise it.";
    "quadrant/down_likely", "fraction", "Negative advantage, likelier: they raise it.";
    "quadrant/down_unlikely", "fraction", "Negative advantage, less likely: they lower it.";
    "actor/kl_loss", "nat", "Estimated divergence from the reference in the loss before its coefficient, mean over optimiser steps.";
    "actor/reference_kl", "nat",
        "Mean over response tokens of log_prob - reference_log_prob before the first update (k1 estimate of KL(policy, reference)).";
    "actor/kl_coef", "reward/nat", "Coefficient of the divergence from the reference.";
    "actor/entropy_coeff", "reward/nat", "Weight of the entropy bonus, set by algorithm.adaptive_entropy.";
    "reward_model/loss", "nat",
        "Cross-entropy of right and wrong under the implicit reward model, mean over responses, each before the model learns from it.";
    "reward_model/accuracy", "fraction",
        "Responses whose reward has the sign of their outcome, before the model learns from them; a reward of 0, to rounding, counts one half.";
    "reward_model/pair_accuracy", "fraction",
        "Pairs of a right and a wrong response to one prompt in which the right one has the higher reward, before learning; ties count one half.";
    "reward_model/reward", "reward", "Mean over responses of the summed process rewards that make the advantages (verl's name).";
    "reward_model/grad_norm", "1", "L2 norm of its gradient before clipping, mean over its optimiser steps.";
    "reward_model/lr", "1", "Learning rate of its last optimiser step.";
    "reward_model/skipped_updates", "1", "Its optimiser steps left out because their gradient was not finite.";
    "control/knob", "1", "Number of the policy loss that the thermostat or the annealing moves.";
    "control/target_entropy", "nat", "Entropy that the thermostat aims at.";
    "control/knob_hardest", "1", "With accuracy_edges, instead of control/knob: selected share of the tokens of the hardest prompts.";
    "control/knob_easiest", "1", "Selected share of the tokens of the easiest prompts.";
    "control/entropy_hardest", "nat", "Mean entropy over response tokens of the hardest prompts; absent if there are none.";
    "control/entropy_easiest", "nat", "The same of the easiest prompts.";
    "control/saturated_steps", "step", "Consecutive steps in which the thermostat asked for more than its bounds allow.";
    "control/rate_factor", "1", "Factor on the learning rate by guard.action = \"back-off\".";
    "training/skipped_updates", "1", "Optimiser steps left out because their gradient was not finite.";
    "law/a", "reward",
        "Coefficient a of R = -a·exp(H) + b, fitted to the evaluations so far: H entropy of the policy, R held-out accuracy, mean over sources. Without evaluations: entropy and reward of all steps so far.";
    "law/b", "reward", "Coefficient b of that law.";
    "law/ceiling", "reward", "Reward the law gives at entropy 0: b - a.";
    "law/ceiling_low", "reward", "Lower end of the 0.95 interval of that reward.";
    "law/ceiling_high", "reward", "Upper end of that interval.";
    "law/points", "1", "Points of the fit.";
    "law/from_evaluations", "1", "1 if the points are evaluations, 0 if they are rewards of steps.";
    "law/r_squared", "fraction", "Share of the variance of R that the law explains.";
    "law/linear_r_squared", "fraction", "The same of a straight line in H.";
    "law/rmse", "reward", "Root of the mean squared residual of the law.";
    "law/linear_rmse", "reward", "The same of the straight line.";
    "law/aic_over_linear", "1", "Akaike information criterion of the line minus that of the law: above 2 supports the law, below -2 the line.";
    "law/entropy_spent", "nat", "Entropy over the first tenth of the points minus over the last tenth.";
    "law/gain", "reward", "Reward over the last tenth of the points minus over the first tenth.";
    "law/gain_left", "reward",
        "law/ceiling, at most the largest possible reward, minus the law's reward at the entropy of the last point; absent where law/ceiling_low exceeds that.";
    "timing_s/gen", "s", "Rollout.";
    "timing_s/reward", "s", "Verifier, after the last response was sampled; before that it runs beside the sampling.";
    "timing_s/old_log_prob", "s", "Pass for old log-probabilities and entropy.";
    "timing_s/reward_model", "s", "Implicit reward model and its reference: forward passes and optimiser steps.";
    "timing_s/update_actor", "s", "All optimiser steps.";
    "timing_s/plan", "s", "Planning the optimiser steps (selection and weights of tokens, over all ranks); a part of timing_s/update_actor.";
    "timing_s/probe", "s", "Measuring the entropy's change, before and after the update; 0 with metrics.probe_tokens = 0.";
    "timing_s/step", "s", "Whole step, without evaluation and checkpoint.";
    "perf/total_num_tokens", "token", "Prompt and response tokens of all sequences.";
    "perf/throughput", "token/s", "perf/total_num_tokens / timing_s/step, per device.";
    "perf/generated_tokens_per_second", "token/s", "Response tokens sampled / timing_s/gen; absent if rollouts are replayed.";
    "perf/max_memory_bytes", "byte", "Peak memory since the start: of the device on CUDA, resident on CPU.";
    "parallel/bytes_sent", "byte",
        "Tensor bytes that the first rank sent to others, by the algorithms of Gloo and NCCL, without transport overhead; this family is absent with one process.";
    "parallel/all_reduce_bytes", "byte", "Of parallel/bytes_sent: sums over ranks that each rank gets whole.";
    "parallel/all_gather_bytes", "byte", "Of parallel/bytes_sent: gathered parameters, statistics and messages.";
    "parallel/reduce_scatter_bytes", "byte", "Of parallel/bytes_sent: gradients summed to shards.";
    "parallel/wait_seconds", "s",
        "Time in which the first rank only waited for an operation between ranks; on CUDA, where operations are queued, not the GPU's.";
};
