//! Batches of every column, and the losses that are tested on them.

use std::ops::Range;

use proptest::prelude::*;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rl_losses::{
    Aggregation, Column, Divisor, PlanError, PolicyLoss, PpoClip, Real, StepPlan, TokenBatch,
    TokenColumns, registry,
};
use serde::Deserialize;

/// Settings beside the defaults, so that every branch has tokens on it in small batches.
const FURTHER: [&str; 34] = [
    "ppo-clip = { clip_ratio_high = 0.28, clip_ratio_c = 'off' }",
    "ppo-clip = { clip_ratio_c = 1.5 }",
    "ppo-clip = { semantics = 'prime' }",
    "clip-cov = { fraction = 0.2, covariance_low = 0.0, clip_ratio_low = 0.2, clip_ratio_high = 0.2 }",
    "clip-cov = { fraction = 0.2, covariance_low = 0.0, semantics = 'paper' }",
    "clip-cov = { fraction = 0.2, covariance_low = 0.0, semantics = 'verl', scope = 'micro-batch' }",
    "clip-cov = { fraction = 0.2, covariance_low = 0.0, centering = 'state' }",
    "kl-cov = { fraction = 0.2, coefficient = 0.7 }",
    "kl-cov = { fraction = 0.3, divergence = 'k2' }",
    "kl-cov = { fraction = 0.3, divergence = 'k3', centering = 'state' }",
    "kl-cov = { fraction = 0.29, semantics = 'paper' }",
    "kl-cov = { fraction = 0.29, semantics = 'prime', scope = 'micro-batch' }",
    "covariance-control = { fraction = 0.2, treatment = 'drop' }",
    "covariance-control = { fraction = 0.2, treatment = 'detach', base = 'unclipped' }",
    "covariance-control = { fraction = 0.2, treatment.reweight = { factor = 0.3 } }",
    "covariance-control = { fraction = 0.2, treatment.penalise = { anchor = 'reference' } }",
    "covariance-control = { fraction = 0.2, treatment.penalise = { divergence = 'k3', anchor = 'rollout' } }",
    "covariance-control = { fraction = 0.3, select.band = { covariance_low = -1.0, covariance_high = 1.0 } }",
    "cispo = { clip_ratio_low = 0.2, clip_ratio_high = 0.28 }",
    "gspo = { clip_ratio_low = 0.1, clip_ratio_high = 0.1 }",
    "gmpo = { clip_ratio_low = 0.2, clip_ratio_high = 0.3 }",
    "dppo-tv = { divergence_low = 0.02, divergence_high = 0.03, ratio_ceiling = 1.5 }",
    "dppo-kl = { divergence_low = 0.002, divergence_high = 0.003 }",
    "high-entropy = { fraction = 0.4, scope = 'micro-batch' }",
    "ce-gppo = { beta_low = 0.3, beta_high = 0.6 }",
    "dynamic-clip = { ratio_ceiling = 1.4 }",
    "dppo-tv = { divergence_low = 0.02, divergence_high = 0.03, pull = 0.5 }",
    "sequence-mask = { divergence = 0.05 }",
    "vespo = { power_positive = 0.5, decay_positive = 1.5, power_negative = 1.0, decay_negative = 0.3 }",
    "topr = { positive = 0.5, negative = 2.0, level = 'token' }",
    "topr = { level = 'geometric' }",
    "bapo = { balance = 0.4, ratio_low_end = 1.0, ratio_high_start = 1.0, clip_ratio_c = 'off' }",
    "entropy-discriminator = { deviations = 0.2, clip_ratio_high = 0.28 }",
    "covariance-weight = { clip_ratio_low = 0.1, clip_ratio_high = 0.28 }",
];

/// Every method with its defaults, and with further settings.
pub(crate) fn losses() -> Vec<PolicyLoss> {
    #[derive(Deserialize)]
    struct One {
        value: PolicyLoss,
    }
    let further = FURTHER.map(|settings| {
        let one: One = toml::from_str(&format!("value.{settings}")).expect(settings);
        one.value
    });
    registry().iter().map(|method| method.default).chain(further).collect()
}

/// Every rule of aggregation.
pub(crate) fn rules() -> [Aggregation; 4] {
    let divisor = Divisor::try_from(12.0).expect("a positive length");
    [
        Aggregation::TokenMean,
        Aggregation::SeqMeanTokenMean,
        Aggregation::SeqMeanTokenSum,
        Aggregation::SeqMeanTokenSumNorm { divisor },
    ]
}

/// The tokens that a loss singles out of a mini-batch, as marks, `[tokens]`.
pub(crate) fn marked(loss: &PolicyLoss, batch: &TokenBatch<'_>) -> Result<Vec<bool>, PlanError> {
    let plan = loss.plan(batch, &Aggregation::TokenMean, &mut seeded(0))?;
    Ok(plan.selected())
}

/// The weights that a plan gives to the tokens of sequences of these lengths, `[tokens]`.
pub(crate) fn token_weights(rule: &Aggregation, lengths: &[usize]) -> Vec<f64> {
    let zeros = vec![0.0; lengths.iter().sum()];
    let columns = TokenColumns { log_prob: &zeros, old_log_prob: &zeros, advantage: &zeros };
    let batch = TokenBatch::new(columns, lengths).expect("columns of one length");
    let loss = PolicyLoss::PpoClip(PpoClip::default());
    loss.plan(&batch, rule, &mut seeded(0)).expect("no further column").weights()
}

/// The plan with these tokens in place of those that were drawn, of a method without constants of its own.
pub(crate) fn with_selected(plan: StepPlan, selected: &[bool]) -> StepPlan {
    let weights = plan.weights();
    if plan.selected() == selected { plan } else { StepPlan::new(selected.to_vec(), weights) }
}

