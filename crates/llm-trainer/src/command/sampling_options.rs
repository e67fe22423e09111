//! Options of the commands that sample.

use std::fmt::Display;

use clap::Args;
use entropy_core::{EntropyBand, InputError};
use model_files::sampling::Sampling;
use serde::Serialize;

/// Options of the sampling mask.
#[derive(Debug, Clone, Copy, Args, Serialize)]
pub(super) struct MaskOptions {
    #[arg(long, help = help("top_p", Sampling::DEFAULT.top_p))]
    pub(super) top_p: Option<f64>,
    #[arg(long, help = help("top_k", Sampling::DEFAULT.top_k))]
    pub(super) top_k: Option<u32>,
    #[arg(long, help = help("min_p", Sampling::DEFAULT.min_p))]
    pub(super) min_p: Option<f64>,
}

impl MaskOptions {
    /// Plain sampling at `temperature` but for these options.
    pub(super) fn at_temperature(self, temperature: f64) -> Sampling {
        let Sampling { top_p, top_k, min_p, .. } = Sampling::DEFAULT;
        Sampling {
            temperature,
            top_p: self.top_p.unwrap_or(top_p),
            top_k: self.top_k.map_or(top_k, |count| count as usize),
            min_p: self.min_p.unwrap_or(min_p),
        }
    }
}

/// Meaning and default of an option.
pub(super) fn help(option: &str, default: impl Display) -> String {
    format!("{} [default: {default}]", Sampling::meaning(option))
}

/// Bounds of the entropy of the distribution that each token is drawn from.
#[derive(Debug, Clone, Copy, Args, Serialize)]
pub(super) struct BandOptions {
    /// Raise the temperature of a token, at most tenfold, until its distribution has this entropy, in nats [default: none]
    #[arg(long, value_name = "H")]
    pub(super) entropy_floor: Option<f64>,
    /// Lower the temperature of a token, at most to a tenth, until its distribution has this entropy, in nats [default: none]
    #[arg(long, value_name = "H")]
    pub(super) entropy_ceiling: Option<f64>,
}

impl BandOptions {
    /// The band; `None` where neither bound is given.
    pub(super) fn band(self) -> Result<Option<EntropyBand>, InputError> {
        if self.entropy_floor.is_none() && self.entropy_ceiling.is_none() {
            return Ok(None);
        }
        EntropyBand::new(self.entropy_floor, self.entropy_ceiling).map(Some)
    }
}
