//! Controllers of a run: from what a rollout measured to the method of its updates.

use super::difficulty::Difficulty;
use super::method::Method;
use super::rows::Rows;
use crate::environment::Questions;
use rl_losses::{AdaptiveEntropyController, KlCoefficient, KlController};
use std::borrow::Cow;

/// The controllers that a method asks for.
#[derive(Debug, Clone)]
pub(super) struct Controls {
    pub(super) difficulty: Option<Difficulty>,
    bonus: Option<AdaptiveEntropyController>,
    /// Beside it the divergence that the last rollout measured, in nats.
    reference_kl: Option<(KlController, f64)>,
}

impl Controls {
    pub(super) fn new(method: &Method) -> Self {
        let in_range = "settings in their range";
        let bonus = method.adaptive_entropy.map(AdaptiveEntropyController::new);
        let reference_kl = method.adaptive_kl.map(KlCoefficient::Adaptive).map(KlController::new);
        Self {
            difficulty: method.thermostat.as_ref().map(Difficulty::new),
            bonus: bonus.transpose().expect(in_range),
            reference_kl: reference_kl.map(|controller| (controller.expect(in_range), 0.0)),
        }
    }

    /// Puts the numbers that controllers move into a method.
    pub(super) fn set(&self, method: &mut Cow<'_, Method>) {
        if let Some(difficulty) = &self.difficulty
            && difficulty.fractions(&method.loss).is_none()
        {
            method.to_mut().loss = difficulty.moved(&method.loss);
        }
        if let Some(bonus) = &self.bonus {
            method.to_mut().entropy_bonus = bonus.coefficient();
        }
        if let Some((controller, _)) = &self.reference_kl {
            method.to_mut().reference_kl = controller.coefficient();
        }
    }

    /// Measures how far the policy that sampled is from the reference: `divergence()`, in nats a token.
    pub(super) fn measure_divergence(&mut self, divergence: impl Fn() -> f64) {
        if let Some((_, measured)) = &mut self.reference_kl {
            *measured = divergence();
        }
    }

    /// Takes in a rollout of `samples` responses, and its mean entropy, in nats.
    pub(super) fn update(&mut self, entropy: f64, samples: usize) {
        if let Some(difficulty) = &mut self.difficulty {
            difficulty.update();
        }
        if let Some(bonus) = &mut self.bonus {
            bonus.update(entropy).expect("an entropy is finite");
        }
        if let Some((controller, measured)) = &mut self.reference_kl {
            controller.update(*measured, samples).expect("a divergence is finite");
        }
    }
}

/// Mean divergence `KL(π ‖ π_ref)` of a token on `prompts`, in nats, over the states as they are visited.
///
/// `policy` is that of the prompts, `reference` has log-probabilities of all prompts, `[all prompts, states, actions]`.
pub(super) fn divergence(
    questions: &Questions,
    prompts: &[usize],
    policy: &Rows,
    reference: &[f64],
) -> f64 {
    let row = questions.row();
    let reference = prompts.iter().flat_map(|prompt| &reference[prompt * row..(prompt + 1) * row]);
    let sum = policy.divergence(reference, &policy.visits(questions));
    sum / (prompts.len() * questions.shape().positions) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::{Parameters, Shape, remembering};

    /// Two tokens whose second remembers the first: over all responses the divergence is `Σ π(y) log(π(y) / π_ref(y))`, half of it a
    /// token. The second of two prompts alone is measured.
    #[test]
    fn the_divergence_is_that_of_responses_spread_over_their_tokens() {
        let graph = remembering(2, 2, 1, 0.0);
        let shape = Shape { prompts: 2, positions: graph.states(), actions: 2 };
        let questions = Questions::new(shape, vec![0.5; 12], Parameters::Logits).unwrap();
        let questions = questions.with_states(graph).unwrap();
        let logits = |scale: f64| -> Vec<f64> {
            (0..12).map(|index| scale * f64::from(index).sin()).collect()
        };
        let rows = |scale: f64| Rows::of(&questions, &logits(scale), &[0, 1]);
        let (policy, reference) = (rows(2.0), rows(-0.5));
        let log_prob = |rows: &Rows, first: usize, second: usize| {
            let of_prompt = &rows.log_probs()[6..];
            of_prompt[first] + of_prompt[(1 + first) * 2 + second]
        };
        let mut expected = 0.0;
        for (first, second) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let log_prob = [&policy, &reference].map(|rows| log_prob(rows, first, second));
            expected += 0.5 * log_prob[0].exp() * (log_prob[0] - log_prob[1]);
        }
        let policy = Rows::of(&questions, &logits(2.0), &[1]);
        let computed = divergence(&questions, &[1], &policy, reference.log_probs());
        assert!((computed - expected).abs() < 1e-14, "{computed} {expected}");
    }
}
