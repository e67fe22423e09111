//! One pass over tokens: value, gradient and sums, in vectors and in pieces of fixed size.

use std::{iter::zip, ops::Range};

use pulp::NullaryFnOnce;

use crate::{
    Evaluation, LossOutput, LossSums, PlanPart, PolicyLoss, Real, Shared, Sources, StepPlan, Token,
    TokenBatch, TokenLoss,
    fast::{spread::Spread, threads::runs},
    term::{Visited, Visitor},
};

/// Tokens of one piece of work: pieces are split at multiples of it, whatever the threads.
const PIECE: usize = 16_384;
/// Tokens whose terms are on the stack at once.
const BLOCK: usize = 512;
/// Partial sums kept apart, so that they are added in vectors.
const LANES: usize = 16;

impl PolicyLoss {
    /// Evaluates the loss on the mini-batch or on any run of its tokens.
    ///
    /// Values, gradients and sums of the parts of a split mini-batch add up to those of the whole.
    ///
    /// # Panics
    ///
    /// If `plan` is not as long as `batch`, or `batch` lacks a column of [`requirements`](Self::requirements).
    #[expect(clippy::needless_pass_by_value, reason = "a part is a view, made for this call")]
    pub fn evaluate<R: Real>(
        &self,
        batch: &TokenBatch<'_, R>,
        plan: PlanPart<'_>,
    ) -> LossOutput<R> {
        let mut grad_log_prob = vec![R::default(); batch.len()];
        let Evaluation { value, sums } = self.evaluate_into(batch, &plan, &mut grad_log_prob);
        LossOutput { value, grad_log_prob, sums }
    }

    /// Evaluates like [`evaluate`](Self::evaluate), and writes the derivatives to `gradient`, `[tokens]`.
    ///
    /// # Panics
    ///
    /// If `plan` or `gradient` is not as long as `batch`, or `batch` lacks a column.
    pub fn evaluate_into<R: Real>(
        &self,
        batch: &TokenBatch<'_, R>,
        plan: &PlanPart<'_>,
        gradient: &mut [R],
    ) -> Evaluation {
        self.visit(Evaluate { batch, plan, gradient })
    }
}

type EvaluateInto<R> = fn(&PolicyLoss, &TokenBatch<'_, R>, &PlanPart<'_>, &mut [R]) -> Evaluation;

/// Every method, compiled here for both kinds of number. In tests, where crates share such code, this saves each crate that
/// evaluates losses half a minute of compiling.
#[used]
static COMPILED: (EvaluateInto<f32>, EvaluateInto<f64>) =
    (PolicyLoss::evaluate_into::<f32>, PolicyLoss::evaluate_into::<f64>);

/// Evaluates a custom loss as [`PolicyLoss::evaluate`] does those of the registry: on the
/// mini-batch or on any run of its tokens, whose values, gradients and sums add up to those of the whole.
///
/// The plan says what each token weighs and which are selected: that of any method of the registry, or
/// [`StepPlan::new`](crate::StepPlan::new).
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
    let mut grad_log_prob = vec![R::default(); batch.len()];
    let evaluate = Evaluate { batch, plan: &plan, gradient: &mut grad_log_prob };
    let Evaluation { value, sums } = evaluate.visit(loss);
    LossOutput { value, grad_log_prob, sums }
}

/// Arguments of an evaluation for a loss given later.
struct Evaluate<'a, 'b, R> {
    batch: &'a TokenBatch<'b, R>,
    plan: &'a PlanPart<'a>,
    gradient: &'a mut [R],
}

impl<R: Real> Visitor for Evaluate<'_, '_, R> {
    type Output = Evaluation;

    fn visit<L: TokenLoss>(self, loss: &L) -> Evaluation {
        let Self { batch, plan, gradient } = self;
        assert_eq!(plan.len(), batch.len(), "a plan of the same tokens");
        assert_eq!(gradient.len(), batch.len(), "one slope per token");
        let column = plan.plan.column.map(|column| {
            let values = batch.column(column);
            values.unwrap_or_else(|| panic!("the plan needs the column `{column}` of the batch"))
        });
        let pieces: Vec<_> = zip(runs(batch.len(), PIECE), gradient.chunks_mut(PIECE)).collect();
        let parts = batch.threads().map(pieces, |(tokens, gradient)| {
            pulp::Arch::new().dispatch(Piece { loss, batch, own: column, plan, tokens, gradient })
        });
        let mut total = Evaluation::default();
        for part in parts {
            total.value += part.value;
            total.sums += part.sums;
        }
        total
    }
}

