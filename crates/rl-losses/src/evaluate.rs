//! One pass over tokens: value, gradient and sums, in vectors and in pieces of fixed size.

use std::{iter::zip, ops::Range};

use pulp::NullaryFnOnce;

use crate::{
    Executor, LossOutput, LossSums, PlanPart, Real, Serial, TokenBatch,
    constants::Sources,
    executor::runs,
    token_loss::{Token, TokenLoss},
};

/// Tokens of one piece of work: pieces are cut at multiples of it, whoever runs them.
const PIECE: usize = 16_384;
/// Tokens whose terms are on the stack at once.
const BLOCK: usize = 512;
/// Partial sums kept apart, so that they are added in vectors.
const LANES: usize = 16;

/// Value and sums of a run of tokens; the gradient is written elsewhere.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Evaluation {
    /// `Σ_t w_t ℓ_t`, to be minimised.
    pub value: f64,
    /// Counts and sums to report.
    pub sums: LossSums,
}

/// The columns a pass reads.
struct Columns<'a, R> {
    log_prob: &'a [R],
    detached: &'a [R],
    old_log_prob: &'a [R],
    advantage: &'a [R],
    /// What the plan's constants are made of besides, if of anything.
    own: Option<&'a [R]>,
}

impl<'a, R> Columns<'a, R> {
    #[inline(always)]
    fn of(&self, tokens: &Range<usize>) -> Self {
        Self {
            log_prob: &self.log_prob[tokens.clone()],
            detached: &self.detached[tokens.clone()],
            old_log_prob: &self.old_log_prob[tokens.clone()],
            advantage: &self.advantage[tokens.clone()],
            own: self.own.map(|own| &own[tokens.clone()]),
        }
    }

    /// Constants are made of what is not differentiated.
    #[inline(always)]
    fn sources(&self) -> Sources<'a, R> {
        Sources {
            log_prob: self.detached,
            old_log_prob: self.old_log_prob,
            advantage: self.advantage,
            own: self.own.unwrap_or_default(),
        }
    }
}

/// Evaluates a loss of one's own as [`PolicyLoss::evaluate`](crate::PolicyLoss::evaluate) does those of the registry: on the
/// mini-batch or on any run of its tokens, whose values, gradients and sums add up to those of the whole.
///
/// The plan says what each token weighs and which are selected: [`StepPlan::new`](crate::StepPlan::new) of
/// [`Aggregation::token_weights`](crate::Aggregation::token_weights), or that of any method of the registry.
///
/// # Panics
///
/// If `plan` is not as long as `batch`, or is that of a method that needs a column that `batch` lacks.
#[expect(clippy::needless_pass_by_value, reason = "a part is a view, made for this call")]
pub fn evaluate_loss<L: TokenLoss, R: Real>(
    loss: &L,
    batch: &TokenBatch<'_, R>,
    plan: PlanPart<'_>,
) -> LossOutput<R> {
    assert_eq!(plan.len(), batch.len(), "a plan of the same tokens");
    let mut grad_log_prob = vec![R::default(); batch.len()];
    let Evaluation { value, sums } =
        evaluate(&Serial, loss, batch, batch.log_prob(), &plan, &mut grad_log_prob);
    LossOutput { value, grad_log_prob, sums }
}

/// Evaluates `loss`; the gradient goes to `gradient`, which is as long as the batch.
pub(crate) fn evaluate<L: TokenLoss, R: Real>(
    executor: &impl Executor,
    loss: &L,
    batch: &TokenBatch<'_, R>,
    detached: &[R],
    plan: &PlanPart<'_>,
    gradient: &mut [R],
) -> Evaluation {
    let columns = Columns {
        log_prob: batch.log_prob(),
        detached,
        old_log_prob: batch.old_log_prob(),
        advantage: batch.advantage(),
        own: plan.column_of_constants().map(|column| {
            let own = batch.column(column);
            own.unwrap_or_else(|| panic!("the plan needs the column `{column}` of the batch"))
        }),
    };
    let pieces: Vec<_> = zip(runs(batch.len(), PIECE), gradient.chunks_mut(PIECE)).collect();
    let parts = executor.map(pieces, |(tokens, gradient)| {
        pulp::Arch::new().dispatch(Piece { loss, columns: &columns, plan, tokens, gradient })
    });
    let mut whole = Evaluation::default();
    for part in parts {
        whole.value += part.value;
        whole.sums += part.sums;
    }
    whole
}

/// A piece of work. Not a closure: those are not always inlined into the code for the wide vectors, and outside of it a
/// fused multiply-add is a call.
struct Piece<'a, L, R> {
    loss: &'a L,
    columns: &'a Columns<'a, R>,
    plan: &'a PlanPart<'a>,
    tokens: Range<usize>,
    gradient: &'a mut [R],
}

