//! Whole sequences: the chain rule of their entropy, and its first-order change. Lemma 1 summed over the tokens differs
//! from it.

use super::order::{self, Reading};
use crate::report::Row;
use entropy_core::{Categorical, SequenceEntropyChange, SequencePolicy};
use ndarray_rand::rand_distr::{Distribution, StandardNormal};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::iter::zip;

const STATEMENT: &str = "Sequences";
const TREES: u64 = 60;
/// Tokens of a sequence at most.
const DEPTH: usize = 3;

/// The step of the logits after each prefix, `[actions]`.
pub type StepOfPrefix<'a> = dyn Fn(&[usize]) -> Vec<f64> + 'a;

/// Formulas to check.
#[derive(Debug, Clone, Copy)]
pub struct Formulas {
    /// Entropy of a whole sequence, in nats.
    pub entropy: fn(&SequencePolicy) -> f64,
    /// Its first-order change along a step for each prefix, in nats.
    pub change: fn(&SequencePolicy, &StepOfPrefix<'_>) -> SequenceEntropyChange,
}

/// Formulas of `entropy-core`.
pub const FORMULAS: Formulas = Formulas {
    entropy: SequencePolicy::entropy,
    change: |policy, step| policy.entropy_change_first_order(step),
};

/// Checks the formulas against sums over every sequence there is.
pub fn check(seed: u64, formulas: &Formulas) -> Vec<Row> {
    let (mut entropy, mut change, mut within) = (Vec::new(), Vec::new(), Vec::new());
    let mut readings = Vec::new();
    for tree in 0..TREES {
        let mut rng = ChaCha8Rng::seed_from_u64(seed ^ 0x7365_7175);
        rng.set_stream(tree);
        let root = Node::random(&mut rng, DEPTH);
        let exact = root.entropy();
        entropy.push(((formulas.entropy)(&root.policy()) - exact).abs());
        let predicted = (formulas.change)(&root.policy(), &|prefix| root.at(prefix).step.clone());
        change.push((predicted.total - root.entropy_slope()).abs());
        within.push((predicted.within_states - root.lemma_1_over_tokens(1.0)).abs());
        readings.push(Reading::of(2, |width| {
            (root.moved(width).entropy() - exact) - width * predicted.total
        }));
    }
    let all = "all sequences of 60 random trees of up to 3 tokens added up";
    let mut rows = vec![
        Row::of(STATEMENT, "entropy by the chain rule, gap", 1e-13, entropy).by(all),
        Row::of(STATEMENT, "change: gap to -Cov_y(log π(y), d log π(y))", 1e-13, change).by(all),
        Row::of(STATEMENT, "part within states: gap to Lemma 1 as visited", 1e-13, within).by(all),
    ];
    rows.extend(order::rows(STATEMENT, "error", 2, &readings));
    rows.push(visits_alone(formulas));
    rows
}

/// The example by hand: a fair first token leads to a fair coin or to certainty. Moved towards the coin, the entropy
/// rises by half of ln 2 per nat of the logits, and Lemma 1 sees nothing in any state.
fn visits_alone(formulas: &Formulas) -> Row {
    let coin = Node { policy: fair(2), step: vec![0.0; 2], next: vec![None, None] };
    let certain = Node { policy: fair(1), step: vec![0.0], next: vec![None] };
    let root =
        Node { policy: fair(2), step: vec![1.0, -1.0], next: vec![Some(coin), Some(certain)] };
    let predicted = (formulas.change)(&root.policy(), &|prefix| root.at(prefix).step.clone());
    let gap = predicted.within_states.abs().max((predicted.total - 0.5 * 2f64.ln()).abs());
    Row::of(STATEMENT, "visits alone: 0 within states, ½ ln 2 in all, gap", 1e-15, [gap])
        .by("a fair token before a fair coin or certainty, moved by (1, -1)")
}

fn fair(actions: usize) -> Categorical {
    Categorical::from_logits(&vec![0.0; actions]).expect("zeros are finite")
}

/// A prefix: the policy of the next token, the step of its logits, and what follows each action.
struct Node {
    policy: Categorical,
    step: Vec<f64>,
    next: Vec<Option<Node>>,
}

impl Node {
    fn random(rng: &mut ChaCha8Rng, depth: usize) -> Self {
        let actions = rng.random_range(2..=4);
        let mut column =
            || -> Vec<f64> { (0..actions).map(|_| StandardNormal.sample(rng)).collect() };
        let (mut logits, step) = (column(), column());
        if actions == 4 {
            logits[3] = f64::NEG_INFINITY;
        }
        let policy = Categorical::from_logits(&logits).expect("the first logit is finite");
        let mut next = || (depth > 1 && rng.random_bool(0.8)).then(|| Self::random(rng, depth - 1));
        let next = (0..actions).map(|_| next()).collect();
        Self { policy, step, next }
    }

    /// Converts the tree to the sequence policy of `entropy-core`.
    fn policy(&self) -> SequencePolicy {
        let next = self.next.iter().map(|next| next.as_ref().map(Self::policy)).collect();
        SequencePolicy::new(self.policy.clone(), next).expect("one entry per action")
    }

    fn at(&self, prefix: &[usize]) -> &Self {
        prefix.iter().fold(self, |node, action| {
            node.next[*action].as_ref().expect("a prefix has something behind it")
        })
    }

    fn moved(&self, width: f64) -> Self {
        let logits: Vec<f64> = zip(self.policy.centred_log_probs(), &self.step)
            .map(|(logit, step)| logit + width * step)
            .collect();
        Self {
            policy: Categorical::from_logits(&logits).expect("a short step keeps the support"),
            step: self.step.clone(),
            next: self
                .next
                .iter()
                .map(|next| next.as_ref().map(|next| next.moved(width)))
                .collect(),
        }
    }

    /// Log-probability of every sequence, and its derivative along the step.
    fn sequences(&self) -> Vec<[f64; 2]> {
        let mean = self.policy.mean(&self.step);
        let possible = (0..self.next.len()).filter(|action| self.policy.probs()[*action] > 0.0);
        possible
            .flat_map(|action| {
                let token = [self.policy.log_probs()[action], self.step[action] - mean];
                let behind = self.next[action].as_ref().map_or(vec![[0.0; 2]], Self::sequences);
                behind.into_iter().map(move |rest| [token[0] + rest[0], token[1] + rest[1]])
            })
            .collect()
    }

    /// `-Σ π(y) log π(y)`.
    fn entropy(&self) -> f64 {
        self.sequences().iter().map(|[log_prob, _]| -log_prob * log_prob.exp()).sum()
    }

    /// `-Cov_y(log π(y), d log π(y))`.
    fn entropy_slope(&self) -> f64 {
        let entropy = self.entropy();
        let term = |[log_prob, slope]: &[f64; 2]| -log_prob.exp() * (log_prob + entropy) * slope;
        self.sequences().iter().map(term).sum()
    }

    /// Lemma 1 in every state, times how often it is visited.
    fn lemma_1_over_tokens(&self, visits: f64) -> f64 {
        let here = -visits * self.policy.covariance(self.policy.centred_log_probs(), &self.step);
        let behind = zip(self.policy.probs(), &self.next).filter_map(|(prob, next)| {
            next.as_ref().map(|next| next.lemma_1_over_tokens(visits * prob))
        });
        here + behind.sum::<f64>()
    }
}