pub(crate) fn seeded(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

/// All columns of a batch, in micro-batches of one sequence or two.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Columns<R = f64> {
    pub(crate) log_prob: Vec<R>,
    pub(crate) old_log_prob: Vec<R>,
    pub(crate) advantage: Vec<R>,
    pub(crate) optional: [Vec<R>; 4],
    pub(crate) lengths: Vec<usize>,
    pub(crate) micro_batches: Vec<usize>,
}

impl<R: Real> Columns<R> {
    pub(crate) fn batch(&self) -> TokenBatch<'_, R> {
        let columns = TokenColumns {
            log_prob: &self.log_prob,
            old_log_prob: &self.old_log_prob,
            advantage: &self.advantage,
        };
        let mut batch = TokenBatch::new(columns, &self.lengths).expect("columns of one length");
        for column in Column::ALL {
            batch = batch.with(column, &self.optional[column as usize]).expect("the same length");
        }
        batch.with_micro_batches(&self.micro_batches).expect("as many sequences")
    }

    /// The sequences of some micro-batches.
    pub(crate) fn rank(&self, micro_batches: Range<usize>) -> Self {
        let before: usize = self.micro_batches[..micro_batches.start].iter().sum();
        let count: usize = self.micro_batches[micro_batches.clone()].iter().sum();
        let order: Vec<usize> = (before..before + count).collect();
        Self { micro_batches: self.micro_batches[micro_batches].to_vec(), ..self.permuted(&order) }
    }

    /// Some of the sequences, in some order, in one micro-batch.
    pub(crate) fn permuted(&self, order: &[usize]) -> Self {
        let runs = self.runs(order);
        Self {
            log_prob: gather(&self.log_prob, &runs),
            old_log_prob: gather(&self.old_log_prob, &runs),
            advantage: gather(&self.advantage, &runs),
            optional: self.optional.each_ref().map(|column| gather(column, &runs)),
            lengths: order.iter().map(|&sequence| self.lengths[sequence]).collect(),
            micro_batches: vec![order.len()],
        }
    }

    /// The tokens of some sequences.
    pub(crate) fn runs(&self, order: &[usize]) -> Vec<Range<usize>> {
        order.iter().map(|&one| self.batch().token_range(one..one + 1)).collect()
    }

    /// Converts the columns to another number type.
    pub(crate) fn stored<S: Real>(&self) -> Columns<S> {
        let column = |values: &Vec<R>| values.iter().map(|x| S::of(x.to_f64())).collect();
        Columns {
            log_prob: column(&self.log_prob),
            old_log_prob: column(&self.old_log_prob),
            advantage: column(&self.advantage),
            optional: self.optional.each_ref().map(column),
            lengths: self.lengths.clone(),
            micro_batches: self.micro_batches.clone(),
        }
    }
}

pub(crate) fn gather<T: Clone>(column: &[T], runs: &[Range<usize>]) -> Vec<T> {
    runs.iter().flat_map(|run| column[run.clone()].iter().cloned()).collect()
}

/// A batch of many tokens, in sequences of 1000 and micro-batches of ten of those.
pub(crate) fn long_batch(tokens: usize, rng: &mut impl rand::Rng) -> Columns {
    let mut column = |low: f64, high: f64| -> Vec<f64> {
        (0..tokens).map(|_| rng.random_range(low..high)).collect()
    };
    let log_prob = column(-6.0, 0.0);
    let old_log_prob =
        std::iter::zip(&log_prob, column(-0.6, 0.6)).map(|(new, by)| new - by).collect();
    Columns {
        log_prob,
        old_log_prob,
        advantage: column(-2.0, 2.0),
        optional: [column(0.0, 2.0), column(0.0, 2.0), column(-6.0, 0.0), column(-6.0, 0.0)],
        lengths: vec![1000; tokens / 1000],
        micro_batches: vec![10; tokens / 10_000],
    }
}

prop_compose! {
    /// Up to six sequences, some empty; advantages of any kind.
    pub(crate) fn columns()(lengths in prop::collection::vec(0usize..12, 1..7))(
        log_prob in prop::collection::vec(-6.0..-0.01, lengths.iter().sum::<usize>()),
        move_by in prop::collection::vec(-0.6..0.6, lengths.iter().sum::<usize>()),
        advantage in prop::collection::vec(
            prop_oneof![4 => -2.0..2.0, 1 => Just(0.0)], lengths.iter().sum::<usize>()
        ),
        entropy in prop::collection::vec(0.0..2.0, lengths.iter().sum::<usize>()),
        noise in prop::collection::vec(-0.3..0.3, lengths.iter().sum::<usize>()),
        pairs in any::<bool>(),
        lengths in Just(lengths),
    ) -> Columns {
        let shifted = |by: f64, of: &[f64]| -> Vec<f64> {
            std::iter::zip(of, &noise).map(|(x, noise)| x - by * noise).collect()
        };
        let old_log_prob: Vec<f64> =
            std::iter::zip(&log_prob, &move_by).map(|(new, by)| new - by).collect();
        let old_entropy = std::iter::zip(&entropy, &noise).map(|(h, noise)| h * (1.0 + noise));
        let optional = [
            entropy.clone(),
            old_entropy.collect(),
            shifted(1.0, &old_log_prob),
            shifted(0.1, &old_log_prob),
        ];
        let size = if pairs { 2 } else { 1 };
        let micro_batches = lengths.chunks(size).map(<[usize]>::len).collect();
        Columns { log_prob, old_log_prob, advantage, optional, lengths, micro_batches }
    }
}
