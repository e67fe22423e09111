//! Free logits per state, with a prior that knows a little about what is right.

use super::{Environment, Parameters, Questions, Shape, normal, prompt_rng};
use crate::settings::settings;

settings! {
    /// A tabular policy over tokens with a pretrained-like prior; with one position, a set of bandits.
    ///
    /// A state's prior logits are `z_0 = s e^{d N} · N(0, 1)`, one scale per state; the latent merit of
    /// an action is `u = κ z_0 + N(0, 1)`, its quality `e^{-c (max u - u)}`. So the best action of a
    /// state is always right, and the prior leans towards it for `κ > 0`.
    pub struct TabularSetting {
        /// Prompts.
        pub prompts: usize = 256, check_at_least(1.0);
        /// Tokens of a response.
        pub positions: usize = 8, check_at_least(1.0);
        /// Actions for each token.
        pub actions: usize = 8, check_at_least(2.0);
        /// `s`: how peaked the prior is in the median state.
        pub prior_scale: f64 = 2.0, check_at_least(0.0);
        /// `d`: by how much peakedness differs between states, in nats of its logarithm.
        pub prior_spread: f64 = 0.5, check_at_least(0.0);
        /// `κ`: what the prior knows about merit; below 0 it misleads.
        pub prior_merit: f64 = 0.3, check_finite;
        /// `c`: how much a token that is not the best costs.
        pub strictness: f64 = 0.3, check_at_least(0.0);
    }
}

impl TabularSetting {
    /// The bandits of the law (L1): 1024 prompts, one token, eight actions.
    pub const LAW: Self = Self { prompts: 1024, positions: 1, strictness: 1.5, ..Self::DEFAULT };

    /// The token world of entropy control (C1 and C2): 256 prompts, eight tokens of eight actions.
    pub const CONTROL: Self = Self::DEFAULT;

    /// Draws the environment number `seed`.
    ///
    /// # Panics
    ///
    /// If a size is 0 or the settings make a quality that is none.
    pub fn draw(&self, seed: u64) -> Environment {
        let Self { prompts, positions, actions, .. } = *self;
        let shape = Shape { prompts, positions, actions };
        let mut logits = Vec::with_capacity(shape.table());
        let mut quality = Vec::with_capacity(shape.table());
        let mut merit = vec![0.0; self.actions];
        for prompt in 0..self.prompts {
            let mut rng = prompt_rng(seed, prompt);
            for _ in 0..self.positions {
                let scale = self.prior_scale * (self.prior_spread * normal(&mut rng)).exp();
                for merit in &mut merit {
                    let logit = scale * normal(&mut rng);
                    *merit = self.prior_merit * logit + normal(&mut rng);
                    logits.push(logit);
                }
                let best = merit.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                quality.extend(merit.iter().map(|merit| (self.strictness * (merit - best)).exp()));
            }
        }
        let training = Questions::new(shape, quality, Parameters::Logits);
        let training = training.expect("tables of the shape, qualities up to 1");
        Environment { training, validation: None, start: logits }
    }
}