/// A piece of work. Not a closure: those are not always inlined into the code for the wide vectors, and outside of it a
/// fused multiply-add is a call.
struct Piece<'a, 'b, L, R> {
    loss: &'a L,
    batch: &'a TokenBatch<'b, R>,
    /// Column that the constants are made of, if any.
    own: Option<&'a [R]>,
    plan: &'a PlanPart<'a>,
    tokens: Range<usize>,
    gradient: &'a mut [R],
}

impl<L: TokenLoss, R: Real> NullaryFnOnce for Piece<'_, '_, L, R> {
    type Output = Evaluation;

    #[inline(always)]
    fn call(self) -> Evaluation {
        let Self { loss, batch, own, plan, tokens, gradient } = self;
        let zeros = [R::default(); BLOCK];
        let (mut weights, mut constants) = (zeros, zeros);
        let mut terms = Terms { ratios: zeros, values: zeros, reported: zeros };
        let mut totals = Totals::default();
        let StepPlan { weights: planned_weights, constants: planned_constants, .. } = plan.plan;
        let [one_weight, one_constant] =
            [planned_weights, planned_constants].map(|all| matches!(all, Spread::Uniform(_)));
        let (makes_constants, shared) = (plan.makes_constants(), plan.plan.shared);
        let limit = R::of(loss.log_ratio_limit().unwrap_or(f64::INFINITY));
        let mut pending = plan.selected_within(&tokens);
        // Written down: walked, they cost the loop a tenth of its speed.
        let blocks: Vec<_> = runs(tokens.len(), BLOCK).collect();
        for (index, run) in blocks.into_iter().enumerate() {
            let block = tokens.start + run.start..tokens.start + run.end;
            let length = block.len();
            let gradient = &mut gradient[run];
            let mut inputs = Inputs {
                log_prob: &batch.log_prob()[block.clone()],
                old_log_prob: &batch.old_log_prob()[block.clone()],
                advantage: &batch.advantage()[block.clone()],
                weights: &[],
                constants: &[],
                limit,
            };
            if index == 0 || !one_weight {
                planned_weights.fill(plan.shifted(block.clone()), &mut weights[..length]);
            }
            if makes_constants {
                let mut planned = [0.0; BLOCK];
                planned_constants.fill(plan.shifted(block.clone()), &mut planned[..length]);
                let column = own.map(|column| &column[block.clone()]);
                let planned = (&planned[..length], shared.unwrap_or_default());
                inputs.make_constants(loss, planned, column, &mut constants);
            } else if index == 0 || !one_constant {
                planned_constants.fill(plan.shifted(block.clone()), &mut constants[..length]);
            }
            (inputs.weights, inputs.constants) = (&weights[..length], &constants[..length]);
            totals.counts.add(terms.score_block(loss, &inputs, gradient));
            let inside =
                pending.iter().take_while(|&&token| plan.index_of(token) < block.end).count();
            let (selected, later) = pending.split_at(inside);
            pending = later;
            totals.selected += inside;
            for &token in selected {
                let index = plan.index_of(token) - block.start;
                let held = inputs.holds(index);
                totals.counts.subtract(terms.score(loss, &inputs, gradient, index, false, held));
                totals.counts.add(terms.score(loss, &inputs, gradient, index, true, held));
            }
            totals.add(&terms, length);
        }
        totals.finish(tokens.len())
    }
}

/// Columns of a block of tokens, and their part of the plan.
struct Inputs<'a, R> {
    log_prob: &'a [R],
    old_log_prob: &'a [R],
    advantage: &'a [R],
    weights: &'a [R],
    constants: &'a [R],
    /// Absolute value that log-ratios are clamped to, in nats.
    limit: R,
}

