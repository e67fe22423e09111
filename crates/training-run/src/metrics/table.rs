//! Name, unit and definition of every metric, once.

use super::validation::Validation;

/// One metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// Name in `metrics.jsonl`.
    pub name: &'static str,
    /// Unit; `1` for a pure number, a `fraction` lies in 0..=1.
    pub unit: &'static str,
    /// Definition, and the scope over which it is computed.
    pub definition: &'static str,
}

const fn row(name: &'static str, unit: &'static str, definition: &'static str) -> Metric {
    Metric { name, unit, definition }
}

/// Every metric but the families of [`Validation`], grouped.
pub const METRICS: &[Metric] = &[
    row(
        "training/global_step",
        "step",
        "Training steps done, this one included; each is one rollout batch.",
    ),
    row("training/epoch", "epoch", "Whole passes over the training questions before this step."),
    row("training/omitted_metrics", "1", "Metrics left out because their value was not finite."),
    row("critic/score/mean", "reward", "Mean score of the verifier."),
    row("critic/rewards/mean", "reward", "Mean reward over all responses."),
    row("critic/rewards/max", "reward", "Largest reward of a response."),
    row("critic/rewards/min", "reward", "Smallest reward of a response."),
    row("critic/advantages/mean", "reward", "Mean advantage over all response tokens."),
    row("critic/advantages/max", "reward", "Largest advantage of a response token."),
    row("critic/advantages/min", "reward", "Smallest advantage of a response token."),
    row(
        "response_length/mean",
        "token",
        "Mean length of a response, its end-of-sequence token included.",
    ),
    row("response_length/max", "token", "Length of the longest response."),
    row("response_length/min", "token", "Length of the shortest response."),
    row(
        "response_length/clip_ratio",
        "fraction",
        "Responses of length max_response_tokens (verl's name).",
    ),
    row("prompt_length/mean", "token", "Mean length of a prompt, over responses."),
    row(
        "rollout/truncated_fraction",
        "fraction",
        "Responses cut at max_response_tokens before an end-of-sequence token.",
    ),
    row("train/num_gen_batches", "1", "Rollout batches made by dynamic sampling (verl's name)."),
    row("sampling/asked_groups", "1", "Groups sampled."),
    row(
        "sampling/kept_fraction",
        "fraction",
        "Sampled groups fit to train on: rewards differ, share of right responses within the band.",
    ),
    row(
        "sampling/carried_groups",
        "1",
        "Groups trained on that an earlier step sampled beyond its need.",
    ),
    row(
        "sampling/discarded_groups",
        "1",
        "Groups fit to train on, thrown away because they waited too long.",
    ),
    row("sampling/missing_groups", "1", "Groups still lacking after the last rollout batch."),
    row("sampling/pass_rate_none", "fraction", "Sampled groups without a right response."),
    row(
        "sampling/pass_rate_low",
        "fraction",
        "Sampled groups with some, but at most a third of responses right.",
    ),
    row(
        "sampling/pass_rate_middle",
        "fraction",
        "Sampled groups with more than a third and less than two thirds right.",
    ),
    row(
        "sampling/pass_rate_high",
        "fraction",
        "Sampled groups with at least two thirds, but not all, right.",
    ),
    row("sampling/pass_rate_all", "fraction", "Sampled groups of right responses only."),
    row(
        "rollout/unparsed_fraction",
        "fraction",
        "Responses without an answer that the verifier can read.",
    ),
    row(
        "rollout/informative_group_fraction",
        "fraction",
        "Groups whose rewards differ: only these give a gradient.",
    ),
    row(
        "rollout/rerouted_fraction",
        "1",
        "Mixtures of experts: fraction of the experts recorded in sampling that the policy's router would not have chosen before the update.",
    ),
    row(
        "rollout/staleness",
        "1",
        "With rollout.staleness: mean over response tokens of the optimiser steps since the weights that drew the token.",
    ),
    row(
        "rollout/staleness_kl",
        "nat",
        "With rollout.staleness: mean over response tokens of rollout_log_prob - old_log_prob, the policy's movement since included.",
    ),
    row(
        "rollout/mismatch_kl",
        "nat",
        "Mean over response tokens of rollout_log_prob - old_log_prob (k1 estimate of the KL between sampler and trainer); 0 if both run the same kernels.",
    ),
    row(
        "rollout/mismatch_k3",
        "nat",
        "Correction: mean over response tokens of exp(l) - 1 - l, l = old_log_prob - rollout_log_prob (k3 estimate, never negative).",
    ),
    row(
        "rollout/correction_weight",
        "1",
        "Correction: mean importance weight of a response token, before normalisation.",
    ),
    row(
        "rollout/correction_effective_fraction",
        "fraction",
        "Correction: effective sample size of the importance weights over response tokens; 1 if all weigh alike.",
    ),
    row(
        "rollout/correction_above_fraction",
        "fraction",
        "Correction: importance weights (of tokens or responses, by level) above the bound.",
    ),
    row(
        "rollout/correction_below_fraction",
        "fraction",
        "Correction: importance weights below the lower bound, if there is one.",
    ),
    row(
        "rollout/correction_vetoed_fraction",
        "fraction",
        "Correction: responses that `veto` or `reject` leaves out.",
    ),
    row(
        "rollout/retokenised_fraction",
        "fraction",
        "Servers: responses without tokens from the engine, whose text gives another number of tokens than it drew.",
    ),
    row(
        "rollout/dropped_groups",
        "1",
        "Environment: groups left out because a harness failed, took too long or gave no reward.",
    ),
    row(
        "rollout/split_sequences",
        "1",
        "Environment: prompts that did not begin with what was recorded, each of which begins a sequence of its own.",
    ),
    row("rollout/turns", "1", "Environment: mean number of runs of drawn tokens of a rollout."),
    row(
        "actor/entropy",
        "nat",
        "Mean over response tokens of the policy's exact entropy before the update, over the whole vocabulary, at the sampling temperature.",
    ),
    row(
        "actor/pg_loss",
        "reward",
        "Policy loss without the entropy bonus, mean over optimiser steps.",
    ),
    row(
        "actor/ppo_kl",
        "nat",
        "Mean over trained tokens of old_log_prob - log_prob (k1 estimate), over all optimiser steps.",
    ),
    row(
        "actor/pg_clipfrac",
        "fraction",
        "Trained tokens in the flat part of the clipped surrogate.",
    ),
    row(
        "actor/pg_clipfrac_lower",
        "fraction",
        "Trained tokens held by the dual clip: negative advantage, ratio above its bound.",
    ),
    row(
        "actor/grad_norm",
        "1",
        "L2 norm of the whole gradient before clipping, mean over optimiser steps.",
    ),
    row("actor/lr", "1", "Learning rate of the last optimiser step."),
    row("entropy/at_temperature_1", "nat", "As actor/entropy, but at temperature 1."),
    row(
        "entropy/measured_change",
        "nat",
        "Mean entropy after minus before the update, at `entropy/probe_tokens` response tokens of the step.",
    ),
    row(
        "entropy/predicted_change_lemma1",
        "nat",
        "First-order prediction of entropy/measured_change by lemma 1 of docs/theory.md: minus the mean covariance of log-probability and logit change, on the same states.",
    ),
    row(
        "entropy/probe_tokens",
        "tokens",
        "Response tokens, drawn at random from the step, at which entropy/measured_change is measured.",
    ),
    row(
        "cov/mean",
        "nat·reward",
        "Mean over response tokens of (A - mean A)(log_prob - mean log_prob), means over the tokens of the step.",
    ),
    row(
        "cov/top_0.0002",
        "nat·reward",
        "The same over the largest 0.0002 of the tokens (at least one).",
    ),
    row(
        "cov/top_0.002",
        "nat·reward",
        "The same over the largest 0.002 of the tokens (at least one).",
    ),
    row(
        "cov/top_0.02",
        "nat·reward",
        "The same over the largest 0.02 of the tokens (at least one).",
    ),
    row("cov/top_0.2", "nat·reward", "The same over the largest 0.2 of the tokens (at least one)."),
    row("cov/top_0.5", "nat·reward", "The same over the largest 0.5 of the tokens (at least one)."),
    row(
        "cov/easy_prompts",
        "nat·reward",
        "Mean, over the prompts of which half of the responses or more are right, of cov/mean among the tokens of the prompt's responses.",
    ),
    row(
        "cov/hard_prompts",
        "nat·reward",
        "The same over the prompts of which fewer than half of the responses are right.",
    ),
    row(
        "cov/selected_fraction",
        "fraction",
        "Trained tokens that the loss selects: dropped by Clip-Cov, penalised by KL-Cov.",
    ),
    row(
        "cov/theorem1",
        "nat·reward",
        "Mean over response tokens of (pi·A - mean pi·A)(log_prob - mean log_prob), pi = exp(log_prob): the covariance of theorem 1 of docs/theory.md.",
    ),
    row(
        "entropy/theorem1_batch",
        "nat·reward",
        "Entropy change that Theorem 1 predicts for a step of size 1 in the logits, covariances centred over the batch: minus cov/theorem1. Shared weights move otherwise: compare signs and ranks.",
    ),
    row(
        "entropy/theorem1_state",
        "nat·reward",
        "The same, centred in each state as in the theory.",
    ),
    row(
        "entropy/theorem2_batch",
        "nat·reward",
        "The same of Theorem 2 (natural gradient), centred over the batch: minus cov/mean, up to the divisor.",
    ),
    row("entropy/theorem2_state", "nat·reward", "The same, centred in each state."),
    row(
        "quadrant/up_likely",
        "fraction",
        "Response tokens of positive advantage, likelier than their state's mean (log_prob above minus entropy): they lower the entropy.",
    ),
    row("quadrant/up_unlikely", "fraction", "Positive advantage, less likely: they raise it."),
    row("quadrant/down_likely", "fraction", "Negative advantage, likelier: they raise it."),
    row("quadrant/down_unlikely", "fraction", "Negative advantage, less likely: they lower it."),
    row(
        "actor/kl_loss",
        "nat",
        "Estimated divergence from the reference in the loss before its coefficient, mean over optimiser steps.",
    ),
    row(
        "actor/reference_kl",
        "nat",
        "Mean over response tokens of log_prob - reference_log_prob before the first update (k1 estimate of KL(policy, reference)).",
    ),
    row("actor/kl_coef", "reward/nat", "Coefficient of the divergence from the reference."),
    row(
        "actor/entropy_coeff",
        "reward/nat",
        "Weight of the entropy bonus, set by algorithm.adaptive_entropy.",
    ),
    row(
        "reward_model/loss",
        "nat",
        "Cross-entropy of right and wrong under the implicit reward model, mean over responses, each before the model learns from it.",
    ),
    row(
        "reward_model/accuracy",
        "fraction",
        "Responses whose reward has the sign of their outcome, before the model learns from them; a reward of 0, to rounding, counts one half.",
    ),
    row(
        "reward_model/pair_accuracy",
        "fraction",
        "Pairs of a right and a wrong response to one prompt in which the right one has the higher reward, before learning; ties count one half.",
    ),
    row(
        "reward_model/reward",
        "reward",
        "Mean over responses of the summed process rewards that make the advantages (verl's name).",
    ),
    row(
        "reward_model/grad_norm",
        "1",
        "L2 norm of its gradient before clipping, mean over its optimiser steps.",
    ),
    row("reward_model/lr", "1", "Learning rate of its last optimiser step."),
    row(
        "reward_model/skipped_updates",
        "1",
        "Its optimiser steps left out because their gradient was not finite.",
    ),
    row(
        "control/knob",
        "1",
        "Number of the policy loss that the thermostat or the annealing moves.",
    ),
    row("control/target_entropy", "nat", "Entropy that the thermostat aims at."),
    row(
        "control/knob_hardest",
        "1",
        "With accuracy_edges, instead of control/knob: selected share of the tokens of the hardest prompts.",
    ),
    row("control/knob_easiest", "1", "Selected share of the tokens of the easiest prompts."),
    row(
        "control/entropy_hardest",
        "nat",
        "Mean entropy over response tokens of the hardest prompts; absent if there are none.",
    ),
    row("control/entropy_easiest", "nat", "The same of the easiest prompts."),
    row(
        "control/saturated_steps",
        "step",
        "Consecutive steps in which the thermostat asked for more than its bounds allow.",
    ),
    row("control/rate_factor", "1", "Factor on the learning rate by guard.action = \"back-off\"."),
    row(
        "training/skipped_updates",
        "1",
        "Optimiser steps left out because their gradient was not finite.",
    ),
    row(
        "law/a",
        "reward",
        "Coefficient a of R = -a·exp(H) + b, fitted to the evaluations so far: H entropy of the policy, R held-out accuracy, mean over sources. Without evaluations: entropy and reward of all steps so far.",
    ),
    row("law/b", "reward", "Coefficient b of that law."),
    row("law/ceiling", "reward", "Reward the law gives at entropy 0: b - a."),
    row("law/ceiling_low", "reward", "Lower end of the 0.95 interval of that reward."),
    row("law/ceiling_high", "reward", "Upper end of that interval."),
    row("law/points", "1", "Points of the fit."),
    row(
        "law/from_evaluations",
        "1",
        "1 if the points are evaluations, 0 if they are rewards of steps.",
    ),
    row("law/r_squared", "fraction", "Share of the variance of R that the law explains."),
    row("law/linear_r_squared", "fraction", "The same of a straight line in H."),
    row("law/rmse", "reward", "Root of the mean squared residual of the law."),
    row("law/linear_rmse", "reward", "The same of the straight line."),
    row(
        "law/aic_over_linear",
        "1",
        "Akaike information criterion of the line minus that of the law: above 2 supports the law, below -2 the line.",
    ),
    row(
        "law/entropy_spent",
        "nat",
        "Entropy over the first tenth of the points minus over the last tenth.",
    ),
    row(
        "law/gain",
        "reward",
        "Reward over the last tenth of the points minus over the first tenth.",
    ),
    row(
        "law/gain_left",
        "reward",
        "law/ceiling, at most the largest possible reward, minus the law's reward at the entropy of the last point; absent where law/ceiling_low exceeds that.",
    ),
    row("timing_s/gen", "s", "Rollout."),
    row(
        "timing_s/reward",
        "s",
        "Verifier, after the last response was sampled; before that it runs beside the sampling.",
    ),
    row("timing_s/old_log_prob", "s", "Pass for old log-probabilities and entropy."),
    row(
        "timing_s/reward_model",
        "s",
        "Implicit reward model and its reference: forward passes and optimiser steps.",
    ),
    row("timing_s/update_actor", "s", "All optimiser steps."),
    row(
        "timing_s/plan",
        "s",
        "Planning the optimiser steps (selection and weights of tokens, over all ranks); a part of timing_s/update_actor.",
    ),
    row(
        "timing_s/probe",
        "s",
        "Measuring the entropy's change, before and after the update; 0 with metrics.probe_tokens = 0.",
    ),
    row("timing_s/step", "s", "Whole step, without evaluation and checkpoint."),
    row("perf/total_num_tokens", "token", "Prompt and response tokens of all sequences."),
    row("perf/throughput", "token/s", "perf/total_num_tokens / timing_s/step, per device."),
    row(
        "perf/generated_tokens_per_second",
        "token/s",
        "Response tokens sampled / timing_s/gen; absent if rollouts are replayed.",
    ),
    row(
        "perf/max_memory_bytes",
        "byte",
        "Peak memory since the start: of the device on CUDA, resident on CPU.",
    ),
    row(
        "parallel/bytes_sent",
        "byte",
        "Tensor bytes that the first rank sent to others, by the algorithms of Gloo and NCCL, without transport overhead; this family is absent with one process.",
    ),
    row(
        "parallel/all_reduce_bytes",
        "byte",
        "Of parallel/bytes_sent: sums over ranks that each rank gets whole.",
    ),
    row(
        "parallel/all_gather_bytes",
        "byte",
        "Of parallel/bytes_sent: gathered parameters, statistics and messages.",
    ),
    row(
        "parallel/reduce_scatter_bytes",
        "byte",
        "Of parallel/bytes_sent: gradients summed to shards.",
    ),
    row(
        "parallel/wait_seconds",
        "s",
        "Time in which the first rank only waited for an operation between ranks; on CUDA, where operations are queued, not the GPU's.",
    ),
];

/// Prints `docs/metrics.md` from [`METRICS`].
pub fn metrics_page() -> String {
    let mut page = String::from(
        "# Metrics\n\n\
         One JSON object a training step in `runs/NAME/metrics.jsonl`, `step` first. Names follow verl's where the\n\
         meaning is the same. A key whose value would not be finite (the mean of nothing) is absent. Values are of the\n\
         step; `timing_s` is wall time. \"Correction\" needs [`rollout.correction`](rollout.md#other-engines). This page is printed from\n\
         `METRICS`: `UPDATE_DOCS=1 cargo test -p training-run --test it documents`.\n\n\
         | name | unit | definition |\n|---|---|---|\n",
    );
    for Metric { name, unit, definition } in METRICS {
        page.extend(["| `", name, "` | ", unit, " | ", definition, " |\n"]);
    }
    for family in Validation::FAMILIES {
        page.extend(["| `", family.pattern(), "` | fraction | ", family.definition(), " |\n"]);
    }
    page + FOOTER
}

/// Links at the end of the page, in the order of `docs/README.md`.
const FOOTER: &str = "\n---\n\n← [Reading results](reading-results.md) · \
                      [Contents](README.md) · [Evaluation](evaluation.md) →\n";
