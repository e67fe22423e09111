//! Drawing on the CPU, each row by itself: the same tokens as [`draw`](super::sampler::draw) without truncation.
//!
//! libtorch's idle threads spin for milliseconds on the processors that decode. One of them alone took a tenth of a small model's
//! time for its passes over the logits in f64.

use entropy_core::{LogitsError, kernel::row};
use rayon::prelude::*;

use super::request::GenerationOptions;
use super::response::TokenEntropy;
use super::sampler::Drawn;

/// Draws one token per row of `logits`, `[rows, vocab]`: the first whose cumulative probability exceeds the row's uniform number, from
/// `[0, 1)`; or the most likely one.
///
/// Runs on the threads of the calling pool; a row's bits depend neither on their number nor on other rows.
/// Truncation and entropy bands of `options` are ignored.
/// Fails if the logits of a row define no distribution.
pub(super) fn draw_on_host(
    logits: &[f32],
    uniforms: &[f64],
    options: &GenerationOptions,
) -> Result<Vec<Drawn>, LogitsError> {
    let vocab = logits.len() / uniforms.len();
    let numbers = || (Vec::with_capacity(vocab), Vec::new());
    logits
        .par_chunks_exact(vocab)
        .zip(uniforms)
        .map_init(numbers, |(wide, probability), (logits, uniform)| {
            wide.clear();
            wide.extend(logits.iter().map(|logit| f64::from(*logit)));
            draw_one(wide, probability, *uniform, options)
        })
        .collect()
}

/// Draws from `logits`, which are divided by the temperature in place; `probability` is scratch space.
fn draw_one(
    logits: &mut [f64],
    probability: &mut Vec<f64>,
    uniform: f64,
    options: &GenerationOptions,
) -> Result<Drawn, LogitsError> {
    let temperature = options.sampling.temperature;
    let measured = options.measure_entropy.then(|| row::entropy(logits)).transpose()?;
    let (place, log_prob, drawn_from) = if temperature <= 0.0 {
        let place = row::mode(logits)?;
        (place, logits[place] - row::log_sum_exp(logits)?, measured)
    } else {
        for logit in &mut *logits {
            *logit /= temperature;
        }
        probability.resize(logits.len(), 0.0);
        let entropy = row::softmax_into(logits, probability)?;
        let place = first_beyond(probability, uniform);
        (place, probability[place].ln(), Some(entropy))
    };
    let entropy = measured.zip(drawn_from).map(|(at_temperature_1, drawn_from)| TokenEntropy {
        drawn_from,
        at_temperature_1,
        temperature,
    });
    let token_id = u32::try_from(place).expect("a vocabulary has less than 2^32 tokens");
    Ok(Drawn { token_id, log_prob, mask: Vec::new(), entropy })
}

/// Returns the first index at which the cumulative sum of `probability` exceeds `share` of the total; never one of probability 0.
fn first_beyond(probability: &[f64], share: f64) -> usize {
    /// Numbers summed at once.
    const PART: usize = 512;
    let sums: Vec<f64> = probability.chunks(PART).map(sum).collect();
    let mut rest = share * sums.iter().sum::<f64>();
    let mut passes = |mass: &f64| {
        let ends_here = rest < *mass;
        rest -= if ends_here { 0.0 } else { *mass };
        ends_here
    };
    let part = sums.iter().position(&mut passes).map(|part| part * PART);
    let index = part.and_then(|start| {
        let within = probability[start..].iter().take(PART).position(&mut passes);
        within.map(|place| start + place)
    });
    // Where rounding leaves a little beyond the end, the last that is possible.
    let end = part.map_or(probability.len(), |start| probability.len().min(start + PART));
    let last = || probability[..end].iter().rposition(|own| *own > 0.0);
    index.or_else(last).expect("some token is possible")
}

