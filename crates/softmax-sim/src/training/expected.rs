//! Training without sampling: each update is the expectation of the sampled one.

use crate::environment::{Questions, Shape};
use entropy_core::{Categorical, UpdateRule, grpo_clock};

/// An algorithm by its expected on-policy step, for rewards of 0 and 1.
///
/// All but the last step along the policy gradient, each with its own clock: `η s π (q - μ)`, with
/// `μ` the success of the prompt. Derivation: `docs/theory.md#group-clock`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ExpectedRule {
    /// The exact policy gradient, `s = 1`; so is RLOO.
    PolicyGradient,
    /// Dr. GRPO: `s = 1 - 1/G`.
    DrGrpo {
        /// `G`, 2 or more.
        group_size: usize,
    },
    /// GRPO: `s = m_G(μ)`.
    Grpo {
        /// `G`, 2 or more.
        group_size: usize,
    },
    /// REINFORCE++ in a large batch: `s = 1/σ`, with the deviation of all rewards.
    ReinforcePlusPlus,
    /// The natural policy gradient, `η (q - μ)`.
    NaturalPolicyGradient,
}

/// A tabular policy trained by expected steps.
#[derive(Debug, Clone)]
pub struct ExpectedTrainer<'a> {
    questions: &'a Questions,
    logits: Vec<f64>,
}

/// Exact figures of a policy and of the step it would take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExpectedPoint {
    /// Mean entropy of a state, in nats.
    pub entropy: f64,
    /// Expected reward.
    pub reward: f64,
}

impl<'a> ExpectedTrainer<'a> {
    /// Starts from `logits`, `[prompts, positions, actions]`.
    ///
    /// # Panics
    ///
    /// If there is not one logit per prompt, position and action, or states are not positions.
    pub fn new(questions: &'a Questions, logits: &[f64]) -> Self {
        let Shape { prompts, positions, actions } = questions.shape();
        let count = prompts * positions * actions;
        assert_eq!(logits.len(), count, "one logit per action and position");
        assert_eq!(questions.states().states(), positions, "states that remember nothing");
        Self { questions, logits: logits.to_vec() }
    }

    /// Mean entropy and reward of the policy.
    pub fn point(&self) -> ExpectedPoint {
        let prompts = self.prompts();
        let states = self.states();
        let entropies =
            prompts.iter().flat_map(|prompt| &prompt.states).map(|(policy, _)| policy.entropy());
        let rewards = prompts.iter().map(|prompt| prompt.success);
        ExpectedPoint {
            entropy: entropies.sum::<f64>() / states,
            reward: rewards.sum::<f64>() / prompts.len() as f64,
        }
    }

    /// The step `rule` takes with learning rate `eta`, `[prompts, positions, actions]`, and the
    /// change of mean entropy that Lemma 1 predicts for it (Theorem 1 or 2), in nats.
    pub fn expected_step(&self, rule: ExpectedRule, eta: f64) -> (Vec<f64>, f64) {
        let prompts = self.prompts();
        let mean = prompts.iter().map(|prompt| prompt.success).sum::<f64>() / prompts.len() as f64;
        let mut step = Vec::with_capacity(self.logits.len());
        let mut change = 0.0;
        for prompt in &prompts {
            let (direction, clock) = rule.direction_and_clock(prompt.success, mean);
            for (policy, value) in &prompt.states {
                let moved = direction.step(policy, value, eta * clock);
                change += policy.entropy_change_first_order(&moved);
                step.extend(moved);
            }
        }
        (step, change / self.states())
    }

    /// Takes that step; the change of mean entropy that was predicted for it.
    pub fn step(&mut self, rule: ExpectedRule, eta: f64) -> f64 {
        let (step, change) = self.expected_step(rule, eta);
        self.take(step);
        change
    }

    /// Follows the flow of which [`step`](Self::step) is Euler's step, for a time `eta`, by the midpoint rule: the
    /// limit of many small steps, to third order in `eta`.
    pub fn flow(&mut self, rule: ExpectedRule, eta: f64) {
        let mut middle = self.clone();
        middle.step(rule, 0.5 * eta);
        self.take(middle.expected_step(rule, eta).0);
    }

    fn take(&mut self, step: Vec<f64>) {
        for (logit, step) in self.logits.iter_mut().zip(step) {
            *logit += step;
        }
    }

    fn states(&self) -> f64 {
        (self.logits.len() / self.questions.shape().actions) as f64
    }

    fn prompts(&self) -> Vec<Prompt> {
        let Shape { actions, .. } = self.questions.shape();
        let rows = self.logits.chunks_exact(self.questions.row()).enumerate();
        rows.map(|(prompt, logits)| Prompt::new(logits, self.questions.quality(prompt), actions))
            .collect()
    }
}

impl ExpectedRule {
    fn direction_and_clock(self, success: f64, mean: f64) -> (UpdateRule, f64) {
        let clock = match self {
            Self::PolicyGradient => 1.0,
            Self::DrGrpo { group_size } => 1.0 - (group_size as f64).recip(),
            Self::Grpo { group_size } => grpo_clock(success.clamp(0.0, 1.0), group_size)
                .expect("a probability and a group of 2 or more"),
            Self::ReinforcePlusPlus => (mean * (1.0 - mean)).sqrt().recip(),
            Self::NaturalPolicyGradient => return (UpdateRule::NaturalPolicyGradient, 1.0),
        };
        (UpdateRule::PolicyGradient, clock)
    }
}

/// The policy on one prompt.
struct Prompt {
    /// Policy of each state, and the success of the response for each action there, the other tokens as the policy has them,
    /// `[actions]`.
    states: Vec<(Categorical, Vec<f64>)>,
    success: f64,
}

impl Prompt {
    fn new(logits: &[f64], quality: &[f64], actions: usize) -> Self {
        let policies: Vec<Categorical> = logits
            .chunks_exact(actions)
            .map(|logits| Categorical::from_logits(logits).expect("training keeps logits finite"))
            .collect();
        let rows: Vec<&[f64]> = quality.chunks_exact(actions).collect();
        let means: Vec<f64> = std::iter::zip(&policies, &rows).map(|(p, q)| p.mean(q)).collect();
        let others = |position: usize| -> f64 {
            let rest = means.iter().enumerate().filter(|(other, _)| *other != position);
            rest.map(|(_, mean)| mean).product()
        };
        let success = means.iter().product();
        let states = std::iter::zip(policies, rows).enumerate().map(|(position, (policy, row))| {
            let others = others(position);
            (policy, row.iter().map(|q| q * others).collect())
        });
        Self { states: states.collect(), success }
    }
}
