//! What holds for every loss and any batch.

use std::ops::Range;

use proptest::prelude::*;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rl_losses::{
    Aggregation, ClipCov, ClipRange, CovarianceBand, Divisor, DualClip, KlCov, LossSums,
    ParameterError, PolicyLoss, PpoClip, StepPlan, TokenBatch, TokenColumns,
};

const CEILING: f64 = 1.5;

fn losses() -> Result<[PolicyLoss; 4], ParameterError> {
    let clip = ClipRange::new(0.2, 0.28)?;
    Ok([
        PolicyLoss::PpoClip(PpoClip::new(clip, DualClip::OFF)),
        PolicyLoss::PpoClip(PpoClip::new(clip, DualClip::at(CEILING)?)),
        PolicyLoss::ClipCov(ClipCov::new(0.2, CovarianceBand::new(0.0, 5.0)?, clip)?),
        PolicyLoss::KlCov(KlCov::new(0.2, 0.7)?),
    ])
}

fn rules() -> Result<[Aggregation; 4], ParameterError> {
    Ok([
        Aggregation::TokenMean,
        Aggregation::SeqMeanTokenMean,
        Aggregation::SeqMeanTokenSum,
        Aggregation::SeqMeanTokenSumNorm { divisor: Divisor::new(12.0)? },
    ])
}

#[derive(Debug, Clone)]
struct Columns {
    log_prob: Vec<f64>,
    old_log_prob: Vec<f64>,
    advantage: Vec<f64>,
    lengths: Vec<usize>,
}

impl Columns {
    fn batch(&self) -> TokenBatch<'_> {
        let columns = TokenColumns {
            log_prob: &self.log_prob,
            old_log_prob: &self.old_log_prob,
            advantage: &self.advantage,
        };
        TokenBatch::new(columns, &self.lengths).expect("columns of one length")
    }

    /// The same sequences in another order.
    fn permuted(&self, order: &[usize]) -> Self {
        let runs: Vec<Range<usize>> = order
            .iter()
            .map(|&sequence| self.batch().token_range(sequence..sequence + 1))
            .collect();
        Self {
            log_prob: gather(&self.log_prob, &runs),
            old_log_prob: gather(&self.old_log_prob, &runs),
            advantage: gather(&self.advantage, &runs),
            lengths: order.iter().map(|&sequence| self.lengths[sequence]).collect(),
        }
    }
}

fn gather<T: Clone>(column: &[T], runs: &[Range<usize>]) -> Vec<T> {
    runs.iter().flat_map(|run| column[run.clone()].iter().cloned()).collect()
}

prop_compose! {
    fn columns()(lengths in prop::collection::vec(0usize..12, 1..7))(
        log_prob in prop::collection::vec(-6.0..-0.01, lengths.iter().sum::<usize>()),
        move_by in prop::collection::vec(-0.6..0.6, lengths.iter().sum::<usize>()),
        advantage in prop::collection::vec(-2.0..2.0, lengths.iter().sum::<usize>()),
        lengths in Just(lengths),
    ) -> Columns {
        let old_log_prob = std::iter::zip(&log_prob, &move_by).map(|(new, by)| new - by).collect();
        Columns { log_prob, old_log_prob, advantage, lengths }
    }
}

