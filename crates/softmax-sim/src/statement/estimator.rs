//! The covariance estimated from tokens: bias and variance, by adding up all batches there can be.

use crate::report::Row;
use entropy_core::{Categorical, token_covariances};
use ndarray_rand::rand_distr::{Distribution, StandardNormal};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

const STATEMENT: &str = "Estimator";

/// Number of random cases for each size.
const CASES: u64 = 24;

/// Tokens of a batch and actions of a state.
const SIZES: [(usize, usize); 4] = [(2, 4), (3, 3), (4, 3), (6, 2)];

/// The estimator checked: the mean over a batch of the centred cross-products.
pub fn estimate(advantage: &[f64], log_prob: &[f64]) -> f64 {
    let covariances = token_covariances(advantage, log_prob);
    covariances.iter().sum::<f64>() / covariances.len() as f64
}

/// One state: log-probability, advantage and probability of each action.
struct Tokens {
    prob: Vec<f64>,
    log_prob: Vec<f64>,
    advantage: Vec<f64>,
}

impl Tokens {
    fn new(policy: &Categorical, advantage: &[f64]) -> Self {
        Self {
            prob: policy.probs().to_vec(),
            log_prob: policy.log_probs().to_vec(),
            advantage: advantage.to_vec(),
        }
    }

    fn random(rng: &mut ChaCha8Rng, actions: usize) -> (Categorical, Vec<f64>) {
        let mut column = || (0..actions).map(|_| StandardNormal.sample(rng)).collect::<Vec<f64>>();
        let (logits, advantage) = (column(), column());
        (Categorical::from_logits(&logits).expect("normals are finite"), advantage)
    }

    /// The token of a state drawn with `weight`, then of an action drawn from its policy.
    fn mixed(states: &[(f64, &Self)]) -> Self {
        let gather = |column: fn(&Self) -> &[f64]| -> Vec<f64> {
            states.iter().flat_map(|(_, state)| column(state).iter().copied()).collect()
        };
        Self {
            prob: states
                .iter()
                .flat_map(|(weight, state)| state.prob.iter().map(move |p| weight * p))
                .collect(),
            log_prob: gather(|state| &state.log_prob),
            advantage: gather(|state| &state.advantage),
        }
    }

    /// Mean and variance of the estimate over all batches of `count` independent tokens.
    fn moments(&self, count: usize, estimate: impl Fn(&[f64], &[f64]) -> f64) -> (f64, f64) {
        let kinds = self.prob.len();
        let tokens = u32::try_from(count).expect("a few tokens");
        let outcomes = (0..kinds.pow(tokens)).map(|batch| {
            let picks = (0..tokens).map(|token| batch / kinds.pow(token) % kinds);
            let picks: Vec<usize> = picks.collect();
            let column =
                |values: &[f64]| picks.iter().map(|pick| values[*pick]).collect::<Vec<f64>>();
            let prob: f64 = column(&self.prob).iter().product();
            (prob, estimate(&column(&self.advantage), &column(&self.log_prob)))
        });
        let outcomes: Vec<(f64, f64)> = outcomes.collect();
        let mean: f64 = outcomes.iter().map(|(prob, value)| prob * value).sum();
        let variance = outcomes.iter().map(|(prob, value)| prob * (value - mean).powi(2)).sum();
        (mean, variance)
    }

    /// `E[(x - E x)^i (y - E y)^j]` of log-probability and advantage.
    fn central(&self, i: i32, j: i32) -> f64 {
        let mean = |column: &[f64]| -> f64 {
            std::iter::zip(&self.prob, column).map(|(prob, value)| prob * value).sum()
        };
        let (mean_x, mean_y) = (mean(&self.log_prob), mean(&self.advantage));
        (0..self.prob.len())
            .map(|kind| {
                let (x, y) = (self.log_prob[kind] - mean_x, self.advantage[kind] - mean_y);
                self.prob[kind] * x.powi(i) * y.powi(j)
            })
            .sum()
    }
}