impl<L: TokenLoss, R: Real> NullaryFnOnce for Piece<'_, L, R> {
    type Output = Evaluation;

    #[inline(always)]
    fn call(self) -> Evaluation {
        let Self { loss, columns, plan, tokens, gradient } = self;
        evaluate_piece(loss, columns, plan, tokens, gradient)
    }
}

#[inline(always)]
fn evaluate_piece<L: TokenLoss, R: Real>(
    loss: &L,
    columns: &Columns<'_, R>,
    plan: &PlanPart<'_>,
    tokens: Range<usize>,
    gradient: &mut [R],
) -> Evaluation {
    let mut weights = [R::default(); BLOCK];
    let mut constants = [R::default(); BLOCK];
    let mut terms = Terms::default();
    let mut totals = Totals::default();
    let (one_weight, one_constant) = (plan.weighs_alike(), plan.has_one_constant());
    let limit = R::of(loss.log_ratio_limit().unwrap_or(f64::INFINITY));
    let mut pending = plan.selected_within(&tokens);
    // Written down: walked, they cost the loop a tenth of its speed.
    let blocks: Vec<_> = runs(tokens.len(), BLOCK).collect();
    for (index, run) in blocks.into_iter().enumerate() {
        let block = tokens.start + run.start..tokens.start + run.end;
        let (start, length) = (block.start, block.len());
        if index == 0 || !one_weight {
            plan.fill_weights(block.clone(), &mut weights[..length]);
        }
        let columns = columns.of(&block);
        if index == 0 || !one_constant {
            plan.fill_constants(start, columns.sources(), &mut constants[..length]);
        }
        let inside = pending.iter().take_while(|&&token| plan.index_of(token) < block.end).count();
        let (selected, later) = pending.split_at(inside);
        pending = later;
        totals.selected += inside;
        let inputs =
            Inputs { columns, weights: &weights[..length], constants: &constants[..length], limit };
        let gradient = &mut gradient[run];
        totals.counts.add(score_block(loss, &inputs, gradient, &mut terms));
        for &token in selected {
            let index = plan.index_of(token) - start;
            let held = inputs.holds(index);
            totals.counts.subtract(terms.score(loss, &inputs, gradient, index, false, held));
            totals.counts.add(terms.score(loss, &inputs, gradient, index, true, held));
        }
        totals.add(&terms, length);
    }
    totals.finish(tokens.len())
}

struct Inputs<'a, R> {
    columns: Columns<'a, R>,
    weights: &'a [R],
    constants: &'a [R],
    /// Log-ratios are held to this and minus this.
    limit: R,
}

impl<R: Real> Inputs<'_, R> {
    /// Ratios of log-ratios beyond this are held.
    #[inline(always)]
    fn reach(&self) -> R {
        self.limit.lesser(R::EXP_LIMIT)
    }

    /// Whether the ratio of a token of the block is held.
    #[inline(always)]
    fn holds(&self, index: usize) -> bool {
        let log_ratio = self.columns.log_prob[index] - self.columns.old_log_prob[index];
        log_ratio.magnitude() > self.reach()
    }
}

/// What a block of tokens came to, and on the way there.
struct Terms<R> {
    ratios: [R; BLOCK],
    values: [R; BLOCK],
    reported: [R; BLOCK],
}

impl<R: Real> Default for Terms<R> {
    #[inline(always)]
    fn default() -> Self {
        let zeros = [R::default(); BLOCK];
        Self { ratios: zeros, values: zeros, reported: zeros }
    }
}

/// How many tokens of some are in each state of [`Scored`](crate::Scored).
#[derive(Clone, Copy, Default)]
struct Counts {
    clipped: u32,
    ceiling: u32,
    altered: u32,
}

impl Counts {
    #[inline(always)]
    fn add(&mut self, other: Self) {
        self.clipped += other.clipped;
        self.ceiling += other.ceiling;
        self.altered += other.altered;
    }

    #[inline(always)]
    fn subtract(&mut self, other: Self) {
        self.clipped -= other.clipped;
        self.ceiling -= other.ceiling;
        self.altered -= other.altered;
    }
}

#[inline(always)]
fn score_block<L: TokenLoss, R: Real>(
    loss: &L,
    inputs: &Inputs<'_, R>,
    gradient: &mut [R],
    terms: &mut Terms<R>,
) -> Counts {
    let length = gradient.len();
    // Slices of one known length: no bounds are checked inside the loop.
    let columns = &inputs.columns;
    let inputs = Inputs {
        columns: Columns {
            log_prob: &columns.log_prob[..length],
            detached: &columns.detached[..length],
            old_log_prob: &columns.old_log_prob[..length],
            advantage: &columns.advantage[..length],
            own: None,
        },
        weights: &inputs.weights[..length],
        constants: &inputs.constants[..length],
        limit: inputs.limit,
    };
    assert!(length <= BLOCK, "a block fits the stack");
    let mut counts = Counts::default();
    // A loop of its own for blocks that hold none, as nearly all do: it asks no token.
    if terms.take_ratios(&inputs) {
        for index in 0..length {
            let held = inputs.holds(index);
            counts.add(terms.score(loss, &inputs, gradient, index, false, held));
        }
    } else {
        for index in 0..length {
            counts.add(terms.score(loss, &inputs, gradient, index, false, false));
        }
    }
    counts
}