fn seeded(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

proptest! {
    /// The parts of a split batch add up to the whole: the micro-batch size is no hyper-parameter.
    #[test]
    fn parts_add_up_to_the_whole(
        columns in columns(), cuts: [prop::sample::Index; 2], seed: u64, rule in 0usize..4,
    ) {
        let (batch, rule) = (columns.batch(), rules()?[rule]);
        let n = batch.len();
        let mut cuts = cuts.map(|cut| cut.index(n + 1));
        cuts.sort_unstable();
        for loss in losses()? {
            let plan = loss.plan(&batch, &rule, &mut seeded(seed));
            let whole = loss.evaluate(&batch, plan.part(0..n));
            let (mut value, mut gradient, mut sums) = (0.0, Vec::new(), LossSums::default());
            for run in [0..cuts[0], cuts[0]..cuts[1], cuts[1]..n] {
                let part = loss.evaluate(&batch.part(run.clone()), plan.part(run));
                value += part.value;
                gradient.extend(part.grad_log_prob);
                sums += part.sums;
            }
            prop_assert!((value - whole.value).abs() < 1e-12);
            prop_assert_eq!(gradient, whole.grad_log_prob);
            let (close, same) = (sums.ppo_kl() - whole.sums.ppo_kl(), LossSums {
                neg_log_ratio: whole.sums.neg_log_ratio,
                abs_log_ratio: whole.sums.abs_log_ratio,
                ..sums
            });
            prop_assert!(n == 0 || close.abs() < 1e-12);
            prop_assert_eq!(same, whole.sums);
        }
    }

    /// The order of the sequences carries no meaning.
    #[test]
    fn permuted_sequences_have_the_same_loss(
        (columns, order) in columns().prop_flat_map(|columns| {
            let order: Vec<usize> = (0..columns.lengths.len()).collect();
            (Just(columns), Just(order).prop_shuffle())
        }),
        seed: u64, rule in 0usize..4,
    ) {
        let (permuted, rule) = (columns.permuted(&order), rules()?[rule]);
        let (batch, permuted) = (columns.batch(), permuted.batch());
        let runs: Vec<_> = order.iter().map(|&i| batch.token_range(i..i + 1)).collect();
        for loss in losses()? {
            let plan = loss.plan(&batch, &rule, &mut seeded(seed));
            let by_position = match loss {
                PolicyLoss::ClipCov(_) => true,
                PolicyLoss::KlCov(loss) => has_tie(&batch, &loss.select(&batch)),
                PolicyLoss::PpoClip(_) => false,
            };
            let other = if by_position {
                // A draw, or a tie, follows the order of the tokens: the choice moves with them.
                let weights = rule.token_weights(permuted.sequence_lengths());
                StepPlan::new(gather(plan.selected(), &runs), weights)
            } else {
                loss.plan(&permuted, &rule, &mut seeded(seed))
            };
            let one = loss.evaluate(&batch, plan.part(0..batch.len()));
            let two = loss.evaluate(&permuted, other.part(0..batch.len()));
            prop_assert!((one.value - two.value).abs() < 1e-12);
            for (a, b) in std::iter::zip(gather(&one.grad_log_prob, &runs), two.grad_log_prob) {
                prop_assert!((a - b).abs() < 1e-12, "{a} and {b}");
            }
        }
    }

    /// The gradient against a central difference of the value, with the plan held fixed.
    #[test]
    fn gradient_is_the_slope_of_the_value(columns in columns(), seed: u64, rule in 0usize..4) {
        const STEP: f64 = 1e-6;
        let (batch, rule) = (columns.batch(), rules()?[rule]);
        let n = batch.len();
        for loss in losses()? {
            let plan = loss.plan(&batch, &rule, &mut seeded(seed));
            let gradient = loss.evaluate(&batch, plan.part(0..n)).grad_log_prob;
            let smooth: Vec<bool> = batch.log_ratios().map(away_from_kinks).collect();
            for token in (0..n).filter(|&token| smooth[token]) {
                let value_at = |step: f64| {
                    let mut moved = columns.clone();
                    moved.log_prob[token] += step;
                    loss.evaluate(&moved.batch(), plan.part(0..n)).value
                };
                let slope = (value_at(STEP) - value_at(-STEP)) / (2.0 * STEP);
                let found = gradient[token];
                prop_assert!((slope - found).abs() < 1e-7, "token {token}: {slope}, {found}");
            }
        }
    }

    /// KL-Cov does nothing before the policy has moved: it needs two updates a rollout batch.
    #[test]
    fn kl_cov_is_inert_on_policy(mut columns in columns(), coefficient in 0.0..100.0) {
        columns.old_log_prob.clone_from(&columns.log_prob);
        let batch = columns.batch();
        let [with, without] = [
            PolicyLoss::KlCov(KlCov::new(0.5, coefficient)?),
            PolicyLoss::PpoClip(PpoClip::default()),
        ]
        .map(|loss| {
            let plan = loss.plan(&batch, &Aggregation::TokenMean, &mut seeded(0));
            loss.evaluate(&batch, plan.part(0..batch.len()))
        });
        prop_assert_eq!(with.value.to_bits(), without.value.to_bits());
        prop_assert_eq!(with.grad_log_prob, without.grad_log_prob);
    }

    /// KL-Cov marks exactly the share it was given, and nothing above the lowest it marked is left.
    #[test]
    fn kl_cov_marks_the_highest_covariances(columns in columns(), fraction in 0.01..1.0) {
        let batch = columns.batch();
        let selected = KlCov::new(fraction, 1.0)?.select(&batch);
        let covariances = entropy_core::token_covariances(batch.advantage(), batch.log_prob());
        let of = |wanted: bool| {
            let pairs = std::iter::zip(&selected, &covariances);
            pairs.filter(move |(mark, _)| **mark == wanted).map(|(_, covariance)| *covariance)
        };
        let share = (fraction * batch.len() as f64).floor().max(1.0).min(batch.len() as f64);
        prop_assert!((of(true).count() as f64 - share).abs() < 0.5);
        let lowest_marked = of(true).fold(f64::INFINITY, f64::min);
        prop_assert!(of(false).all(|covariance| covariance <= lowest_marked));
    }
}

/// Whether a token left aside has the covariance of a marked one, as both of two tokens always do.
fn has_tie(batch: &TokenBatch<'_>, selected: &[bool]) -> bool {
    let covariances = entropy_core::token_covariances(batch.advantage(), batch.log_prob());
    let of = |wanted: bool| {
        let pairs = std::iter::zip(selected, &covariances);
        pairs.filter(move |(mark, _)| **mark == wanted).map(|(_, covariance)| *covariance)
    };
    of(true).fold(f64::INFINITY, f64::min) - of(false).fold(f64::NEG_INFINITY, f64::max) < 1e-9
}

/// Away from the clip bounds, the dual clip's ceiling, and `|log r|` at 0.
fn away_from_kinks(log_ratio: f64) -> bool {
    [0.8, 1.0, 1.28, CEILING].iter().all(|kink| (log_ratio.exp() - kink).abs() > 1e-4)
}

/// Every eligible token is drawn equally often: 2 of 8, so a quarter of the draws each.
#[test]
fn clip_cov_draws_uniformly_from_the_band() {
    let log_prob = [-1.0, -1.0, -1.0, -1.0, -3.0, -3.0, -3.0, -3.0];
    let columns = Columns {
        log_prob: log_prob.to_vec(),
        old_log_prob: log_prob.to_vec(),
        advantage: vec![1.0, 1.0, 1.0, 1.0, -1.0, -1.0, -1.0, -1.0],
        lengths: vec![8],
    };
    let band = CovarianceBand::new(0.5, 5.0).unwrap();
    let loss = ClipCov::new(0.25, band, ClipRange::new(1.0, 1.0).unwrap()).unwrap();
    let draws = 20_000;
    let (mut counts, mut rng) = ([0u32; 8], seeded(7));
    for _ in 0..draws {
        let selected = loss.select(&columns.batch(), &mut rng);
        assert_eq!(selected.iter().filter(|&&mark| mark).count(), 2);
        std::iter::zip(&mut counts, selected).for_each(|(count, mark)| *count += u32::from(mark));
    }
    let standard_error = (0.25 * 0.75 / f64::from(draws)).sqrt();
    for count in counts {
        let share = f64::from(count) / f64::from(draws);
        assert!((share - 0.25).abs() < 5.5 * standard_error, "{counts:?}");
    }
}
