//! A step of `AdamW` in one pass over the CPU's memory, for any formats of its state.
//!
//! ```text
//! θ ← θ - η λ θ
//! m ← m + (1 - β₁) (g - m)
//! v ← β₂ v + (1 - β₂) g²
//! θ ← θ - η / (1 - β₁ᵗ) · m / (√v / √(1 - β₂ᵗ) + ε)
//! ```
//!
//! The order of operations is that of libtorch's fused kernel. The arithmetic is f32 without fused multiply-adds, so every
//! processor and any number of threads give the same bits. A block of numbers is widened into buffers that stay in the nearest
//! cache, stepped there, and rounded back. Memory, the slow part, is read and written once.

#![expect(clippy::inline_always, reason = "inlined, the code takes on its caller's instructions")]

use pulp::{Arch, NullaryFnOnce};

use crate::training::split_weight::{joined_bits, split_bits};
use crate::training::stochastic_rounding::{noise_bits, round_bits_up_at};

/// Numbers widened at a time: four buffers of 4 KiB, and one of noise.
const BLOCK: usize = 1 << 10;

/// Smallest number of elements that is worth another thread.
const WORTH_A_THREAD: usize = 1 << 16;

/// Constant factors of a step.
#[derive(Debug, Clone, Copy)]
pub(super) struct Factors {
    /// Factor of the gradient, applied first.
    pub(super) gradient: f32,
    /// `η λ`.
    pub(super) decay: f32,
    /// `1 - β₁`.
    pub(super) first: f32,
    /// `β₂`.
    pub(super) second_kept: f32,
    /// `1 - β₂`.
    pub(super) second: f32,
    /// `√(1 - β₂ᵗ)`.
    pub(super) root_correction: f32,
    /// `ε`.
    pub(super) epsilon: f32,
    /// `η / (1 - β₁ᵗ)`.
    pub(super) step_size: f32,
    /// Keys of the noise that rounds moments and the parameter, in this order.
    pub(super) keys: [[u32; 2]; 2],
}

/// A gradient, in f32 or as the bits of bf16.
#[derive(Debug, Clone, Copy)]
pub(super) enum Gradient<'a> {
    Wide(&'a [f32]),
    Narrow(&'a [u16]),
}

/// A parameter and its master weight; bf16 as bits.
#[derive(Debug)]
pub(super) enum Weight<'a> {
    /// In f32.
    Wide(&'a mut [f32]),
    /// In bf16, the nearest value to a master weight.
    Beside { parameter: &'a mut [u16], master: &'a mut [f32] },
    /// The upper and the lower half of a master weight.
    Split { parameter: &'a mut [u16], lower: &'a mut [u16] },
    /// In bf16, rounded stochastically.
    Narrow(&'a mut [u16]),
}

/// A moment, in f32, or in bf16 as bits, rounded stochastically.
#[derive(Debug)]
pub(super) enum Moment<'a> {
    Wide(&'a mut [f32]),
    Narrow(&'a mut [u16]),
}

/// A run of elements of one parameter.
#[derive(Debug)]
pub(super) struct Run<'a> {
    /// Index of the run's first element within the parameter, modulo `2^32`; it keys the noise.
    pub(super) first: u32,
    pub(super) gradient: Gradient<'a>,
    pub(super) weight: Weight<'a>,
    pub(super) moments: [Moment<'a>; 2],
}

/// Wraps both parts of a split.
fn both<T, U>((head, tail): (T, T), wrap: impl Fn(T) -> U) -> (U, U) {
    (wrap(head), wrap(tail))
}

impl Gradient<'_> {
    fn split_at(self, at: usize) -> (Self, Self) {
        match self {
            Self::Wide(all) => both(all.split_at(at), Self::Wide),
            Self::Narrow(all) => both(all.split_at(at), Self::Narrow),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Wide(all) => all.len(),
            Self::Narrow(all) => all.len(),
        }
    }
}

impl Weight<'_> {
    fn split_at(self, at: usize) -> (Self, Self) {
        match self {
            Self::Wide(all) => both(all.split_at_mut(at), Self::Wide),
            Self::Beside { parameter, master } => {
                let ((head, tail), (front, rest)) =
                    (parameter.split_at_mut(at), master.split_at_mut(at));
                let beside = |(parameter, master)| Self::Beside { parameter, master };
                both(((head, front), (tail, rest)), beside)
            }
            Self::Split { parameter, lower } => {
                let ((head, tail), (low, rest)) =
                    (parameter.split_at_mut(at), lower.split_at_mut(at));
                both(((head, low), (tail, rest)), |(parameter, lower)| Self::Split {
                    parameter,
                    lower,
                })
            }
            Self::Narrow(all) => both(all.split_at_mut(at), Self::Narrow),
        }
    }
}

impl Moment<'_> {
    fn split_at(self, at: usize) -> (Self, Self) {
        match self {
            Self::Wide(all) => both(all.split_at_mut(at), Self::Wide),
            Self::Narrow(all) => both(all.split_at_mut(at), Self::Narrow),
        }
    }
}

