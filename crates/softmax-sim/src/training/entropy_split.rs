//! First-order change of a policy's entropy between two of its parameters.

use crate::environment::Questions;
use entropy_core::{Categorical, SequenceEntropyChange};
use rayon::prelude::*;
use std::iter::zip;

/// First-order change of the mean entropy of a token on `questions`, from parameters `before` to `after`.
///
/// Derivation: `docs/theory.md#sequence-entropy`.
///
/// # Panics
///
/// If parameters are not as many as the questions need, or make a logit that is not finite.
pub fn entropy_split(
    questions: &Questions,
    before: &[f64],
    after: &[f64],
) -> SequenceEntropyChange {
    let shape = questions.shape();
    let of_prompt = |prompt: usize| {
        let [before, after] = [before, after].map(|parameters| {
            let mut logits = vec![0.0; questions.row()];
            questions.write_logits(parameters, prompt, &mut logits);
            logits
        });
        let policy = |logits| Categorical::from_logits(logits).expect("finite logits");
        let policies: Vec<Categorical> = before.chunks_exact(shape.actions).map(policy).collect();
        let step: Vec<f64> = zip(&before, &after).map(|(before, after)| after - before).collect();
        let step: Vec<Vec<f64>> = step.chunks_exact(shape.actions).map(<[f64]>::to_vec).collect();
        questions.states().entropy_change_first_order(&policies, &step)
    };
    let each: Vec<_> = (0..shape.prompts).into_par_iter().map(of_prompt).collect();
    let mut sum = SequenceEntropyChange::default();
    for change in each {
        sum += change;
    }
    let tokens = (shape.prompts * shape.positions) as f64;
    SequenceEntropyChange {
        within_states: sum.within_states / tokens,
        visitation: sum.visitation / tokens,
    }
}
