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
use torch_ext::{AdamwFactors, Numbers, NumbersMut};

use crate::training::split_weight::{joined_bits, split_bits};
use crate::training::stochastic_rounding::{noise_bits, round_bits_up_at};

/// Numbers widened at a time: four buffers of 4 KiB, and one of noise.
const BLOCK: usize = 1 << 10;

/// Smallest number of elements that is worth another thread.
const WORTH_A_THREAD: usize = 1 << 16;

/// A run of elements of one parameter with its state.
#[derive(Debug)]
pub(super) struct Run<'a> {
    /// Index of the run's first element within the parameter, modulo `2^32`; it keys the noise.
    pub(super) first: u32,
    pub(super) gradient: Numbers<'a>,
    /// A parameter in bf16 without a copy is rounded stochastically.
    pub(super) parameter: NumbersMut<'a>,
    /// Master weight of a parameter in bf16, in f32 with the parameter as the nearest value, or its lower half.
    pub(super) copy: Option<NumbersMut<'a>>,
    /// Both of one format; in bf16 they are rounded stochastically.
    pub(super) moments: [NumbersMut<'a>; 2],
}

/// Splits off the first numbers; the rest stay.
fn split_off<'a>(numbers: &mut NumbersMut<'a>, count: usize) -> NumbersMut<'a> {
    const ENOUGH: &str = "all parts of a run are of one length";
    match numbers {
        NumbersMut::F32(all) => NumbersMut::F32(all.split_off_mut(..count).expect(ENOUGH)),
        NumbersMut::Halves(all) => NumbersMut::Halves(all.split_off_mut(..count).expect(ENOUGH)),
    }
}

impl Run<'_> {
    fn len(&self) -> usize {
        match self.gradient {
            Numbers::F32(all) => all.len(),
            Numbers::Bf16(all) => all.len(),
        }
    }

    /// Splits off the first `count` elements; the rest stay.
    fn split_off(&mut self, count: usize) -> Self {
        let first = self.first;
        self.first = first.wrapping_add(modulo(count));
        let (gradient, rest) = match self.gradient {
            Numbers::F32(all) => (Numbers::F32(&all[..count]), Numbers::F32(&all[count..])),
            Numbers::Bf16(all) => (Numbers::Bf16(&all[..count]), Numbers::Bf16(&all[count..])),
        };
        self.gradient = rest;
        Self {
            first,
            gradient,
            parameter: split_off(&mut self.parameter, count),
            copy: self.copy.as_mut().map(|copy| split_off(copy, count)),
            moments: self.moments.each_mut().map(|moment| split_off(moment, count)),
        }
    }

    /// Takes the step on up to `threads` threads.
    ///
    /// # Panics
    ///
    /// If the parts of the run differ in length, or in format beyond what is described.
    pub(super) fn step(mut self, factors: &AdamwFactors, threads: usize) {
        let threads = threads.min(self.len() / WORTH_A_THREAD).max(1);
        if threads == 1 {
            return Arch::new().dispatch(Pass { run: self, factors });
        }
        let share = self.len().div_ceil(threads).next_multiple_of(BLOCK);
        rayon::scope(|scope| {
            while self.len() > share {
                let run = self.split_off(share);
                scope.spawn(move |_| Arch::new().dispatch(Pass { run, factors }));
            }
            Arch::new().dispatch(Pass { run: self, factors });
        });
    }
}

#[expect(clippy::cast_possible_truncation, reason = "noise repeats after 2^32 elements")]
fn modulo(index: usize) -> u32 {
    index as u32
}

struct Pass<'a> {
    run: Run<'a>,
    factors: &'a AdamwFactors,
}

impl NullaryFnOnce for Pass<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { mut run, factors } = self;
        let mut room = ([[0_f32; BLOCK]; 4], [0_u32; BLOCK]);
        while run.len() > BLOCK {
            step_block(run.split_off(BLOCK), factors, &mut room);
        }
        step_block(run, factors, &mut room);
    }
}

#[inline(always)]
fn step_block(run: Run<'_>, factors: &AdamwFactors, room: &mut ([[f32; BLOCK]; 4], [u32; BLOCK])) {
    let count = run.len();
    let Run { first, gradient, parameter, copy, moments: [momentum, variance] } = run;
    let (buffers, noise) = room;
    let [slope, value, mean, square] = buffers.each_mut().map(|buffer| &mut buffer[..count]);
    let noise = &mut noise[..count];
    match gradient {
        Numbers::F32(all) => slope.copy_from_slice(all),
        Numbers::Bf16(all) => widen(all, slope),
    }
    for (moment, wide) in [(&momentum, &mut *mean), (&variance, &mut *square)] {
        match moment {
            NumbersMut::F32(all) => wide.copy_from_slice(all),
            NumbersMut::Halves(all) => widen(all, wide),
        }
    }
    match (&parameter, &copy) {
        (NumbersMut::F32(all), _) | (_, Some(NumbersMut::F32(all))) => value.copy_from_slice(all),
        (NumbersMut::Halves(parameter), Some(NumbersMut::Halves(lower))) => {
            for ((value, &upper), &lower) in value.iter_mut().zip(&**parameter).zip(&**lower) {
                *value = joined_bits(upper, lower);
            }
        }
        (NumbersMut::Halves(all), None) => widen(all, value),
    }
    advance(factors, slope, value, mean, square);
    let [of_moments, of_weight] = factors.keys;
    match (momentum, variance) {
        (NumbersMut::Halves(momentum), NumbersMut::Halves(variance)) => {
            draw(of_moments, first, noise);
            round_up(mean, noise, 0, momentum);
            round_up(square, noise, 16, variance);
        }
        (NumbersMut::F32(momentum), NumbersMut::F32(variance)) => {
            momentum.copy_from_slice(mean);
            variance.copy_from_slice(square);
        }
        _ => unreachable!("both moments are of one format"),
    }
    match (parameter, copy) {
        (NumbersMut::F32(all), None) => all.copy_from_slice(value),
        (NumbersMut::F32(_), Some(_)) => unreachable!("a parameter in f32 has no copy"),
        (NumbersMut::Halves(parameter), Some(NumbersMut::F32(master))) => {
            master.copy_from_slice(value);
            for (upper, &value) in parameter.iter_mut().zip(&*value) {
                (*upper, _) = split_bits(value);
            }
        }
        (NumbersMut::Halves(parameter), Some(NumbersMut::Halves(lower))) => {
            for ((upper, lower), &value) in parameter.iter_mut().zip(lower).zip(&*value) {
                (*upper, *lower) = split_bits(value);
            }
        }
        (NumbersMut::Halves(all), None) => {
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
    factors: &AdamwFactors,
    slope: &[f32],
    value: &mut [f32],
    mean: &mut [f32],
    square: &mut [f32],
) {
    let [scale, decay, first, second_kept, second, root_correction, epsilon, step_size] =
        factors.numbers;
    let state = value.iter_mut().zip(mean).zip(square);
    for (((value, mean), square), &slope) in state.zip(slope) {
        let slope = slope * scale;
        let kept = *value - *value * decay;
        // Exact at both ends.
        let away = slope - *mean;
        *mean = if first < 0.5 { *mean + first * away } else { slope + (first - 1.0) * away };
        *square = *square * second_kept + second * slope * slope;
        let root = square.sqrt() / root_correction + epsilon;
        *value = kept - step_size * (*mean / root);
    }
}