impl Run<'_> {
    fn split_at(self, at: usize) -> (Self, Self) {
        let Self { first, gradient, weight, moments: [momentum, variance] } = self;
        let (gradient, other_gradient) = gradient.split_at(at);
        let (weight, other_weight) = weight.split_at(at);
        let (momentum, other_momentum) = momentum.split_at(at);
        let (variance, other_variance) = variance.split_at(at);
        let head = Self { first, gradient, weight, moments: [momentum, variance] };
        let tail = Self {
            first: first.wrapping_add(modulo(at)),
            gradient: other_gradient,
            weight: other_weight,
            moments: [other_momentum, other_variance],
        };
        (head, tail)
    }

    /// Takes the step on up to `threads` threads.
    ///
    /// # Panics
    ///
    /// If the parts of the run differ in length.
    pub(super) fn step(self, factors: &Factors, threads: usize) {
        let elements = self.gradient.len();
        let threads = threads.min(elements / WORTH_A_THREAD).max(1);
        if threads == 1 {
            return Arch::new().dispatch(Pass { run: self, factors });
        }
        let share = elements.div_ceil(threads).next_multiple_of(BLOCK);
        rayon::scope(|scope| {
            let mut rest = self;
            while rest.gradient.len() > share {
                let (run, tail) = rest.split_at(share);
                rest = tail;
                scope.spawn(move |_| Arch::new().dispatch(Pass { run, factors }));
            }
            Arch::new().dispatch(Pass { run: rest, factors });
        });
    }
}

#[expect(clippy::cast_possible_truncation, reason = "noise repeats after 2^32 elements")]
fn modulo(index: usize) -> u32 {
    index as u32
}

struct Pass<'a> {
    run: Run<'a>,
    factors: &'a Factors,
}

impl NullaryFnOnce for Pass<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { mut run, factors } = self;
        let mut room = ([[0_f32; BLOCK]; 4], [0_u32; BLOCK]);
        while run.gradient.len() > BLOCK {
            let (block, rest) = run.split_at(BLOCK);
            run = rest;
            step_block(block, factors, &mut room);
        }
        step_block(run, factors, &mut room);
    }
}

#[inline(always)]
fn step_block(run: Run<'_>, factors: &Factors, room: &mut ([[f32; BLOCK]; 4], [u32; BLOCK])) {
    let Run { first, gradient, weight, moments: [momentum, variance] } = run;
    let count = gradient.len();
    let (buffers, noise) = room;
    let [slope, value, mean, square] = buffers.each_mut().map(|buffer| &mut buffer[..count]);
    let noise = &mut noise[..count];
    match gradient {
        Gradient::Wide(all) => slope.copy_from_slice(all),
        Gradient::Narrow(all) => widen(all, slope),
    }
    for (moment, wide) in [(&momentum, &mut *mean), (&variance, &mut *square)] {
        match moment {
            Moment::Wide(all) => wide.copy_from_slice(all),
            Moment::Narrow(all) => widen(all, wide),
        }
    }
    match &weight {
        Weight::Wide(all) | Weight::Beside { master: all, .. } => value.copy_from_slice(all),
        Weight::Split { parameter, lower } => {
            for ((value, &upper), &lower) in value.iter_mut().zip(&**parameter).zip(&**lower) {
                *value = joined_bits(upper, lower);
            }
        }
        Weight::Narrow(all) => widen(all, value),
    }
    advance(factors, slope, value, mean, square);
    let [of_moments, of_weight] = factors.keys;
    match (momentum, variance) {
        (Moment::Narrow(momentum), Moment::Narrow(variance)) => {
            draw(of_moments, first, noise);
            round_up(mean, noise, 0, momentum);
            round_up(square, noise, 16, variance);
        }
        (Moment::Wide(momentum), Moment::Wide(variance)) => {
            momentum.copy_from_slice(mean);
            variance.copy_from_slice(square);
        }
        _ => unreachable!("both moments are of one format"),
    }
    match weight {
        Weight::Wide(all) => all.copy_from_slice(value),
        Weight::Beside { parameter, master } => {
            master.copy_from_slice(value);
            for (upper, &value) in parameter.iter_mut().zip(&*value) {
                (*upper, _) = split_bits(value);
            }
        }
        Weight::Split { parameter, lower } => {
            for ((upper, lower), &value) in parameter.iter_mut().zip(lower).zip(&*value) {
                (*upper, *lower) = split_bits(value);
            }
        }
        Weight::Narrow(all) => {
            draw(of_weight, first, noise);
            round_up(value, noise, 0, all);
        }
    }
}

/// Fills `noise` for the elements from `first` on.
#[inline(always)]
fn draw(key: [u32; 2], first: u32, noise: &mut [u32]) {
    let mut element = first;
    for noise in noise {
        *noise = noise_bits(key, element);
        element = element.wrapping_add(1);
    }
}

/// Rounds each number stochastically by 16 bits of its noise, starting at bit `shift`.
#[inline(always)]
fn round_up(wide: &[f32], noise: &[u32], shift: u32, narrow: &mut [u16]) {
    // Equal lengths avoid bounds checks, so that the loop is vectorised.
    let narrow = &mut narrow[..wide.len()];
    let noise = &noise[..wide.len()];
    for index in 0..wide.len() {
        narrow[index] = round_bits_up_at(wide[index], noise[index] >> shift & 0xffff);
    }
}

#[inline(always)]
fn widen(narrow: &[u16], wide: &mut [f32]) {
    for (wide, &narrow) in wide.iter_mut().zip(narrow) {
        *wide = f32::from_bits(u32::from(narrow) << 16);
    }
}

/// Steps one block, in f32.
#[inline(always)]
fn advance(
    factors: &Factors,
    slope: &[f32],
    value: &mut [f32],
    mean: &mut [f32],
    square: &mut [f32],
) {
    let Factors { decay, first, second_kept, second, root_correction, epsilon, step_size, .. } =
        *factors;
    let state = value.iter_mut().zip(mean).zip(square);
    for (((value, mean), square), &slope) in state.zip(slope) {
        let slope = slope * factors.gradient;
        let kept = *value - *value * decay;
        // Exact at both ends.
        let away = slope - *mean;
        *mean = if first < 0.5 { *mean + first * away } else { slope + (first - 1.0) * away };
        *square = *square * second_kept + second * slope * slope;
        let root = square.sqrt() / root_correction + epsilon;
        *value = kept - step_size * (*mean / root);
    }
}