/// Sums in several lanes, so that the compiler vectorises it.
fn sum(numbers: &[f64]) -> f64 {
    const LANES: usize = 8;
    let (vectors, rest) = numbers.as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for numbers in vectors {
        for (lane, number) in lanes.iter_mut().zip(numbers) {
            *lane += number;
        }
    }
    lanes.iter().chain(rest).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tch::Tensor;

    use super::super::sampler::draw;
    use super::*;

    fn options(temperature: f64, measure_entropy: bool) -> GenerationOptions {
        GenerationOptions { measure_entropy, ..GenerationOptions::at_temperature(temperature) }
    }

    /// Returns one uniform number per row, chosen so that rounding cannot change the drawn token even among equally likely ones.
    fn uniforms(rows: usize) -> Vec<f64> {
        (0..rows).map(|row| (row as f64 + 0.3711) / rows as f64).collect()
    }

    fn assert_draws_as_libtorch(logits: &[f32], uniforms: &[f64], options: &GenerationOptions) {
        let rows = Tensor::from_slice(logits).view([i64::try_from(uniforms.len()).unwrap(), -1]);
        let expected = draw(&rows, uniforms, options).unwrap();
        let tokens = draw_on_host(logits, uniforms, options).unwrap();
        for (token, expected) in tokens.iter().zip(&expected) {
            assert_eq!((token.token_id, &token.mask), (expected.token_id, &expected.mask));
            assert!((token.log_prob - expected.log_prob).abs() < 1e-12, "{token:?} {expected:?}");
            assert_eq!(token.entropy.is_some(), options.measure_entropy);
            if let (Some(entropy), Some(expected)) = (token.entropy, expected.entropy) {
                assert!((entropy.drawn_from - expected.drawn_from).abs() < 1e-11, "{entropy:?}");
                let entropies = [entropy, expected].map(|entropy| entropy.at_temperature_1);
                assert!((entropies[0] - entropies[1]).abs() < 1e-11, "{entropies:?}");
                assert!((entropy.temperature - expected.temperature).abs() < 1e-15);
            }
        }
        assert_eq!(tokens.len(), expected.len());
    }

    proptest! {
        /// Cases: vocabularies that are no multiple of a part, peaked and flat rows, impossible tokens.
        #[test]
        fn the_tokens_are_those_of_libtorch(
            rows in 1..6_usize,
            vocab in 1..1500_usize,
            seed in any::<u32>(),
            scale in prop::sample::select(vec![0.0f32, 1.0, 30.0]),
            temperature in prop::sample::select(vec![0.0, 0.6, 1.0, 1.7]),
            measures in any::<bool>(),
        ) {
            let logit = |index: usize| {
                let number = (index as u64 ^ u64::from(seed)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
                let is_first = index.is_multiple_of(vocab);
                let is_possible = is_first || number % 7 != 3;
                if is_possible { scale * (number as f32 / 8e6 - 1.0) } else { f32::NEG_INFINITY }
            };
            let logits: Vec<f32> = (0..rows * vocab).map(logit).collect();
            assert_draws_as_libtorch(&logits, &uniforms(rows), &options(temperature, measures));
        }
    }

    #[test]
    fn every_number_finds_its_place() {
        // One token in three is possible, all of the same probability.
        let probability: Vec<f64> =
            (0..1800).map(|place| f64::from(u8::from(place % 3 == 1))).collect();
        for token in 0..600_usize {
            for within in [0.01, 0.5, 0.99] {
                let place = first_beyond(&probability, (token as f64 + within) / 600.0);
                assert_eq!(place, 3 * token + 1);
            }
        }
        assert_eq!(first_beyond(&probability, 0.0), 1);
        assert_eq!(first_beyond(&probability, 1.0), 1798);
    }

    #[test]
    fn a_row_gives_the_same_bits_alone_and_among_others_on_any_threads() {
        let logits: Vec<f32> = (0..40_000).map(|index| (index as f32 * 0.37).sin() * 9.0).collect();
        let (uniforms, options) = (uniforms(8), options(0.8, true));
        let on = |threads: usize, logits: &[f32], uniforms: &[f64]| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| draw_on_host(logits, uniforms, &options)).unwrap()
        };
        let rows = logits.chunks(5000).zip(uniforms.chunks(1));
        let alone: Vec<Drawn> = rows.flat_map(|(logits, uniform)| on(1, logits, uniform)).collect();
        assert_eq!(on(3, &logits, &uniforms), alone);
    }

    #[test]
    fn logits_that_are_no_numbers_are_refused() {
        for temperature in [0.0, 1.0] {
            let logits = [0.0, 1.0, 2.0, 0.5, f32::NAN, 1.0];
            assert!(draw_on_host(&logits, &[0.5, 0.5], &options(temperature, false)).is_err());
        }
    }
}
