//! Entropy of whole sequences: the chain rule, and the effect of a step on the states it reaches.

use entropy_core::{Categorical, StateGraph};

fn policy(logits: &[f64]) -> Categorical {
    Categorical::from_logits(logits).expect("finite logits")
}

/// A first token of three actions, the last of which leads to either of the second states; these are the last.
fn graph() -> StateGraph {
    let first = vec![vec![(1, 1.0)], vec![(2, 1.0)], vec![(1, 0.25), (2, 0.75)]];
    StateGraph::new(vec![first, vec![vec![]; 3], vec![vec![]; 3]]).expect("a graph without circles")
}

const LOGITS: [[f64; 3]; 3] = [[0.2, -0.7, 1.1], [1.5, 0.0, -2.0], [-3.0, 1.0, f64::NEG_INFINITY]];
const STEP: [[f64; 3]; 3] = [[0.5, 1.0, -0.3], [1.0, 0.0, -1.0], [-0.4, 0.9, 5.0]];

fn policies(width: f64) -> Vec<Categorical> {
    let moved = |(logits, step): (&[f64; 3], &[f64; 3])| {
        policy(&std::array::from_fn::<f64, 3, _>(|a| logits[a] + width * step[a]))
    };
    LOGITS.iter().zip(&STEP).map(moved).collect()
}

#[test]
fn the_parts_of_a_change_are_central_differences() {
    let graph = graph();
    let now = policies(0.0);
    let prob = |state: usize, action: usize| now[state].probs()[action];
    let second = [prob(0, 0) + 0.25 * prob(0, 2), prob(0, 1) + 0.75 * prob(0, 2)];
    let by_hand = |now: &[Categorical], visits: [f64; 2]| {
        now[0].entropy() + visits[0] * now[1].entropy() + visits[1] * now[2].entropy()
    };
    assert!((graph.entropy(&now) - by_hand(&now, second)).abs() < 1e-15);

    let step = STEP.map(|row| row.to_vec());
    let change = graph.entropy_change_first_order(&now, &step);
    let slope = |f: &dyn Fn(f64) -> f64| (f(1e-5) - f(-1e-5)) / 2e-5;
    let total = slope(&|width| graph.entropy(&policies(width)));
    assert!((change.total() - total).abs() < 1e-9, "{change:?} for {total}");
    // With the states visited as before, only the policies in them move.
    let within = slope(&|width| by_hand(&policies(width), second));
    assert!((change.within_states - within).abs() < 1e-9, "{change:?} for {within}");
    assert!(change.visitation.abs() > 1e-3, "{change:?}");
    // An impossible action has no step: its logit was and is -∞.
    let mut undefined = step;
    undefined[2][2] = f64::NAN;
    assert_eq!(graph.entropy_change_first_order(&now, &undefined), change);
}

/// The first action ends the sequence or goes on to a coin, whose sides lead to a coin or to certainty; each part by hand.
#[test]
fn states_that_are_seldom_reached_move_little() {
    let ends = || vec![vec![]; 2];
    let next =
        vec![vec![vec![], vec![(1, 1.0)]], vec![vec![(2, 1.0)], vec![(3, 1.0)]], ends(), ends()];
    let graph = StateGraph::new(next).unwrap();
    let policies: Vec<Categorical> = [[3f64.ln(), 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, -700.0]]
        .iter()
        .map(|logits| policy(logits))
        .collect();
    // A quarter of the sequences come to the first coin, which leans to the second one: Cov((ln 2, 0), (1, 0)) = ¼ ln 2.
    let mut step = vec![vec![0.0; 2]; 4];
    step[1] = vec![1.0, 0.0];
    let change = graph.entropy_change_first_order(&policies, &step);
    assert!((change.visitation - 0.25 * 0.25 * 2f64.ln()).abs() < 1e-15, "{change:?}");
    assert!(change.within_states.abs() < 1e-15, "{change:?}");
}

#[test]
fn visits_where_nothing_forks_are_exactly_one() {
    let straight = StateGraph::new(vec![vec![vec![(1, 1.0)]; 3], vec![vec![]; 3]]).unwrap();
    assert_eq!(straight.visits(|_, _| 1.0 / 3.0), [1.0, 1.0]);
    let visits = graph().visits(|_, action| [0.5, 0.25, 0.25][action]);
    assert_eq!(visits, [1.0, 0.5625, 0.4375]);
    // One arrival an action, as straight on, but half of the sequences end, or all leave a state out.
    let visits = |next: Vec<Vec<(usize, f64)>>| {
        let next = next.into_iter().map(|arrivals| vec![arrivals; 2]).collect();
        StateGraph::new(next).unwrap().visits(|_, _| 0.5)
    };
    assert_eq!(visits(vec![vec![(1, 0.5)], vec![]]), [1.0, 0.5]);
    assert_eq!(visits(vec![vec![(2, 1.0)], vec![(2, 1.0)], vec![]]), [1.0, 0.0, 1.0]);
}

#[test]
fn a_graph_that_goes_back_or_adds_up_to_more_is_refused() {
    let message = |arrivals: Vec<(usize, f64)>| {
        StateGraph::new(vec![vec![arrivals], vec![vec![]]]).unwrap_err().to_string()
    };
    assert_eq!(message(vec![(0, 1.0)]), "`next` is 0; expected a later state");
    assert_eq!(message(vec![(2, 1.0)]), "`next` is 2; expected a later state");
    assert_eq!(message(vec![(1, 1.5)]), "`next` is 1.5; expected a probability");
    assert_eq!(message(vec![(1, 0.5), (1, 0.75)]), "`next` is 1.25; expected a sum of at most 1");
}
