//! Mutual information of prompt and response, exact.

use softmax_sim::environment::{Parameters, Questions, Shape, TabularSetting, remembering};
use softmax_sim::training::{Method, Rows, Schedule, Trainer, prompt_information};

fn questions(prompts: usize, positions: usize, actions: usize) -> Questions {
    let shape = Shape { prompts, positions, actions };
    Questions::new(shape, vec![1.0; shape.table()], Parameters::Logits)
        .expect("a reward for each cell")
}

/// One token, each prompt with its own letter in three of four answers: `ln 2 - H(1/4)`, and twice that of two such tokens
/// whose letters are drawn for four prompts.
#[test]
fn binary_channels_have_their_closed_form() {
    let (high, low) = (0.75f64.ln(), 0.25f64.ln());
    let expected = 2.0f64.ln() + 0.75 * high + 0.25 * low;
    let one = prompt_information(&questions(2, 1, 2), &[high, low, low, high]).unwrap();
    assert!((one - expected).abs() < 1e-15, "{one}");
    let (zero, one) = ([high, low], [low, high]);
    let logits = [zero, zero, zero, one, one, zero, one, one];
    let two = prompt_information(&questions(4, 2, 2), logits.as_flattened()).unwrap();
    assert!((two - 2.0 * expected).abs() < 1e-14, "{two}");
    let same = prompt_information(&questions(2, 2, 2), &[high; 8]).unwrap();
    assert!(same < 1e-15, "{same}");
    assert_eq!(prompt_information(&questions(2, 32, 2), &[0.0; 128]), None);
}

/// States that remember a changed token: the probability of three actions sums over the states between them, and two of these
/// lead to each of the last ones.
#[test]
fn noise_between_tokens_is_summed_over() {
    let graph = remembering(3, 2, 1, 0.4);
    let questions = questions(2, 5, 2).with_states(graph).unwrap();
    let logits: Vec<f64> = (0..20).map(|index| f64::from(index).sin()).collect();
    let policy = Rows::of(&questions, &logits, &[0, 1]);
    let prob = |prompt: usize, state: usize, action: usize| {
        policy.probs()[prompt * 10 + state * 2 + action]
    };
    // After `last`, in a state of the position whose states begin at `first`.
    let behind = |prompt: usize, first: usize, last: usize, action: usize| {
        let kept = 0.8 * prob(prompt, first + last, action);
        kept + 0.2 * prob(prompt, first + 1 - last, action)
    };
    let joint = |prompt: usize, [first, second, third]: [usize; 3]| {
        let second_prob = behind(prompt, 1, first, second);
        prob(prompt, 0, first) * second_prob * behind(prompt, 3, second, third)
    };
    let mut expected = 0.0;
    for response in (0..8).map(|index| [index / 4, index / 2 % 2, index % 2]) {
        let each = [joint(0, response), joint(1, response)];
        let mean = f64::midpoint(each[0], each[1]);
        expected += each.iter().map(|p| 0.5 * p * (p / mean).ln()).sum::<f64>();
    }
    let computed = prompt_information(&questions, &logits).unwrap();
    assert!((computed - expected).abs() < 1e-15, "{computed} {expected}");
}

/// The estimate that a trainer can take, from responses scored under every prompt, comes to it within its error.
#[test]
fn cross_scores_of_responses_estimate_it() {
    let environment =
        TabularSetting { prompts: 8, positions: 2, actions: 4, ..TabularSetting::CONTROL }.draw(4);
    let schedule = Schedule { group_size: 2000, mini_batches: 1, ..Schedule::on_policy(1e-9) };
    let mut trainer = Trainer::new(&environment, Method::default(), schedule, 1);
    trainer.step().unwrap();
    let (rollout, start) = (trainer.rollout(), environment.start());
    let rows = Rows::of(environment.training(), start, &(0..8).collect::<Vec<_>>());
    let (mut scores, mut own_prompts) = (vec![], vec![]);
    for (index, response) in rollout.actions.chunks_exact(2).enumerate() {
        own_prompts.push(rollout.prompts[index / 2000]);
        scores.extend((0..8).map(|prompt| {
            let place = |position: usize| (prompt * 2 + position) * 4 + response[position] as usize;
            rows.log_probs()[place(0)] + rows.log_probs()[place(1)]
        }));
    }
    let estimate =
        entropy_core::prompt_information(&scores, &own_prompts, 8).unwrap().mutual_information;
    let exact = prompt_information(environment.training(), start).unwrap();
    assert!(exact > 0.05, "{exact}");
    // A term lies within about two nats of the mean, and 16,000 are averaged: five standard errors are below 0.08.
    assert!((estimate - exact).abs() < 0.08_f64.min(0.2 * exact), "{estimate} {exact}");
}
