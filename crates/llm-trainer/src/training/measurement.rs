//! Computes the metrics of a step from its columns: sums first, one division at the end.

use entropy_core::{CovarianceSummary, Quadrant, UpdateRule, token_covariances};
use question_data::prompt::Prompt;
use reward_math::Verdict;
use rl_losses::{EntropyChangeColumns, EntropyChangeSums, quadrants};
use serde::Serialize;
use training_run::config::RunConfig;
use training_run::metric;
use training_run::metrics::StepMetrics;

use super::policy_pass::Statistics;
use super::scored::ScoredRollout;
use super::update::{UpdateColumns, UpdateSums};

/// Records metrics known before the update: rewards, lengths, entropy and covariances of the whole rollout batch.
pub(super) fn record_rollout(
    metrics: &mut StepMetrics,
    scored: &ScoredRollout,
    config: &RunConfig,
) {
    let ScoredRollout { samples, columns, informative, .. } = scored;
    let UpdateColumns { old, advantage, .. } = columns;
    let share = |count: usize| count as f64 / samples.len() as f64;
    let right = samples.iter().filter(|sample| sample.verdict.is_right()).count();
    metrics.insert(metric!("critic/score/mean"), share(right));
    let rewards = [
        metric!("critic/rewards/mean"),
        metric!("critic/rewards/max"),
        metric!("critic/rewards/min"),
    ];
    metrics.insert_spread(rewards, samples.iter().map(|sample| sample.reward));

    record_lengths(metrics, scored, config.rollout.max_response_tokens);
    let truncated = samples.iter().filter(|sample| sample.truncated).count();
    metrics.insert(metric!("rollout/truncated_fraction"), share(truncated));
    let unparsed = samples.iter().filter(|sample| sample.is_unparsed()).count();
    metrics.insert(metric!("rollout/unparsed_fraction"), share(unparsed));
    let groups = informative.iter().filter(|&&informative| informative).count();
    metrics.insert(
        metric!("rollout/informative_group_fraction"),
        groups as f64 / informative.len() as f64,
    );
    // KL(sampled ‖ other) per token, by its plain estimate.
    let divergence = |other: &[f64]| {
        let sampled = columns.rollout_log_prob.iter();
        sampled.zip(other).map(|(sampled, other)| sampled - other).sum::<f64>() / other.len() as f64
    };
    if config.rollout.staleness > 0 {
        metrics.insert(metric!("rollout/staleness_kl"), divergence(&old.log_prob));
    }
    // The policy has moved since groups that waited were sampled: that is no mismatch between sampling and training.
    metrics.insert(metric!("rollout/mismatch_kl"), divergence(columns.old_log_prob()));
    if let Some(fraction) = scored.rerouted_fraction {
        metrics.insert(metric!("rollout/rerouted_fraction"), fraction);
    }
    if let Some(sums) = &scored.correction {
        metrics.insert(metric!("rollout/mismatch_k3"), sums.mismatch_k3());
        metrics.insert(metric!("rollout/correction_weight"), sums.mean_weight());
        let effective = sums.effective_fraction();
        metrics.insert(metric!("rollout/correction_effective_fraction"), effective);
        metrics.insert(metric!("rollout/correction_above_fraction"), sums.fraction_above());
        metrics.insert(metric!("rollout/correction_below_fraction"), sums.fraction_below());
        metrics.insert(metric!("rollout/correction_vetoed_fraction"), sums.fraction_vetoed());
    }

    let names = [
        metric!("critic/advantages/mean"),
        metric!("critic/advantages/max"),
        metric!("critic/advantages/min"),
    ];
    metrics.insert_spread(names, advantage.iter().copied());
    metrics.insert(metric!("actor/entropy"), old.mean_entropy());
    if let Some(divergence) = scored.reference_kl() {
        metrics.insert(metric!("actor/reference_kl"), divergence);
    }
    record_covariances(metrics, advantage, &old.log_prob);
    record_covariances_by_difficulty(metrics, scored);
    record_theory(metrics, advantage, old);
}

pub(super) fn record_played(metrics: &mut StepMetrics, scored: &ScoredRollout, dropped: usize) {
    let sequences = scored.sequences();
    let splits: usize = sequences.iter().map(|sequence| sequence.splits()).sum();
    let turns: usize = sequences.iter().map(|sequence| sequence.given.len() + 1).sum();
    metrics.insert(metric!("rollout/dropped_groups"), dropped as f64);
    metrics.insert(metric!("rollout/split_sequences"), splits as f64);
    metrics.insert(metric!("rollout/turns"), turns as f64 / sequences.len() as f64);
}