impl<R: Real> Terms<R> {
    /// Ratios and reported log-ratios of a block; says whether any is held. In loops of their own: where registers are few, the
    /// constants of the exponential and those of the loss do not fit them together.
    #[inline(always)]
    fn take_ratios(&mut self, inputs: &Inputs<'_, R>) -> bool {
        let Columns { log_prob: new, old_log_prob: old, .. } = inputs.columns;
        let (reported, ratios) = (&mut self.reported[..new.len()], &mut self.ratios[..new.len()]);
        // As if none were held; the largest tells whether that was right.
        let mut largest = R::of(0.0).magnitude_bits();
        let out = zip(&mut *reported, &mut *ratios);
        for ((reported, ratio), (new, old)) in zip(out, zip(new, old)) {
            *reported = *new - *old;
            *ratio = reported.exp_within();
            largest = largest.max(reported.magnitude_bits());
        }
        if largest <= inputs.reach().magnitude_bits() {
            return false;
        }
        for ((reported, ratio), (new, old)) in zip(zip(reported, ratios), zip(new, old)) {
            *reported = (*new - *old).held(-inputs.limit, inputs.limit);
            *ratio = reported.exp();
        }
        true
    }

    /// The term of one token of a block.
    #[inline(always)]
    fn score<L: TokenLoss>(
        &mut self,
        loss: &L,
        inputs: &Inputs<'_, R>,
        gradient: &mut [R],
        index: usize,
        selected: bool,
        held: bool,
    ) -> Counts {
        let token = Token {
            log_prob: inputs.columns.log_prob[index],
            old_log_prob: inputs.columns.old_log_prob[index],
            detached_log_prob: inputs.columns.detached[index],
            ratio: self.ratios[index],
            held,
            advantage: inputs.columns.advantage[index],
            constant: inputs.constants[index],
            selected,
        };
        let (weight, scored) = (inputs.weights[index], loss.score(&token));
        self.values[index] = weight * scored.term.value;
        gradient[index] = weight * scored.term.d_log_prob;
        Counts {
            clipped: u32::from(scored.clipped),
            ceiling: u32::from(scored.ceiling),
            altered: u32::from(scored.altered),
        }
    }
}

#[derive(Default)]
struct Totals {
    value: [f64; LANES],
    log_ratio: [f64; LANES],
    magnitude: [f64; LANES],
    counts: Counts,
    selected: usize,
}

impl Totals {
    #[inline(always)]
    fn add<R: Real>(&mut self, terms: &Terms<R>, length: usize) {
        let whole = length / LANES * LANES;
        add_values(&mut self.value, &terms.values[..whole]);
        add_log_ratios(&mut self.log_ratio, &mut self.magnitude, &terms.reported[..whole]);
        for i in whole..length {
            let lane = i - whole;
            self.value[lane] += terms.values[i].to_f64();
            self.log_ratio[lane] += terms.reported[i].to_f64();
            self.magnitude[lane] += terms.reported[i].magnitude().to_f64();
        }
    }

    #[inline(always)]
    fn finish(&self, tokens: usize) -> Evaluation {
        let sums = LossSums {
            tokens,
            clipped: self.counts.clipped as usize,
            clipped_lower: self.counts.ceiling as usize,
            selected: self.selected,
            altered: self.counts.altered as usize,
            neg_log_ratio: -self.log_ratio.iter().sum::<f64>(),
            abs_log_ratio: self.magnitude.iter().sum(),
        };
        Evaluation { value: self.value.iter().sum(), sums }
    }
}

#[inline(always)]
fn add_values<R: Real>(sums: &mut [f64; LANES], terms: &[R]) {
    let mut lanes = *sums;
    for terms in terms.chunks_exact(LANES) {
        for lane in 0..LANES {
            lanes[lane] += terms[lane].to_f64();
        }
    }
    *sums = lanes;
}

/// Sums and sums of magnitudes: each term is widened once.
#[inline(always)]
fn add_log_ratios<R: Real>(sums: &mut [f64; LANES], of_magnitudes: &mut [f64; LANES], terms: &[R]) {
    let (mut signed, mut magnitudes) = (*sums, *of_magnitudes);
    for terms in terms.chunks_exact(LANES) {
        for lane in 0..LANES {
            let term = terms[lane].to_f64();
            signed[lane] += term;
            magnitudes[lane] += term.abs();
        }
    }
    (*sums, *of_magnitudes) = (signed, magnitudes);
}
