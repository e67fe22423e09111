//! From hidden states to tokens, by inverting the cumulative distribution, in f64.

use entropy_core::{EntropyBand, LogitsError, kernel::row};
use model_files::sampling::Sampling;
use rayon::prelude::*;
use tch::{Kind, Tensor};
use torch_ext::size;

use super::request::GenerationOptions;
use super::response::TokenEntropy;
use crate::model::numbers;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Drawn {
    pub(super) token_id: u32,
    /// Log-probability in nats, normalised over `mask`.
    pub(super) log_prob: f64,
    /// Ids it was drawn from, ascending; empty for the full vocabulary.
    pub(super) mask: Vec<u32>,
    /// Entropies, if [`GenerationOptions::measure_entropy`] is set.
    pub(super) entropy: Option<TokenEntropy>,
}

/// Sampling distribution of each row.
struct Source {
    /// Log-probabilities, `[rows, vocab]`; arbitrary for excluded tokens.
    log_prob: Tensor,
    /// Unnormalised probabilities, `[rows, vocab]`; 0 for excluded tokens.
    probability: Tensor,
    /// Kept ids per row; empty if nothing is excluded.
    mask: Vec<Vec<u32>>,
    /// Temperature per row.
    temperature: Vec<f64>,
    /// True if `log_prob` is normalised over the excluded tokens too.
    of_all: bool,
}

/// Draws one token per row: the first whose cumulative probability exceeds the row's uniform number.
///
/// `logits` is `[rows, vocab]`, `uniforms` one number of `[0, 1)` per row. Fails if the logits of a row define no distribution.
pub(super) fn draw(
    logits: &Tensor,
    uniforms: &[f64],
    options: &GenerationOptions,
) -> Result<Vec<Drawn>, LogitsError> {
    let logits = logits.to_kind(Kind::Double);
    let at_temperature_1 = if options.measure_entropy {
        let log_prob = logits.log_softmax(-1, Kind::Double);
        entropies(&log_prob.exp(), &log_prob)
    } else {
        Vec::new()
    };
    if options.sampling.temperature <= 0.0 {
        let log_prob = logits.log_softmax(-1, Kind::Double);
        let tokens = log_prob.argmax(-1, true);
        let entropy = measured(&at_temperature_1, &at_temperature_1, &vec![0.0; uniforms.len()]);
        let log_prob = log_prob.gather(-1, &tokens, false);
        return drawn([&tokens, &log_prob], Vec::new(), entropy, || logits);
    }
    let source = match options.band {
        None => at_one_temperature(&logits, options),
        Some(band) => within_band(&logits, band, options)?,
    };
    let cumulative = source.probability.cumsum(-1, Kind::Double);
    let last = cumulative.size()[1] - 1;
    let total = cumulative.narrow(-1, last, 1);
    let target = Tensor::from_slice(uniforms).to_device(total.device()).unsqueeze(1) * &total;
    // Beyond the last where the sum is no number; `drawn` says so.
    let tokens = target.searchsorted(&cumulative, false, true, "right", None::<&Tensor>);
    let tokens = tokens.clamp_max(last);
    let mut log_prob = source.log_prob.gather(-1, &tokens, false);
    if source.of_all {
        log_prob -= total.log();
    }
    let drawn_from = if options.measure_entropy {
        let all_log_prob =
            if source.of_all { source.log_prob - total.log() } else { source.log_prob };
        entropies(&(source.probability / &total), &all_log_prob)
    } else {
        Vec::new()
    };
    let entropy = measured(&at_temperature_1, &drawn_from, &source.temperature);
    drawn([&tokens, &log_prob], source.mask, entropy, || logits)
}

/// Entropy of each row of probabilities, `[rows, vocab]`, in nats; `log_prob` is their logarithm where they are not 0.
///
/// Uses the given logarithms: libtorch's `special_entr` would compute each again, one by one.
fn entropies(probability: &Tensor, log_prob: &Tensor) -> Vec<f64> {
    let terms = (probability * log_prob).masked_fill(&probability.eq(0.0), 0.0);
    numbers(&-terms.sum_dim_intlist(-1, false, Kind::Double))
}

