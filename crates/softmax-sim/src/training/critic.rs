//! A critic of one value per state.

use super::rollout::Rollout;
use crate::environment::Questions;
use rl_losses::{Gae, generalised_advantages};
use std::iter::zip;

/// Judges the tokens of `rollout` by `values`, `[prompts, states]`: the value before each token, `[tokens]`.
///
/// Rewards are `token_rewards` or else those of the responses. Afterwards each state goes the share `rate` of the way to the mean
/// return of its tokens, which generalised advantage estimation makes of the values.
pub(super) fn judge(
    values: &mut [f64],
    questions: &Questions,
    rollout: &Rollout,
    token_rewards: Option<&[f64]>,
    (gae, rate): (Gae, f64),
) -> Vec<f64> {
    let positions = questions.shape().positions;
    let places = rollout.tokens().places_in(&rollout.prompts, questions.states().states());
    let states: Vec<usize> = places.map(|(state, _)| state).collect();
    let before: Vec<f64> = states.iter().map(|&state| values[state]).collect();
    let rewards = token_rewards.map_or_else(|| rollout.token_rewards(positions), <[f64]>::to_vec);
    let lengths = vec![positions; rollout.rewards.len()];
    let credit = generalised_advantages(&rewards, &before, None, &lengths, gae);
    let returns = credit.expect("columns of one rollout, settings in their range").returns;
    let mut gaps = vec![(0.0, 0.0); values.len()];
    for ((&state, value), target) in zip(zip(&states, &before), returns) {
        gaps[state].0 += target - value;
        gaps[state].1 += 1.0;
    }
    for (value, (gap, tokens)) in zip(values, gaps) {
        *value += rate * gap / f64::max(tokens, 1.0);
    }
    before
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
        let mut values = [0.0; 4];
        let rollout = Rollout {
            prompts: vec![1, 0],
            actions: vec![0; 4],
            states: vec![0, 1, 0, 1],
            rewards: vec![1.0, 0.0],
            ..Rollout::default()
        };
        let gae = Gae { discount: 1.0, lambda: 1.0, whiten: false };
        let rewards = [0.5, 0.25, -1.0, 2.0];
        judge(&mut values, &questions, &rollout, Some(&rewards), (gae, 1.0));
        assert_eq!(values.to_vec(), [1.0, 2.0, 0.75, 0.25]);
    }
}