impl<R: Real> Inputs<'_, R> {
    /// Absolute log-ratio beyond which the ratio is clamped, in nats.
    #[inline(always)]
    fn reach(&self) -> R {
        self.limit.lesser(R::EXP_LIMIT)
    }

    /// Returns true if the ratio of a token of the block is clamped.
    #[inline(always)]
    fn holds(&self, index: usize) -> bool {
        (self.log_prob[index] - self.old_log_prob[index]).magnitude() > self.reach()
    }

    /// Writes the constants that `loss` makes of the plan's numbers and its `own` column, if it has one.
    #[inline(always)]
    fn make_constants(
        &self,
        loss: &impl TokenLoss,
        (planned, shared): (&[f64], Shared),
        own: Option<&[R]>,
        constants: &mut [R],
    ) {
        for (index, &planned) in planned.iter().enumerate() {
            constants[index] = R::of(loss.constant(Sources {
                planned,
                log_prob: self.log_prob[index].to_f64(),
                old_log_prob: self.old_log_prob[index].to_f64(),
                advantage: self.advantage[index].to_f64(),
                column: own.map_or(0.0, |own| own[index].to_f64()),
                shared,
            }));
        }
    }
}

/// Results for a block of tokens.
struct Terms<R> {
    ratios: [R; BLOCK],
    values: [R; BLOCK],
    reported: [R; BLOCK],
}

impl<R: Real> Terms<R> {
    /// Scores every token of a block as one that is not selected.
    #[inline(always)]
    fn score_block(
        &mut self,
        loss: &impl TokenLoss,
        inputs: &Inputs<'_, R>,
        gradient: &mut [R],
    ) -> Counts {
        let length = gradient.len();
        // Slices of one known length: no bounds are checked inside the loop.
        let inputs = Inputs {
            log_prob: &inputs.log_prob[..length],
            old_log_prob: &inputs.old_log_prob[..length],
            advantage: &inputs.advantage[..length],
            weights: &inputs.weights[..length],
            constants: &inputs.constants[..length],
            limit: inputs.limit,
        };
        assert!(length <= BLOCK, "a block fits the stack");
        let mut counts = Counts::default();
        // A loop of its own for blocks that hold none, as nearly all do: it asks no token.
        if self.take_ratios(&inputs) {
            for index in 0..length {
                let held = inputs.holds(index);
                counts.add(self.score(loss, &inputs, gradient, index, false, held));
            }
        } else {
            for index in 0..length {
                counts.add(self.score(loss, &inputs, gradient, index, false, false));
            }
        }
        counts
    }

    /// Computes ratios and reported log-ratios of a block; returns true if any is clamped. They have loops of their own: where
    /// registers are few, the constants of the exponential and those of the loss do not fit them together.
    #[inline(always)]
    fn take_ratios(&mut self, inputs: &Inputs<'_, R>) -> bool {
        let Inputs { log_prob: new, old_log_prob: old, .. } = *inputs;
        let (reported, ratios) = (&mut self.reported[..new.len()], &mut self.ratios[..new.len()]);
        // Computed as if none were clamped; the largest tells whether that was right.
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
    fn score(
        &mut self,
        loss: &impl TokenLoss,
        inputs: &Inputs<'_, R>,
        gradient: &mut [R],
        index: usize,
        selected: bool,
        held: bool,
    ) -> Counts {
        let token = Token {
            log_prob: inputs.log_prob[index],
            old_log_prob: inputs.old_log_prob[index],
            detached_log_prob: inputs.log_prob[index],
            ratio: self.ratios[index],
            held,
            advantage: inputs.advantage[index],
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
        let aligned = length / LANES * LANES;
        add_in_lanes(&terms.values[..aligned], [&mut self.value], |value| [value]);
        let sums = [&mut self.log_ratio, &mut self.magnitude];
        add_in_lanes(&terms.reported[..aligned], sums, |log_ratio| [log_ratio, log_ratio.abs()]);
        for i in aligned..length {
            let lane = i - aligned;
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

/// Adds what `take` makes of each term, which is widened once, to `sums`.
#[inline(always)]
fn add_in_lanes<R: Real, const N: usize>(
    terms: &[R],
    sums: [&mut [f64; LANES]; N],
    take: impl Fn(f64) -> [f64; N],
) {
    let mut lanes = sums.each_ref().map(|sum| **sum);
    for terms in terms.chunks_exact(LANES) {
        for lane in 0..LANES {
            let taken = take(terms[lane].to_f64());
            for (lanes, taken) in zip(&mut lanes, taken) {
                lanes[lane] += taken;
            }
        }
    }
    for (sum, lanes) in zip(sums, lanes) {
        *sum = lanes;
    }
}
