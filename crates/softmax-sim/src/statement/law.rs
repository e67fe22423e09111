//! The law `R = -a e^H + b`: exact along the natural flow where rewards below the best are spread evenly over many actions.
//! Derivation: `docs/theory.md#law-exact`.

use super::order;
use super::vectors::{policy, stream};
use crate::report::Row;
use rand::Rng;

const TIMES: [f64; 5] = [0.3, 0.7, 1.0, 2.0, 5.0];
/// Powers `k` of the number of actions within a gap of the best.
const POWERS: [f64; 4] = [0.5, 1.0, 2.0, 3.0];
/// Actions whose gaps follow a power.
const ACTIONS: f64 = 2e5;
const POPULATIONS: u64 = 6;
const STATES: usize = 3;
/// Spacing of the rewards per unit of a reading's size.
const COARSENESS: f64 = 100.0;
/// Gap, in units of the mean one, beyond which no action matters.
const FURTHEST: f64 = 40.0;

/// `a` of the law, and `b` less the best reward, of even rewards by spacing and clock of each state.
pub type EvenLaw = fn(&[(f64, f64)]) -> (f64, f64);

/// Formulas to check.
#[derive(Debug, Clone, Copy)]
pub struct Formulas {
    /// `e^H` of even rewards, by the mean gap to the best reward over the spacing.
    pub effective_actions: fn(f64) -> f64,
    /// The law of even rewards.
    pub law: EvenLaw,
    /// Exponent of `e^H` that the mean gap is in proportion to, where the actions within a gap `g` are as many as `g^k`.
    pub exponent: fn(f64) -> f64,
}

/// Formulas of the theory.
pub const FORMULAS: Formulas = Formulas {
    effective_actions: |gap| ((1.0 + gap) * gap.ln_1p() - gap * gap.ln()).exp(),
    law: |states| {
        let mean = |f: &dyn Fn(f64, f64) -> f64| {
            states.iter().map(|(spacing, clock)| f(*spacing, *clock)).sum::<f64>()
                / states.len() as f64
        };
        let log_a = mean(&|spacing, clock| (spacing * clock).ln()) - 1.0;
        (mean(&|_, clock| clock.recip()) * log_a.exp(), 0.5 * mean(&|spacing, _| spacing))
    },
    exponent: f64::recip,
};

/// Checks the formulas against sums over the actions.
pub fn check(seed: u64, formulas: &Formulas) -> Vec<Row> {
    let closed = TIMES.iter().map(|time| {
        let flow = Flow::of(*time, |index| 0.3 * index);
        ((formulas.effective_actions)(flow.gap / 0.3).ln() - flow.entropy).abs()
    });
    let mut rows = vec![
        Row::of("even rewards: H against that of their gap, gap", 1e-12, closed)
            .by("spacing 0.3, five times; all actions within 40 mean gaps added up"),
    ];
    let single = TIMES.iter().map(|time| {
        order::slope(2, |size| {
            let spacing = COARSENESS * size / time;
            error(&[(spacing, 1.0)], *time, formulas.law)
        })
    });
    rows.extend(order::rows("error, one state", 2, single));
    let populations = (0..POPULATIONS).map(|index| {
        let mut rng = stream(seed, 0x6c61_7700, index);
        let mut state = || (rng.random_range(0.5..1.0), rng.random_range(0.5..1.0));
        let states: [(f64, f64); STATES] = std::array::from_fn(|_| state());
        order::slope(2, |size| {
            let finer = states.map(|(spacing, clock)| (COARSENESS * size * spacing, clock));
            error(&finer, 1.0, formulas.law)
        })
    });
    rows.extend(order::rows("error, own clocks", 2, populations));
    let exponents = POWERS.iter().map(|power| {
        let gap = |index: f64| FURTHEST * ((index + 0.5) / ACTIONS).powf(power.recip());
        let flow = |time| Flow::of(time, gap);
        let (early, late) = (flow(1.0), flow(1.1));
        let slope = (early.gap / late.gap).ln() / (early.entropy - late.entropy);
        (slope / (formulas.exponent)(*power) - 1.0).abs()
    });
    rows.push(
        Row::of("g^k actions within g: gap against exp(H/k), slope", 1e-2, exponents)
            .by("k = 1/2, 1, 2, 3; slope of ln gap in H between two times over 1/k, less 1"),
    );
    rows
}

/// Mean gap to the best reward and entropy of `π ∝ e^{t r}`.
struct Flow {
    gap: f64,
    entropy: f64,
}

impl Flow {
    /// At `time` from a uniform start, over actions whose gaps to the best reward grow with their index.
    fn of(time: f64, gap: impl Fn(f64) -> f64) -> Self {
        let mut gaps = vec![gap(0.0)];
        while time * gaps[gaps.len() - 1] < FURTHEST {
            gaps.push(gap(gaps.len() as f64));
        }
        let logits: Vec<f64> = gaps.iter().map(|gap| -time * gap).collect();
        let policy = policy(&logits);
        Self { gap: policy.mean(&gaps), entropy: policy.entropy() }
    }
}

/// Error of the law over states of given spacing and clock, relative to the best reward.
fn error(states: &[(f64, f64)], time: f64, law: EvenLaw) -> f64 {
    let flows: Vec<Flow> = states
        .iter()
        .map(|(spacing, clock)| Flow::of(clock * time, |index| spacing * index))
        .collect();
    let mean = |f: fn(&Flow) -> f64| flows.iter().map(f).sum::<f64>() / flows.len() as f64;
    let (a, offset) = law(states);
    -mean(|flow| flow.gap) - (offset - a * mean(|flow| flow.entropy).exp())
}