/// Records lengths of responses and prompts, in tokens; no response is longer than `longest`.
fn record_lengths(metrics: &mut StepMetrics, scored: &ScoredRollout, longest: usize) {
    let count = scored.samples.len() as f64;
    let lengths = scored.layout.lengths();
    let names = [
        metric!("response_length/mean"),
        metric!("response_length/max"),
        metric!("response_length/min"),
    ];
    metrics.insert_spread(names, lengths.iter().map(|&length| length as f64));
    let at_limit = lengths.iter().filter(|&&length| length == longest).count();
    metrics.insert(metric!("response_length/clip_ratio"), at_limit as f64 / count);
    let prompt_tokens: usize = scored.samples.iter().map(|s| s.sequence.prompt.len()).sum();
    metrics.insert(metric!("prompt_length/mean"), prompt_tokens as f64 / count);
}

/// Records the theorems' predictions for a step of size 1 in the logits, and the tokens by quadrant.
fn record_theory(metrics: &mut StepMetrics, advantage: &[f64], old: &Statistics) {
    let Statistics { log_prob, entropy, .. } = old;
    let columns = EntropyChangeColumns { log_prob, advantage, entropy, mean_score: None };
    // A policy whose statistics are not finite has no prediction; the update reports the error.
    let Ok(sums) = EntropyChangeSums::of(columns) else { return };
    let theorem1 = [metric!("entropy/theorem1_batch"), metric!("entropy/theorem1_state")];
    let theorem2 = [metric!("entropy/theorem2_batch"), metric!("entropy/theorem2_state")];
    for (rule, [batch, state]) in
        [(UpdateRule::PolicyGradient, theorem1), (UpdateRule::NaturalPolicyGradient, theorem2)]
    {
        metrics.insert(batch, sums.batch_centred(rule, 1.0));
        metrics.insert(state, sums.state_centred(rule, 1.0));
    }
    let Ok(by_quadrant) = quadrants(log_prob, advantage, Some(entropy)) else { return };
    let share = |quadrant: Quadrant| quadrant.tokens as f64 / log_prob.len() as f64;
    metrics.insert(metric!("quadrant/up_likely"), share(by_quadrant.up_likely));
    metrics.insert(metric!("quadrant/up_unlikely"), share(by_quadrant.up_unlikely));
    metrics.insert(metric!("quadrant/down_likely"), share(by_quadrant.down_likely));
    metrics.insert(metric!("quadrant/down_unlikely"), share(by_quadrant.down_unlikely));
}

/// Records covariances of the whole rollout batch: Eq. 10 with its tail, and Theorem 1's.
fn record_covariances(metrics: &mut StepMetrics, advantage: &[f64], log_prob: &[f64]) {
    if log_prob.is_empty() {
        return;
    }
    let summary = CovarianceSummary::of(&token_covariances(advantage, log_prob));
    metrics.insert(metric!("cov/mean"), summary.mean);
    let tops = [
        (metric!("cov/top_0.0002"), 0.0002),
        (metric!("cov/top_0.002"), 0.002),
        (metric!("cov/top_0.02"), 0.02),
        (metric!("cov/top_0.2"), 0.2),
        (metric!("cov/top_0.5"), 0.5),
    ];
    for (name, fraction) in tops {
        if let Some(top) = summary.top_mean(fraction) {
            metrics.insert(name, top);
        }
    }
    let pairs = std::iter::zip(advantage, log_prob);
    let weighted: Vec<f64> =
        pairs.map(|(advantage, log_prob)| log_prob.exp() * advantage).collect();
    metrics.insert(metric!("cov/theorem1"), mean(&token_covariances(&weighted, log_prob)));
}

/// Records the covariance among the responses to a prompt: of the prompts that are solved in half of them or more, and of the others.
fn record_covariances_by_difficulty(metrics: &mut StepMetrics, scored: &ScoredRollout) {
    let size = scored.group_size();
    let (mut easy, mut hard) = (vec![], vec![]);
    for (group, samples) in scored.samples.chunks(size.max(1)).enumerate() {
        let span = scored.layout.span(group * size..group * size + samples.len());
        if span.is_empty() {
            continue;
        }
        let UpdateColumns { advantage, old, .. } = &scored.columns;
        let (advantage, log_prob) = (&advantage[span.clone()], &old.log_prob[span]);
        let covariance = mean(&token_covariances(advantage, log_prob));
        let right = samples.iter().filter(|sample| sample.verdict.is_right()).count();
        if 2 * right >= samples.len() { easy.push(covariance) } else { hard.push(covariance) }
    }
    for (name, covariances) in
        [(metric!("cov/easy_prompts"), easy), (metric!("cov/hard_prompts"), hard)]
    {
        if !covariances.is_empty() {
            metrics.insert(name, mean(&covariances));
        }
    }
}

