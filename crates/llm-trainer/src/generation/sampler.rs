//! From hidden states to tokens, by the inverse of the cumulative distribution, in f64.

use tch::{Kind, Tensor};

use super::GenerationOptions;

/// A drawn token and its log-probability in nats.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Drawn {
    pub(super) token_id: u32,
    pub(super) log_prob: f64,
}

/// Draws one token a row: the first whose cumulative probability exceeds the row's uniform number.
///
/// `logits` is `[rows, vocab]`, `uniforms` one number of `[0, 1)` a row.
pub(super) fn draw(logits: &Tensor, uniforms: &[f64], options: &GenerationOptions) -> Vec<Drawn> {
    let greedy = options.temperature <= 0.0;
    let logits = logits.to_kind(Kind::Double);
    let scaled = if greedy { logits } else { logits / options.temperature };
    let log_prob = scaled.log_softmax(-1, Kind::Double);
    let tokens = if greedy {
        log_prob.argmax(-1, true)
    } else {
        let cumulative = truncated(log_prob.exp(), options).cumsum(-1, Kind::Double);
        let total = cumulative.narrow(-1, cumulative.size()[1] - 1, 1);
        let target = Tensor::from_slice(uniforms).to_device(total.device()).unsqueeze(1) * total;
        target.searchsorted(&cumulative, false, true, "right", None::<&Tensor>)
    };
    let log_prob = log_prob.gather(-1, &tokens, false);
    let tokens: Vec<i64> = tokens.view(-1).try_into().expect("a one-dimensional tensor of i64");
    let log_prob: Vec<f64> = log_prob.view(-1).try_into().expect("a one-dimensional tensor of f64");
    tokens
        .into_iter()
        .zip(log_prob)
        .map(|(token, log_prob)| {
            let token_id = u32::try_from(token).expect("a vocabulary has less than 2^32 tokens");
            Drawn { token_id, log_prob }
        })
        .collect()
}

/// `probability`, `[rows, vocab]`, with 0 where `top_k` and then `top_p` leave a token out; not normalised.
fn truncated(probability: Tensor, options: &GenerationOptions) -> Tensor {
    let vocab = probability.size()[1];
    let top_k = i64::try_from(options.top_k).unwrap_or(i64::MAX);
    let mut probability = probability;
    if top_k > 0 && top_k < vocab {
        let (values, indices) = probability.topk(top_k, -1, true, true);
        probability = probability.zeros_like().scatter(-1, &indices, &values);
    }
    if options.top_p < 1.0 {
        let (values, indices) = probability.sort(-1, true);
        let before = values.cumsum(-1, Kind::Double) - &values;
        let enough = options.top_p * values.sum_dim_intlist(-1, true, Kind::Double);
        let kept = &values * before.lt_tensor(&enough).to_kind(Kind::Double);
        probability = probability.zeros_like().scatter(-1, &indices, &kept);
    }
    probability
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw_one(logits: &[f32], uniform: f64, options: &GenerationOptions) -> Drawn {
        draw(&Tensor::from_slice(logits).unsqueeze(0), &[uniform], options)[0]
    }

    fn logits() -> Vec<f32> {
        [0.1f32, 0.2, 0.4, 0.3].iter().map(|p| p.ln()).collect()
    }

    #[test]
    fn the_uniform_number_is_looked_up_in_the_cumulative_distribution() {
        let options = GenerationOptions::default();
        let cases =
            [(0.0, 0), (0.099, 0), (0.101, 1), (0.299, 1), (0.301, 2), (0.69, 2), (0.71, 3)];
        for (uniform, token_id) in cases {
            assert_eq!(draw_one(&logits(), uniform, &options).token_id, token_id, "{uniform}");
        }
        assert_eq!(draw_one(&logits(), 1.0 - f64::EPSILON / 2.0, &options).token_id, 3);
    }

    #[test]
    fn an_impossible_token_is_never_drawn() {
        let logits = [f32::NEG_INFINITY, 0.0, f32::NEG_INFINITY];
        for uniform in [0.0, 0.5, 1.0 - f64::EPSILON / 2.0] {
            assert_eq!(draw_one(&logits, uniform, &GenerationOptions::default()).token_id, 1);
        }
    }

    #[test]
    fn log_prob_is_that_of_the_whole_distribution_at_the_temperature() {
        let options = GenerationOptions { temperature: 0.5, top_k: 1, ..Default::default() };
        let drawn = draw_one(&logits(), 0.3, &options);
        // Squares of the probabilities, normalised: 0.16 / (0.01 + 0.04 + 0.16 + 0.09).
        assert_eq!(drawn.token_id, 2);
        assert!((drawn.log_prob - (0.16f64 / 0.30).ln()).abs() < 1e-6, "{drawn:?}");
    }

    #[test]
    fn top_k_and_top_p_leave_the_unlikely_out() {
        let two = GenerationOptions { top_k: 2, ..Default::default() };
        let most = GenerationOptions { top_p: 0.65, ..Default::default() };
        for options in [two, most] {
            let drawn: Vec<u32> = (0..100)
                .map(|hundredth| {
                    draw_one(&logits(), f64::from(hundredth) / 100.0, &options).token_id
                })
                .collect();
            // 0.4 and 0.3 of 0.7: the first four sevenths go to token 2.
            assert_eq!(drawn.iter().filter(|&&token| token == 2).count(), 58);
            assert_eq!(drawn.iter().filter(|&&token| token == 3).count(), 42);
        }
    }

    #[test]
    fn greedy_takes_the_likeliest_at_temperature_one() {
        let options = GenerationOptions { temperature: 0.0, ..Default::default() };
        let drawn = draw_one(&logits(), 0.0, &options);
        assert_eq!(drawn.token_id, 2);
        assert!((drawn.log_prob - 0.4f64.ln()).abs() < 1e-6);
    }
}