/// Joins the entropies of the rows; without any, nothing was measured.
fn measured(
    at_temperature_1: &[f64],
    drawn_from: &[f64],
    temperature: &[f64],
) -> Vec<TokenEntropy> {
    let rows = at_temperature_1.iter().zip(drawn_from).zip(temperature);
    rows.map(|((&at_temperature_1, &drawn_from), &temperature)| TokenEntropy {
        drawn_from,
        at_temperature_1,
        temperature,
    })
    .collect()
}

/// Softmax at the options' temperature, without the tokens that truncation excludes.
fn at_one_temperature(logits: &Tensor, options: &GenerationOptions) -> Source {
    let log_prob = (logits / options.sampling.temperature).log_softmax(-1, Kind::Double);
    let all = log_prob.exp();
    let (probability, mask) = if options.truncates() {
        let remaining = truncated(&all, options.sampling);
        let lists = mask_ids(&remaining);
        (remaining, lists)
    } else {
        (all, Vec::new())
    };
    let temperature = vec![options.sampling.temperature; rows_of(logits)];
    Source { log_prob, probability, mask, temperature, of_all: options.truncates() }
}

/// Softmax over the tokens that truncation keeps at the options' temperature, at the temperature that keeps the entropy in the band.
fn within_band(
    logits: &Tensor,
    band: EntropyBand,
    options: &GenerationOptions,
) -> Result<Source, LogitsError> {
    let (possible, mask) = if options.truncates() {
        let all = (logits / options.sampling.temperature).softmax(-1, Kind::Double);
        let remaining = truncated(&all, options.sampling);
        (logits.masked_fill(&remaining.eq(0.0), f64::NEG_INFINITY), mask_ids(&remaining))
    } else {
        (logits.shallow_clone(), Vec::new())
    };
    let flat: Vec<f64> = numbers(&possible);
    let temperature = flat
        .par_chunks(flat.len() / rows_of(logits))
        .map(|row| Ok(band.hold(row, options.sampling.temperature)?.temperature))
        .collect::<Result<Vec<f64>, LogitsError>>()?;
    let divisor = Tensor::from_slice(&temperature).to_device(logits.device()).unsqueeze(1);
    let log_prob = (possible / divisor).log_softmax(-1, Kind::Double);
    Ok(Source { probability: log_prob.exp(), log_prob, mask, temperature, of_all: false })
}

/// Collects the rows' tokens. `tokens` and `log_prob` are `[rows, 1]`; `mask` and `entropy` have one entry per row, or none at all.
/// Fails if a log-probability is NaN, with the fault of that row of `logits`, `[rows, vocab]`.
pub(super) fn drawn(
    [tokens, log_prob]: [&Tensor; 2],
    mask: Vec<Vec<u32>>,
    entropy: Vec<TokenEntropy>,
    logits: impl FnOnce() -> Tensor,
) -> Result<Vec<Drawn>, LogitsError> {
    let log_prob: Vec<f64> = numbers(log_prob);
    if let Some(row) = log_prob.iter().position(|own| own.is_nan()) {
        return Err(no_distribution(&logits(), row));
    }
    let (mut mask, mut entropy) = (mask.into_iter(), entropy.into_iter());
    let one = |(token, log_prob)| Drawn {
        token_id: id_of(token),
        log_prob,
        mask: mask.next().unwrap_or_default(),
        entropy: entropy.next(),
    };
    Ok(numbers(tokens).into_iter().zip(log_prob).map(one).collect())
}

/// Returns the reason that a row of `logits` has no log-probabilities.
fn no_distribution(logits: &Tensor, row: usize) -> LogitsError {
    // Only divided by a small temperature the largest was infinite.
    let overflown = |index| LogitsError::NotANumber { index, value: f64::INFINITY };
    row::mode(&numbers::<f64>(&logits.get(size(row)))).map_or_else(|error| error, overflown)
}

fn rows_of(logits: &Tensor) -> usize {
    usize::try_from(logits.size()[0]).expect("a size of a tensor")
}

