//! A critic of one value per state.

use super::rollout::Rollout;
use crate::environment::Questions;
use rl_losses::{Gae, generalised_advantages};
use std::iter::zip;

/// Value of each state of each prompt, learned from the returns that generalised advantage estimation makes of its values.
#[derive(Debug, Clone)]
pub(super) struct Critic {
    /// `[prompts, states]`.
    values: Vec<f64>,
}

impl Critic {
    pub(super) fn new(questions: &Questions) -> Self {
        Self { values: vec![0.0; questions.shape().prompts * questions.states().states()] }
    }

    /// Value before each token of `rollout`, `[tokens]`, of `token_rewards` or else the rewards of the responses. Afterwards each
    /// state goes the share `rate` of the way to the mean return of its tokens.
    pub(super) fn judge(
        &mut self,
        questions: &Questions,
        rollout: &Rollout,
        token_rewards: Option<&[f64]>,
        gae: Gae,
        rate: f64,
    ) -> Vec<f64> {
        let (positions, states) = (questions.shape().positions, questions.states().states());
        let places = rollout.tokens().places_in(&rollout.prompts, states);
        let states: Vec<usize> = places.map(|(state, _)| state).collect();
        let values: Vec<f64> = states.iter().map(|&state| self.values[state]).collect();
        let rewards =
            token_rewards.map_or_else(|| rollout.token_rewards(positions), <[f64]>::to_vec);
        let lengths = vec![positions; rollout.rewards.len()];
        let credit = generalised_advantages(&rewards, &values, None, &lengths, gae);
        let returns = credit.expect("columns of one rollout, settings in their range").returns;
        let mut gaps = vec![(0.0, 0.0); self.values.len()];
        for ((&state, value), target) in zip(zip(&states, &values), returns) {
            gaps[state].0 += target - value;
            gaps[state].1 += 1.0;
        }
        for (value, (gap, tokens)) in zip(&mut self.values, gaps) {
            *value += rate * gap / f64::max(tokens, 1.0);
        }
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::{Parameters, Shape};

    /// A rollout of the second prompt, then the first, with rewards of the tokens. Returns are sums from the token on.
    #[test]
    fn values_are_those_of_the_prompts_and_learn_from_the_rewards_of_tokens() {
        let shape = Shape { prompts: 2, positions: 2, actions: 2 };
        let questions = Questions::new(shape, vec![0.5; 8], Parameters::Logits).unwrap();
        let mut critic = Critic::new(&questions);
        let rollout = Rollout {
            prompts: vec![1, 0],
            actions: vec![0; 4],
            states: vec![0, 1, 0, 1],
            rewards: vec![1.0, 0.0],
            ..Rollout::default()
        };
        let gae = Gae { discount: 1.0, lambda: 1.0, whiten: false };
        critic.judge(&questions, &rollout, Some(&[0.5, 0.25, -1.0, 2.0]), gae, 1.0);
        assert_eq!(critic.values, [1.0, 2.0, 0.75, 0.25]);
    }
}
