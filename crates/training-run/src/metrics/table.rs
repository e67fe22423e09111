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
        "Training steps done, this one included; a step is one rollout batch.",
    ),
    row("training/epoch", "epoch", "Whole passes over the training questions before this step."),
    row(
        "training/omitted_metrics",
        "1",
        "Metrics of this step left out because their value was not finite.",
    ),
    row(
        "critic/score/mean",
        "reward",
        "Mean score of the verifier over all responses of the step.",
    ),
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
        "Responses whose length equals max_response_tokens (verl's name).",
    ),
    row("prompt_length/mean", "token", "Mean length of a prompt over the responses of the step."),
    row(
        "rollout/truncated_fraction",
        "fraction",
        "Responses cut at max_response_tokens before an end-of-sequence token.",
    ),
    row(
        "train/num_gen_batches",
        "1",
        "Rollout batches that dynamic sampling made for this step (verl's name).",
    ),
    row("sampling/asked_groups", "1", "Groups sampled in this step."),
    row(
        "sampling/kept_fraction",
        "fraction",
        "Sampled groups that could be trained on: rewards that differ, share of right responses within the band.",
    ),
    row(
        "sampling/carried_groups",
        "1",
        "Groups trained on in this step that an earlier one had sampled beyond its need.",
    ),
    row(
        "sampling/discarded_groups",
        "1",
        "Groups that could be trained on and were thrown away because they had waited too long.",
    ),
    row("sampling/missing_groups", "1", "Groups that the step lacks after its last rollout batch."),
    row("sampling/pass_rate_none", "fraction", "Sampled groups without a right response."),
    row(
        "sampling/pass_rate_low",
        "fraction",
        "Sampled groups of which some, and at most a third of the responses are right.",
    ),
    row(
        "sampling/pass_rate_middle",
        "fraction",
        "Sampled groups of which more than a third and less than two thirds of the responses are right.",
    ),
    row(
        "sampling/pass_rate_high",
        "fraction",
        "Sampled groups of which at least two thirds and not all of the responses are right.",
    ),
    row("sampling/pass_rate_all", "fraction", "Sampled groups of right responses only."),
    row(
        "rollout/unparsed_fraction",
        "fraction",
        "Responses in which the verifier found no answer it could read.",
    ),
    row(
        "rollout/informative_group_fraction",
        "fraction",
        "Groups whose rewards are not all equal: only these give a gradient.",
    ),
    row(
        "rollout/mismatch_kl",
        "nat",
        "Mean over response tokens of rollout_log_prob - old_log_prob (k1 estimate of the KL between sampler and trainer); 0 where both run the same kernels.",
    ),
    row(
        "rollout/mismatch_k3",
        "nat",
        "Mean over response tokens of exp(l) - 1 - l, l = old_log_prob - rollout_log_prob (k3 estimate, never negative); with `rollout.engine = \"openai\"`.",
    ),
    row(
        "rollout/correction_weight",
        "1",
        "Mean importance weight of a response token, before normalisation; with `rollout.engine = \"openai\"`.",
    ),
    row(
        "rollout/correction_effective_fraction",
        "fraction",
        "Effective sample size of the importance weights, of the response tokens: 1 where all weigh alike; with `rollout.engine = \"openai\"`.",
    ),
    row(
        "rollout/correction_above_fraction",
        "fraction",
        "Importance weights (of tokens or responses, by level) above the bound; with `rollout.engine = \"openai\"`.",
    ),
    row(
        "rollout/correction_below_fraction",
        "fraction",
        "Importance weights below the lower bound, where there is one.",
    ),
    row("rollout/correction_vetoed_fraction", "fraction", "Responses that `veto` leaves out."),
    row(
        "rollout/retokenised_fraction",
        "fraction",
        "Responses whose tokens the engine did not tell, and whose text does not give as many tokens as it drew; with `rollout.engine = \"openai\"`.",
    ),
    row(
        "actor/entropy",
        "nat",
        "Mean over response tokens of the exact entropy of the policy before the update, over the whole vocabulary, at the sampling temperature.",
    ),
    row(
        "actor/pg_loss",
        "reward",
        "Policy loss, without the entropy bonus; mean over the optimiser steps of this step.",
    ),
    row(
        "actor/ppo_kl",
        "nat",
        "Mean over trained tokens of old_log_prob - log_prob (k1 estimate), over all optimiser steps of this step.",
    ),
    row(
        "actor/pg_clipfrac",
        "fraction",
        "Trained tokens in the flat part of the clipped surrogate.",
    ),
    row(
        "actor/pg_clipfrac_lower",
        "fraction",
        "Trained tokens held by the dual clip: negative advantage and a ratio above its bound.",
    ),
    row(
        "actor/grad_norm",
        "1",
        "L2 norm of the whole gradient before clipping; mean over the optimiser steps of this step.",
    ),
    row("actor/lr", "1", "Learning rate of the last optimiser step of this step."),
    row("entropy/at_temperature_1", "nat", "As actor/entropy, but at temperature 1."),
    row(
        "entropy/measured_change",
        "nat",
        "Mean entropy after the update minus before it, on the same states (response tokens of this step's probe).",
    ),
    row(
        "entropy/predicted_change_lemma1",
        "nat",
        "First-order prediction of entropy/measured_change, by the lemma 1 of docs/theory.md: minus the mean covariance of log-probability and change of logit over the same states.",
    ),
    row(
        "cov/mean",
        "nat·reward",
        "Mean over response tokens of (A - mean A)(log_prob - mean log_prob), both means over the tokens of the step.",
    ),
    row(
        "cov/top_0.0002",
        "nat·reward",
        "Mean of that product over the largest 0.0002 of the tokens (at least one).",
    ),
    row(
        "cov/top_0.002",
        "nat·reward",
        "Mean of that product over the largest 0.002 of the tokens (at least one).",
    ),
    row(
        "cov/top_0.02",
        "nat·reward",
        "Mean of that product over the largest 0.02 of the tokens (at least one).",
    ),
    row(
        "cov/top_0.2",
        "nat·reward",
        "Mean of that product over the largest 0.2 of the tokens (at least one).",
    ),
    row(
        "cov/top_0.5",
        "nat·reward",
        "Mean of that product over the largest 0.5 of the tokens (at least one).",
    ),
    row(
        "cov/selected_fraction",
        "fraction",
        "Trained tokens that the loss treats specially: dropped by Clip-Cov, penalised by KL-Cov.",
    ),
    row(
        "cov/theorem1",
        "nat·reward",
        "Mean over response tokens of (pi·A - mean pi·A)(log_prob - mean log_prob), pi = exp(log_prob): the covariance of theorem 1 of docs/theory.md; minus the step size times it is the change of entropy that the theorem predicts.",
    ),
    row(
        "entropy/theorem1_batch",
        "nat·reward",
        "Change of entropy that Theorem 1 predicts for a step of size 1 in the logits, covariances centred over the batch as published: minus cov/theorem1. A network with shared weights moves otherwise: compare signs and ranks.",
    ),
    row(
        "entropy/theorem1_state",
        "nat·reward",
        "The same, each covariance centred in its own state as in the theory.",
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
        "Response tokens of positive advantage that were likelier than their state's mean (log_prob above minus entropy): they lower the entropy.",
    ),
    row("quadrant/up_unlikely", "fraction", "Positive advantage, less likely: they raise it."),
    row("quadrant/down_likely", "fraction", "Negative advantage, likelier: they raise it."),
    row("quadrant/down_unlikely", "fraction", "Negative advantage, less likely: they lower it."),
    row(
        "actor/kl_loss",
        "nat",
        "Mean over the optimiser steps of the estimated divergence from the reference in the loss, before its coefficient.",
    ),
    row(
        "actor/reference_kl",
        "nat",
        "Mean over response tokens of log_prob - reference_log_prob before the first update: the k1 estimate of KL(policy, reference).",
    ),
    row(
        "actor/kl_coef",
        "reward/nat",
        "Coefficient of the divergence from the reference in this step.",
    ),
    row(
        "actor/entropy_coeff",
        "reward/nat",
        "Weight of the entropy bonus that algorithm.adaptive_entropy set in this step.",
    ),
    row(
        "reward_model/loss",
        "nat",
        "Cross-entropy of right and wrong under the implicit reward model: mean over the responses of the step, each before the model learns from it.",
    ),
    row(
        "reward_model/accuracy",
        "fraction",
        "Responses whose outcome the sign of their reward tells, each before the model learns from it; a reward of 0, to rounding, counts one half.",
    ),
    row(
        "reward_model/pair_accuracy",
        "fraction",
        "Pairs of a right and a wrong response to one prompt whose right one has the higher reward, each before the model learns from it; equal ones count one half.",
    ),
    row(
        "reward_model/reward",
        "reward",
        "Mean over responses of the sum of the process rewards that the advantages are made of (verl's name).",
    ),
    row(
        "reward_model/grad_norm",
        "1",
        "L2 norm of the reward model's gradient before clipping; mean over its optimiser steps of this step.",
    ),
    row("reward_model/lr", "1", "Learning rate of its last optimiser step of this step."),
    row(
        "reward_model/skipped_updates",
        "1",
        "Its optimiser steps of this step left out because their gradient was not finite.",
    ),
    row(
        "control/knob",
        "1",
        "Number of the policy loss that the thermostat moves, as it stood in this step.",
    ),
    row("control/target_entropy", "nat", "Entropy that the thermostat held this step's against."),
    row(
        "control/knob_hardest",
        "1",
        "With accuracy_edges, in place of control/knob: share of the tokens of the hardest prompts that is selected.",
    ),
    row(
        "control/knob_easiest",
        "1",
        "Share of the tokens of the easiest prompts that is selected.",
    ),
    row(
        "control/entropy_hardest",
        "nat",
        "Mean entropy over the response tokens of the hardest prompts; absent where a step has none.",
    ),
    row(
        "control/entropy_easiest",
        "nat",
        "Mean entropy over the response tokens of the easiest prompts; absent where a step has none.",
    ),
    row(
        "control/saturated_steps",
        "step",
        "Steps in a row for which the thermostat has asked for more than its bounds allow.",
    ),
    row("control/rate_factor", "1", "Factor on the learning rate by guard.action = \"back-off\"."),
    row(
        "training/skipped_updates",
        "1",
        "Optimiser steps of this step left out because their gradient was not finite.",
    ),
    row(
        "law/a",
        "reward",
        "Coefficient a of the law R = -a·exp(H) + b, fitted to the evaluations so far: H the entropy of the policy that was evaluated, R its held-out accuracy, mean over the sources. Where nothing was evaluated, to entropy and reward of all steps so far.",
    ),
    row("law/b", "reward", "Coefficient b of that law."),
    row("law/ceiling", "reward", "Reward the law gives at entropy 0: b - a."),
    row("law/ceiling_low", "reward", "Lower end of the 0.95 interval of that reward."),
    row("law/ceiling_high", "reward", "Upper end of that interval."),
    row("law/points", "1", "Points of the fit."),
    row(
        "law/from_evaluations",
        "1",
        "1 where the points are evaluations, 0 where they are the rewards of steps.",
    ),
    row("law/r_squared", "fraction", "Share of the variance of R that the law explains."),
    row(
        "law/linear_r_squared",
        "fraction",
        "The same of a straight line in H through the same points.",
    ),
    row("law/rmse", "reward", "Root of the mean squared residual of the law."),
    row("law/linear_rmse", "reward", "The same of the straight line."),
    row(
        "law/aic_over_linear",
        "1",
        "Akaike information criterion of the straight line minus that of the law: above 2 the points support the law, below -2 the line.",
    ),
    row(
        "law/entropy_spent",
        "nat",
        "Entropy over the first tenth of those points minus over the last tenth.",
    ),
    row(
        "law/gain",
        "reward",
        "Reward over the last tenth of those points minus over the first tenth.",
    ),
    row(
        "law/gain_left",
        "reward",
        "law/ceiling minus the reward the law gives at the entropy of the last point.",
    ),
    row("timing_s/gen", "s", "Wall time of the rollout."),
    row(
        "timing_s/reward",
        "s",
        "Wall time of the verifier after the last response was sampled; before that it runs beside the sampling.",
    ),
    row(
        "timing_s/old_log_prob",
        "s",
        "Wall time of the pass for old log-probabilities and entropy.",
    ),
    row(
        "timing_s/reward_model",
        "s",
        "Wall time of the implicit reward model: its forward passes and optimiser steps, and the reference's.",
    ),
    row("timing_s/update_actor", "s", "Wall time of all optimiser steps."),
    row(
        "timing_s/plan",
        "s",
        "Wall time of planning the optimiser steps: which tokens are selected and what each weighs, over all ranks; a part of timing_s/update_actor.",
    ),
    row("timing_s/step", "s", "Wall time of the whole step, without evaluation and checkpoint."),
    row(
        "perf/total_num_tokens",
        "token",
        "Prompt and response tokens of all sequences of the step.",
    ),
    row("perf/throughput", "token/s", "perf/total_num_tokens / timing_s/step, per device."),
    row(
        "perf/generated_tokens_per_second",
        "token/s",
        "Response tokens sampled in the step / timing_s/gen; absent where rollouts are replayed.",
    ),
    row(
        "perf/max_memory_bytes",
        "byte",
        "Peak memory since the start: of the device on CUDA, resident of the process on CPU.",
    ),
    row(
        "parallel/bytes_sent",
        "byte",
        "Bytes of tensors that the first rank has sent to others in the step, by the algorithms of Gloo and NCCL, without what the transport adds; absent with one process, as are the others of this family.",
    ),
    row(
        "parallel/all_reduce_bytes",
        "byte",
        "Of parallel/bytes_sent, in sums over ranks of which each gets the whole.",
    ),
    row(
        "parallel/all_gather_bytes",
        "byte",
        "Of parallel/bytes_sent, in parameters, statistics and messages gathered.",
    ),
    row(
        "parallel/reduce_scatter_bytes",
        "byte",
        "Of parallel/bytes_sent, in gradients summed to shards.",
    ),
    row(
        "parallel/wait_seconds",
        "s",
        "Time of the step in which the first rank waited for an operation between ranks and did nothing else; on CUDA, where operations are queued, not that of the GPU.",
    ),
];

/// Prints `docs/metrics.md` from [`METRICS`].
pub fn metrics_page() -> String {
    let mut page = String::from(
        "# Metrics\n\n\
         One JSON object a training step in `runs/NAME/metrics.jsonl`, `step` first. Names follow verl's where the\n\
         meaning is the same. A key whose value would not be finite (the mean of nothing) is absent. A fraction lies\n\
         in 0..=1, entropy and KL are in nats, time in seconds, memory in bytes.\n\n\
         This page is printed from `METRICS` in `crates/training-run/src/metrics/table.rs`; a test compares the two.\n\
         Rewrite it with `UPDATE_DOCS=1 cargo test -p training-run --test it documents`.\n\n\
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
