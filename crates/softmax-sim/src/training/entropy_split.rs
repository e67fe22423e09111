//! Change of a policy's entropy between two of its parameters, and its first-order parts.

use crate::environment::Questions;
use entropy_core::Categorical;
use rayon::prelude::*;
use std::iter::zip;
use std::ops::AddAssign;

/// Change of the mean entropy of a token, in nats: exact, and to first order in the change of the logits.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct EntropySplit {
    /// Exact change.
    pub exact: f64,
    /// Lemma 1 summed over the states as they were visited.
    pub within_states: f64,
    /// The part of the states that are visited more or less often.
    pub visitation: f64,
}

impl EntropySplit {
    /// Splits the change on `questions` from parameters `before` to `after`.
    ///
    /// Derivation: `docs/theory.md#sequence-entropy`.
    ///
    /// # Panics
    ///
    /// If parameters are not as many as the questions need, or make a logit that is not finite.
    pub fn between(questions: &Questions, before: &[f64], after: &[f64]) -> Self {
        let shape = questions.shape();
        let each: Vec<Self> = (0..shape.prompts)
            .into_par_iter()
            .map(|prompt| Self::of_prompt(questions, prompt, [before, after]))
            .collect();
        let mut sum = Self::default();
        for split in each {
            sum += split;
        }
        let tokens = (shape.prompts * shape.positions) as f64;
        Self {
            exact: sum.exact / tokens,
            within_states: sum.within_states / tokens,
            visitation: sum.visitation / tokens,
        }
    }

    fn of_prompt(questions: &Questions, prompt: usize, parameters: [&[f64]; 2]) -> Self {
        let (graph, actions) = (questions.states(), questions.shape().actions);
        let [before, after] = parameters.map(|parameters| {
            let mut logits = vec![0.0; questions.row()];
            questions.write_logits(parameters, prompt, &mut logits);
            logits
        });
        let policies = |logits: &[f64]| -> Vec<Categorical> {
            let policy = |logits| Categorical::from_logits(logits).expect("finite logits");
            logits.chunks_exact(actions).map(policy).collect()
        };
        let step: Vec<f64> = zip(&before, &after).map(|(before, after)| after - before).collect();
        let step: Vec<Vec<f64>> = step.chunks_exact(actions).map(<[f64]>::to_vec).collect();
        let before = policies(&before);
        let change = graph.entropy_change_first_order(&before, &step);
        Self {
            exact: graph.entropy(&policies(&after)) - graph.entropy(&before),
            within_states: change.within_states,
            visitation: change.visitation,
        }
    }
}

impl AddAssign for EntropySplit {
    fn add_assign(&mut self, other: Self) {
        self.exact += other.exact;
        self.within_states += other.within_states;
        self.visitation += other.visitation;
    }
}