/// Checks `estimate` against the exact covariance under the policy.
pub fn check(seed: u64, estimate: impl Fn(&[f64], &[f64]) -> f64) -> Vec<Row> {
    let (mut bias, mut variance, mut between) = (Vec::new(), Vec::new(), Vec::new());
    for (index, (count, actions)) in SIZES.into_iter().enumerate() {
        for case in 0..CASES {
            let mut rng = ChaCha8Rng::seed_from_u64(seed ^ 0x6573_7469);
            rng.set_stream(case * SIZES.len() as u64 + index as u64);
            let (policy, advantage) = Tokens::random(&mut rng, actions);
            let tokens = Tokens::new(&policy, &advantage);
            let exact = policy.covariance(policy.log_probs(), &advantage);
            let n = count as f64;
            let (mean, spread) = tokens.moments(count, &estimate);
            bias.push((mean - (1.0 - 1.0 / n) * exact).abs());
            variance.push((spread * (n / (n - 1.0)).powi(2) - unbiased_variance(&tokens, n)).abs());
            if count > 4 {
                continue; // two states square the number of batches
            }
            let (other, other_advantage) = Tokens::random(&mut rng, actions);
            let other_tokens = Tokens::new(&other, &other_advantage);
            let mixture = Tokens::mixed(&[(0.25, &tokens), (0.75, &other_tokens)]);
            let (mean, _) = mixture.moments(count, &estimate);
            let within =
                0.25 * exact + 0.75 * other.covariance(other.log_probs(), &other_advantage);
            let spread_between = -0.25
                * 0.75
                * (policy.entropy() - other.entropy())
                * (policy.mean(&advantage) - other.mean(&other_advantage));
            between.push((n / (n - 1.0) * mean - (within + spread_between)).abs());
        }
    }
    let all = "all batches of 2 to 6 tokens of random policies added up, each with its probability";
    let mut rows = vec![
        Row::of(STATEMENT, "mean of the batch covariance: (1 - 1/N) Cov, gap", 1e-13, bias).by(all),
        Row::of(STATEMENT, "its variance, times N²/(N - 1)²: the formula, gap", 1e-12, variance)
            .by(all),
        Row::of(STATEMENT, "two states: E Cov_s - Cov(H(s), E A(s)), gap", 1e-13, between).by(all),
    ];
    rows.push(reversed_sign(&estimate));
    rows
}

/// `Var S = (μ₂₂ - σ_xy²) / N + (σ_xx σ_yy + σ_xy²) / (N (N - 1))` of the unbiased covariance `S`.
fn unbiased_variance(tokens: &Tokens, n: f64) -> f64 {
    let (xx, yy) = (tokens.central(2, 0), tokens.central(0, 2));
    let (xy, fourth) = (tokens.central(1, 1), tokens.central(2, 2));
    (fourth - xy * xy) / n + (xx * yy + xy * xy) / (n * (n - 1.0))
}

/// The counter-example by hand: within either state the covariance is negative on average, -0.0793;
/// batch-centred it is +0.1288.
fn reversed_sign(estimate: impl Fn(&[f64], &[f64]) -> f64) -> Row {
    let state = |probs: [f64; 2], advantage: [f64; 2]| {
        let policy = Categorical::from_logits(&probs.map(f64::ln)).expect("both are positive");
        Tokens::new(&policy, &advantage)
    };
    let fair = state([0.5, 0.5], [-1.0, -1.0]);
    let peaked = state([0.9375, 0.0625], [0.75, 1.75]);
    let within = 0.5 * (fair.central(1, 1) + peaked.central(1, 1));
    let (batch, _) = Tokens::mixed(&[(0.5, &fair), (0.5, &peaked)]).moments(3, estimate);
    let batch = 1.5 * batch;
    let gap = (within + 0.079_337_4).abs().max((batch - 0.128_837_6).abs());
    Row::of(STATEMENT, "sign reversed: -0.0793 within states, +0.1288 batch, gap", 1e-3, [gap])
        .by("two states, π = (1/2, 1/2), A = (-1, -1) and π = (15/16, 1/16), A = (3/4, 7/4)")
}
