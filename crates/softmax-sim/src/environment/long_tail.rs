//! One batch in which a few tokens decide and the rest is filler, as in a chain of thought.

use super::{Environment, Parameters, Questions, Shape, draw_action, normal, prompt_rng};
use rand::seq::index;

/// Responses with `critical` tokens that must all be right among filler that nothing depends on.
///
/// A critical state has logits `s e^{0.8 N} · N(0, 1)` and its right token is drawn from them, so the
/// policy is calibrated; a filler state is the same with a larger scale, nearly certain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LongTailSetting {
    /// Prompts, tokens, actions.
    pub shape: Shape,
    /// Tokens of a response that decide.
    pub critical: usize,
    /// Scale of the logits of a token that decides.
    pub critical_scale: f64,
    /// Scale of the logits of filler.
    pub filler_scale: f64,
}

const SPREAD: f64 = 0.8;

impl LongTailSetting {
    /// The batch beside the paper's Table 1: 2048 prompts, three decisive tokens of 64.
    pub const TABLE_1: Self = Self {
        shape: Shape { prompts: 2048, positions: 64, actions: 32 },
        critical: 3,
        critical_scale: 1.5,
        filler_scale: 20.0,
    };

    /// Draws the environment number `seed`.
    ///
    /// # Panics
    ///
    /// If a size is 0 or the settings make a quality that is none.
    pub fn draw(&self, seed: u64) -> Environment {
        let Shape { prompts, positions, actions } = self.shape;
        let mut logits = Vec::with_capacity(self.shape.table());
        let mut quality = Vec::with_capacity(self.shape.table());
        for prompt in 0..prompts {
            let mut rng = prompt_rng(seed, prompt);
            let mut decides = vec![false; positions];
            for position in index::sample(&mut rng, positions, self.critical) {
                decides[position] = true;
            }
            for decides in decides {
                let median = if decides { self.critical_scale } else { self.filler_scale };
                let scale = median * (SPREAD * normal(&mut rng)).exp();
                let begin = logits.len();
                logits.extend((0..actions).map(|_| scale * normal(&mut rng)));
                let right = decides.then(|| draw_action(&logits[begin..], &mut rng));
                quality.extend((0..actions).map(|action| match right {
                    Some(right) => f64::from(u8::from(action == right)),
                    None => 1.0,
                }));
            }
        }
        let training = Questions::new(self.shape, quality, Parameters::Logits);
        let training = training.expect("tables of the shape, qualities up to 1");
        Environment { training, validation: None, start: logits }
    }
}