pub(super) fn record_update(metrics: &mut StepMetrics, sums: &UpdateSums, learning_rate: f64) {
    let per_update = |sum: f64| sum / sums.updates as f64;
    metrics.insert(metric!("actor/lr"), learning_rate);
    metrics.insert(metric!("timing_s/plan"), sums.plan_seconds);
    if sums.updates == 0 {
        return;
    }
    metrics.insert(metric!("actor/pg_loss"), per_update(sums.loss));
    metrics.insert(metric!("actor/grad_norm"), per_update(sums.gradient_norm));
    metrics.insert(metric!("actor/ppo_kl"), sums.policy.ppo_kl());
    metrics.insert(metric!("actor/pg_clipfrac"), sums.policy.clip_fraction());
    metrics.insert(metric!("actor/pg_clipfrac_lower"), sums.policy.clip_fraction_lower());
    metrics.insert(metric!("cov/selected_fraction"), sums.policy.selected_fraction());
}

/// One line of `samples/step-N.jsonl`.
#[derive(Serialize)]
struct SampleLine<'a> {
    /// Index of the group within the step, from 0.
    group: usize,
    question: &'a str,
    problem: &'a str,
    answer: &'a str,
    response: &'a str,
    reward: f64,
    /// Mean over the response's tokens; absent if it has none.
    advantage: Option<f64>,
    response_tokens: usize,
    truncated: bool,
    /// The verdict as `reward-math grade` writes it.
    #[serde(flatten)]
    verdict: &'a Verdict,
}

/// All responses of a step, one JSON object a line; `prompts` has one prompt per group.
pub(super) fn describe_samples(
    prompts: &[&Prompt],
    scored: &ScoredRollout,
) -> serde_json::Result<String> {
    let group_size = scored.group_size();
    let mut lines = String::new();
    let advantages = scored.layout.split(&scored.columns.advantage);
    for (index, (sample, advantage)) in scored.samples.iter().zip(advantages).enumerate() {
        let question = &prompts[index / group_size].question;
        let line = SampleLine {
            group: index / group_size,
            question: &question.id,
            problem: &question.problem,
            answer: &question.answer,
            response: &sample.text,
            reward: sample.reward,
            advantage: (!advantage.is_empty()).then(|| mean(advantage)),
            response_tokens: sample.sequence.response.len(),
            truncated: sample.truncated,
            verdict: &sample.verdict,
        };
        lines.push_str(&serde_json::to_string(&line)?);
        lines.push('\n');
    }
    Ok(lines)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use rl_losses::AdvantageEstimator;

    use super::super::sample::Sample;
    use super::*;

    /// Groups of four responses of one token. Means -2 and 0: (3·1·1 + (-3)·(-3)) / 4 = 3, and its negative.
    #[test]
    fn prompts_that_are_solved_in_half_of_their_responses_are_easy() {
        let sample = |right: bool| {
            let sample = Sample::wrong(vec![2]);
            match &sample.verdict {
                Verdict::Wrong { how } if right => {
                    let verdict = Verdict::Right { how: how.clone() };
                    Sample { verdict, reward: 1.0, ..sample }
                }
                _ => sample,
            }
        };
        let right = [true, true, false, false, true, false, false, false];
        let log_prob = vec![-1.0, -1.0, -1.0, -5.0, -5.0, -1.0, -1.0, -1.0];
        let entropy = vec![0.5; log_prob.len()];
        let old = Statistics { log_prob, entropy, ..Statistics::default() };
        let samples = right.map(sample).to_vec();
        let estimator = AdvantageEstimator::default();
        let mut scored = ScoredRollout::new(samples, 2, old, None, None, &estimator).unwrap();
        scored.columns.advantage = vec![1.0, 1.0, 1.0, -3.0, 3.0, -1.0, -1.0, -1.0];
        let mut metrics = StepMetrics::new(1);
        record_covariances_by_difficulty(&mut metrics, &scored);
        assert_eq!(metrics.get("cov/easy_prompts"), Some(3.0));
        assert_eq!(metrics.get("cov/hard_prompts"), Some(-3.0));
    }
}