/// Returns `probability`, `[rows, vocab]`, with 0 where `top_k`, then `top_p`, then `min_p` exclude a token; not normalised.
///
/// Source of the order: the sampler of Hugging Face transformers.
fn truncated(probability: &Tensor, sampling: Sampling) -> Tensor {
    let vocab = probability.size()[1];
    let top_k = i64::try_from(sampling.top_k).unwrap_or(i64::MAX);
    let mut probability = probability.shallow_clone();
    if top_k > 0 && top_k < vocab {
        let (values, indices) = probability.topk(top_k, -1, true, true);
        probability = probability.zeros_like().scatter(-1, &indices, &values);
    }
    if sampling.top_p < 1.0 {
        let (values, indices) = probability.sort(-1, true);
        let before = values.cumsum(-1, Kind::Double) - &values;
        let enough = sampling.top_p * values.sum_dim_intlist(-1, true, Kind::Double);
        let remaining = &values * before.lt_tensor(&enough).to_kind(Kind::Double);
        probability = probability.zeros_like().scatter(-1, &indices, &remaining);
    }
    if sampling.min_p > 0.0 {
        let least = sampling.min_p * probability.amax([-1i64].as_slice(), true);
        let mask = probability.ge_tensor(&least).to_kind(Kind::Double);
        probability *= mask;
    }
    probability
}

/// Indices of each row where `probability` is above 0; an empty list where all are.
fn mask_ids(probability: &Tensor) -> Vec<Vec<u32>> {
    let [rows, vocab] = [0, 1].map(|dimension| probability.size()[dimension]);
    let to_usize = |index: i64| usize::try_from(index).expect("an index of a tensor");
    let mut lists = vec![Vec::new(); to_usize(rows)];
    // Pairs of row and column.
    for place in numbers(&probability.nonzero()).chunks_exact(2) {
        lists[to_usize(place[0])].push(id_of(place[1]));
    }
    for list in &mut lists {
        if list.len() == to_usize(vocab) {
            list.clear();
        }
    }
    lists
}

