//! All statements of the theory, checked one after the other.

use crate::population::{State, population};
use crate::report::{Report, Row};
use crate::statement::{
    bound, clip_cov, clipped, clock, estimator, exchange, flow, generalised_entropy, identity,
    kl_cov, law, lemma1, proposition1, regulariser, sampled, sequence, shared_features, sign,
    stale, theorems,
};
use entropy_core::{
    BinarySplit, Categorical, ExchangeRate, StateGraph, UpdateRule, predicted_change,
};

/// Numbers of actions of the random policies that every statement is checked on: the least, a few, and
/// enough for a logarithm to show.
const ACTIONS: [usize; 3] = [2, 8, 64];

/// Numbers of actions of a vocabulary, where only what costs a pass over the actions is checked.
const MANY_ACTIONS: [usize; 2] = [1_000, 10_000];

/// One policy of many actions for this many of few.
const POLICIES_PER_LARGE_ONE: usize = 20;

/// Seed and sample sizes of a verification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Seed of all random policies, advantages, steps and decision processes.
    pub seed: u64,
    /// Random policies for each number of actions up to 64; a twentieth of that beyond.
    pub policies: usize,
    /// Cases that the remainder bound is tried on.
    pub cases: u64,
}

impl Settings {
    /// Sizes that tell a wrong formula, in seconds.
    pub const DEFAULT: Self = Self { seed: 0, policies: 200, cases: 200_000 };

    /// Fewest policies that include every kind: impossible actions, ties, logits of ±700.
    pub const LEAST_POLICIES: usize = 8;
}

/// Seed and random policies of the checks.
struct Samples<'a> {
    seed: u64,
    /// Cases of the bound.
    cases: u64,
    /// Few actions.
    few: &'a [State],
    /// Few and many.
    all: &'a [State],
}

type Check = fn(&Samples<'_>) -> Vec<Row>;

const PREDICT: theorems::Predict = UpdateRule::predicted_entropy_change;

/// Every statement with its checks, in the order of the report.
const STATEMENTS: [(&str, Check); 21] = [
    ("Lemma 1", |samples| {
        let mut rows = lemma1::check(samples.all, Categorical::entropy_change_first_order);
        let second_order = Categorical::entropy_change_second_order;
        rows.extend(lemma1::check_higher_order(samples.all, 3, second_order));
        let third_order = Categorical::entropy_change_third_order;
        rows.extend(lemma1::check_higher_order(samples.all, 4, third_order));
        rows
    }),
    ("Finite-step identities", |samples| identity::check(samples.all, &identity::FORMULAS)),
    ("Remainder bound", |samples| {
        bound::check(samples.seed, samples.cases, Categorical::remainder_bound)
    }),
    ("Proposition 1", |samples| {
        proposition1::check(samples.few, samples.seed, |policy, advantage, eta| {
            UpdateRule::PolicyGradient.step(policy, advantage, eta)
        })
    }),
    ("Theorem 1", |samples| theorems::check_theorem_1(samples.all, PREDICT)),
    ("Theorem 2", |samples| theorems::check_theorem_2(samples.all, PREDICT)),
    ("Signs by hand", |_| sign::check(PREDICT)),
    ("Sampled gradient", |samples| sampled::check(samples.seed, sampled::predict)),
    ("Clipped surrogate", |samples| {
        clipped::check(samples.few, predicted_change::clipped_surrogate)
    }),
    ("Regularisers", |samples| regulariser::check(samples.few, regulariser::predict)),
    ("GRPO clock", |samples| clock::check(samples.seed, clock::clock)),
    ("Flows", |samples| flow::check(samples.seed, &flow::CLOSED_FORMS)),
    ("Reward and entropy", |samples| {
        exchange::check(samples.few, ExchangeRate::of, BinarySplit::of)
    }),
    ("Sequences", |samples| {
        let (entropy, change) = (StateGraph::entropy, StateGraph::entropy_change_first_order);
        sequence::check(samples.seed, entropy, change)
    }),
    ("Shared features", |samples| shared_features::check(samples.seed, &shared_features::FORMULAS)),
    ("Other entropies", |samples| {
        generalised_entropy::check(samples.few, &generalised_entropy::KINDS)
    }),
    ("Estimator", |samples| estimator::check(samples.seed, &estimator::FORMULAS)),
    ("Clip-Cov", |samples| clip_cov::check(samples.few, samples.seed, clip_cov::predict)),
    ("KL-Cov", |samples| kl_cov::check(samples.few, samples.seed, kl_cov::predict)),
    ("Stale rollouts", |samples| stale::check(samples.few, &stale::FORMULAS)),
    ("Law", |samples| law::check(samples.seed, &law::FORMULAS)),
];

/// Checks every statement on random policies.
///
/// The result depends on the settings alone, never on the number of threads.
pub fn verify(settings: &Settings) -> Report {
    verify_watched(settings, |_, _, _| ())
}

/// [`verify`], telling `on_part` before each part and once at the end: the statement that is checked next, how many parts are
/// done, and how many there are.
pub fn verify_watched(settings: &Settings, mut on_part: impl FnMut(&str, u64, u64)) -> Report {
    let &Settings { seed, policies, cases } = settings;
    let states = |actions: &[usize], count: usize| -> Vec<State> {
        actions.iter().flat_map(|actions| population(seed, count, *actions)).collect()
    };
    let mut all = states(&ACTIONS, policies);
    let few = all.len();
    all.extend(states(&MANY_ACTIONS, policies.div_ceil(POLICIES_PER_LARGE_ONE)));
    let samples = Samples { seed, cases, few: &all[..few], all: &all };
    let total = STATEMENTS.len() as u64;
    let mut rows = Vec::new();
    for (done, (statement, check)) in (0..).zip(STATEMENTS) {
        on_part(statement, done, total);
        rows.extend(check(&samples).into_iter().map(|row| row.about(statement)));
    }
    on_part("done", total, total);
    Report { seed, rows }
}
