//! Shared features: the states of a log-linear policy move each other's entropy.

use super::order;
use super::vectors::{largest, normals, numerical_gradient, scaled, stream};
use crate::report::Row;
use entropy_core::{
    Categorical, FeatureState, StateFeatures, compatible_weights, shared_policy_gradient,
};
use rand_chacha::ChaCha8Rng;
use std::iter::zip;

const CASES: u64 = 40;
/// Features of an action; actions of each state.
const WIDTH: usize = 4;
const ACTIONS: [usize; 3] = [3, 5, 8];

/// Formulas to check.
#[derive(Debug, Clone, Copy)]
pub struct Formulas {
    /// Gradient of the expected advantage in the weights, `[width]`.
    pub gradient: fn(&[FeatureState<'_>]) -> Vec<f64>,
    /// Gradient of the entropy of one state in the weights, `[width]`.
    pub entropy_gradient: fn(&StateFeatures, &Categorical) -> Vec<f64>,
    /// How much the gradient of one state moves the entropy of another, per unit of step size.
    pub interference: fn(&FeatureState<'_>, &StateFeatures, &Categorical) -> f64,
    /// The natural gradient in the weights, `[width]`.
    pub natural: fn(&[FeatureState<'_>]) -> Vec<f64>,
}

/// Formulas of `entropy-core`.
pub const FORMULAS: Formulas = Formulas {
    gradient: shared_policy_gradient,
    entropy_gradient: StateFeatures::entropy_gradient,
    interference: |state, other, policy| state.interference(other, policy),
    natural: compatible_weights,
};

/// Checks the formulas on three states whose logits share four weights.
pub fn check(seed: u64, formulas: &Formulas) -> Vec<Row> {
    let (mut gradient, mut entropy, mut fisher) = (Vec::new(), Vec::new(), Vec::new());
    let (mut realisable, mut readings) = (Vec::new(), Vec::new());
    for case in 0..CASES {
        let world = World::random(&mut stream(seed, 0x7368_6172, case));
        let policies = world.policies(&world.weights);
        let states = world.states(&policies, &world.advantage);
        let direction = (formulas.gradient)(&states);
        let numerical = numerical_gradient(&world.weights, |weights| world.objective(weights));
        gradient.push(largest_gap(&direction, &numerical));
        for (index, features) in world.features.iter().enumerate() {
            let slope = numerical_gradient(&world.weights, |weights| {
                world.policies(weights)[index].entropy()
            });
            let computed = (formulas.entropy_gradient)(features, &policies[index]);
            entropy.push(largest_gap(&computed, &slope));
        }
        for (features, policy) in zip(&world.features, &policies) {
            let rate: f64 =
                states.iter().map(|state| (formulas.interference)(state, features, policy)).sum();
            let step = features.logits(&direction);
            readings.push(order::slope(2, |eta| {
                policy.entropy_change(&scaled(&step, eta)) - eta * rate
            }));
        }
        let natural = (formulas.natural)(&states);
        fisher.push(largest_gap(&world.fisher_times(&policies, &natural), &numerical));
        let linear: Vec<Vec<f64>> =
            world.features.iter().map(|features| features.logits(&world.target)).collect();
        let natural = (formulas.natural)(&world.states(&policies, &linear));
        realisable.push(largest_gap(&natural, &world.target));
    }
    let three = "3 states of 3 to 8 actions and 4 shared weights; differences of fourth order";
    let mut rows = vec![
        Row::of("Σ ρ Cov(φ, A): gap to gradient of Σ ρ E A", 1e-9, gradient).by(three),
        Row::of("-Cov(log π, φ): gap to the gradient of H", 1e-9, entropy).by(three),
    ];
    rows.extend(order::rows("error over all states", 2, readings));
    rows.extend([
        Row::of("Fisher times natural step: gap to gradient", 1e-9, fisher)
            .by("E[∇log π (∇log π · w)] summed over states and actions, gradient by differences"),
        Row::of("advantage Φ w: natural step is w, gap", 1e-9, realisable)
            .by("where the features express the advantage, Theorem 2 holds as for a table"),
    ]);
    rows
}

struct World {
    weights: Vec<f64>,
    /// Weights of an advantage that the features express.
    target: Vec<f64>,
    visits: Vec<f64>,
    features: Vec<StateFeatures>,
    advantage: Vec<Vec<f64>>,
}

impl World {
    fn random(rng: &mut ChaCha8Rng) -> Self {
        let mut column = |count: usize| normals(rng, count);
        let (weights, target) = (column(WIDTH), column(WIDTH));
        let visits = column(ACTIONS.len()).iter().map(|x| 0.2 + x.abs()).collect();
        let features = ACTIONS
            .map(|n| StateFeatures::new(column(n * WIDTH), WIDTH).expect("whole rows, finite"));
        let advantage = ACTIONS.map(&mut column).into();
        Self { weights, target, visits, features: features.into(), advantage }
    }

    fn policies(&self, weights: &[f64]) -> Vec<Categorical> {
        let policy = |features: &StateFeatures| features.policy(weights).expect("finite logits");
        self.features.iter().map(policy).collect()
    }

    fn states<'a>(
        &'a self,
        policies: &'a [Categorical],
        advantage: &'a [Vec<f64>],
    ) -> Vec<FeatureState<'a>> {
        let state = |at: usize| FeatureState {
            visits: self.visits[at],
            features: &self.features[at],
            policy: &policies[at],
            advantage: &advantage[at],
        };
        (0..self.features.len()).map(state).collect()
    }

    /// `Σ_s ρ(s) E_s A`.
    fn objective(&self, weights: &[f64]) -> f64 {
        let means = zip(self.policies(weights), &self.advantage).map(|(p, a)| p.mean(a));
        zip(&self.visits, means).map(|(visits, mean)| visits * mean).sum()
    }

    /// `Σ_s ρ(s) E_s[ψ (ψ · w)]` with the score `ψ(a) = ∇ log π(a)`, the gradient in the weights.
    fn fisher_times(&self, policies: &[Categorical], weights: &[f64]) -> Vec<f64> {
        let mut product = vec![0.0; WIDTH];
        let unit = |k: usize| -> Vec<f64> { (0..WIDTH).map(|j| f64::from(j == k)).collect() };
        for ((features, policy), visits) in zip(zip(&self.features, policies), &self.visits) {
            let columns: Vec<Vec<f64>> = (0..WIDTH).map(|k| features.logits(&unit(k))).collect();
            let means: Vec<f64> = columns.iter().map(|column| policy.mean(column)).collect();
            for (action, prob) in policy.probs().iter().enumerate() {
                let score: Vec<f64> =
                    zip(&columns, &means).map(|(column, mean)| column[action] - mean).collect();
                let along: f64 = zip(&score, weights).map(|(score, weight)| score * weight).sum();
                zip(&mut product, score)
                    .for_each(|(sum, score)| *sum += visits * prob * score * along);
            }
        }
        product
    }
}

/// Largest gap, in units of the largest expected value or 1.
fn largest_gap(found: &[f64], expected: &[f64]) -> f64 {
    super::vectors::largest_gap(found, expected) / largest(expected).max(1.0)
}