pub(super) fn id_of(token: i64) -> u32 {
    u32::try_from(token).expect("a vocabulary has less than 2^32 tokens")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw_one(logits: &[f32], uniform: f64, options: &GenerationOptions) -> Drawn {
        let logits = Tensor::from_slice(logits).unsqueeze(0);
        draw(&logits, &[uniform], options).expect("a distribution").remove(0)
    }

    fn logits() -> Vec<f32> {
        [0.1f32, 0.2, 0.4, 0.3].iter().map(|p| p.ln()).collect()
    }

    #[test]
    fn the_uniform_number_is_looked_up_in_the_cumulative_distribution() {
        let options = GenerationOptions::default();
        let last = 1.0 - f64::EPSILON / 2.0;
        let cases =
            [(0.0, 0), (0.099, 0), (0.101, 1), (0.299, 1), (0.301, 2), (0.71, 3), (last, 3)];
        for (uniform, token_id) in cases {
            assert_eq!(draw_one(&logits(), uniform, &options).token_id, token_id, "{uniform}");
        }
        // An impossible token is never drawn.
        let one = [f32::NEG_INFINITY, 0.0, f32::NEG_INFINITY];
        for uniform in [0.0, 0.5, last] {
            assert_eq!(draw_one(&one, uniform, &options).token_id, 1);
        }
    }

    #[test]
    fn logits_that_define_no_distribution_are_refused() {
        let [none, infinite] = [f32::NEG_INFINITY, f32::INFINITY];
        let tiny = GenerationOptions::at_temperature(1e-310);
        let logits = Tensor::from_slice(&[0.0f32, 0.5, 3.0]).unsqueeze(0);
        let error = draw(&logits, &[0.5], &tiny).unwrap_err().to_string();
        assert!(error.contains("logit 2 is inf"), "{error}");
        let band = EntropyBand::new(Some(1.0), None).ok();
        let banded = GenerationOptions { band, ..Default::default() };
        let logits = Tensor::from_slice(&[0.0f32, f32::NAN]).unsqueeze(0);
        assert!(draw(&logits, &[0.5], &banded).is_err());
        for (wrong, message) in [
            ([0.0, f32::NAN, 1.0], "logit 1 is NaN"),
            ([0.0, 1.0, infinite], "logit 2 is inf"),
            ([none, none, none], "all 3 logits are -inf"),
        ] {
            let logits = Tensor::from_slice(&[[0.0, 1.0, 0.5], wrong].concat()).view([2, 3]);
            for temperature in [0.0, 1.0] {
                for (top_k, top_p) in [(0, 1.0), (2, 1.0), (0, 0.9)] {
                    let sampling = Sampling { temperature, top_k, top_p, min_p: 0.0 };
                    let options = GenerationOptions { sampling, ..Default::default() };
                    let error = draw(&logits, &[0.5, 0.5], &options).unwrap_err().to_string();
                    assert!(error.contains(message), "{error}: {options:?}");
                }
            }
        }
    }

    #[test]
    fn log_prob_is_that_within_the_tokens_kept() {
        let half = Sampling { temperature: 0.5, ..Sampling::DEFAULT };
        // Squares of the probabilities: 0.01, 0.04, 0.16 and 0.09.
        let cases = [
            (half, vec![], 0.30),
            (Sampling { top_k: 2, ..half }, vec![2, 3], 0.25),
            (Sampling { top_p: 0.9, ..half }, vec![1, 2, 3], 0.29),
            (Sampling { min_p: 0.5, ..half }, vec![2, 3], 0.25),
            (Sampling { top_k: 3, top_p: 0.5, min_p: 0.01, ..half }, vec![2], 0.16),
            // All tokens are kept, so there is no sampling mask.
            (Sampling { min_p: 0.01, ..half }, vec![], 0.30),
        ];
        for (sampling, mask, mass) in cases {
            let options = GenerationOptions { sampling, ..Default::default() };
            let drawn = draw_one(&logits(), 0.45, &options);
            assert_eq!((drawn.token_id, &drawn.mask), (2, &mask), "{sampling:?}");
            assert!((drawn.log_prob - (0.16f64 / mass).ln()).abs() < 1e-6, "{drawn:?}");
        }
    }

    fn entropy_of(weights: &[f64]) -> f64 {
        let total: f64 = weights.iter().sum();
        -weights.iter().map(|w| w / total * (w / total).ln()).sum::<f64>()
    }

    #[test]
    fn the_entropy_is_that_of_what_was_drawn_from() {
        let measure = |options| GenerationOptions { measure_entropy: true, ..options };
        let half = Sampling { temperature: 0.5, ..Sampling::DEFAULT };
        let cases = [
            (half, vec![0.01, 0.04, 0.16, 0.09]),
            (Sampling { top_k: 2, ..half }, vec![0.16, 0.09]),
            (Sampling::GREEDY, vec![0.1, 0.2, 0.4, 0.3]),
        ];
        for (sampling, weights) in cases {
            let options = GenerationOptions { sampling, ..Default::default() };
            let entropy = draw_one(&logits(), 0.3, &measure(options.clone())).entropy.unwrap();
            assert!((entropy.drawn_from - entropy_of(&weights)).abs() < 1e-6, "{entropy:?}");
            assert!((entropy.at_temperature_1 - entropy_of(&[0.1, 0.2, 0.4, 0.3])).abs() < 1e-6);
            assert!((entropy.temperature - sampling.temperature).abs() < 1e-15);
            let silent = draw_one(&logits(), 0.3, &options);
            assert_eq!(
                (silent.entropy, silent.token_id),
                (None, draw_one(&logits(), 0.3, &measure(options)).token_id)
            );
        }
    }

    #[test]
    fn a_band_that_holds_already_changes_no_bit() {
        let plain = GenerationOptions::at_temperature(0.8);
        let band = EntropyBand::new(Some(0.1), Some(1.38)).ok();
        for uniform in [0.0, 0.2, 0.5, 0.99] {
            let free = draw_one(&logits(), uniform, &plain);
            let held = draw_one(&logits(), uniform, &GenerationOptions { band, ..plain.clone() });
            assert_eq!(free, held);
        }
    }

    #[test]
    fn a_band_is_held_over_the_tokens_that_truncation_keeps() {
        let wanted = entropy_of(&[0.6, 0.4]);
        let band = EntropyBand::new(None, Some(wanted)).ok();
        let sampling = Sampling { top_k: 2, ..Sampling::DEFAULT };
        let options =
            GenerationOptions { sampling, band, measure_entropy: true, ..Default::default() };
        let token = draw_one(&logits(), 0.1, &options);
        assert_eq!((token.token_id, token.mask), (2, vec![2, 3]));
        let entropy = token.entropy.unwrap();
        // 0.4 : 0.3 has a larger entropy than 3 : 2, at T = ln(4/3) / ln(3/2) it has that.
        assert!((entropy.temperature - (4.0f64 / 3.0).ln() / 1.5f64.ln()).abs() < 1e-6);
        assert!(
            (token.log_prob - 0.6f64.ln()).abs() < 1e-6
                && (entropy.drawn_from - wanted).abs() < 1e-9
        );
    }
}
