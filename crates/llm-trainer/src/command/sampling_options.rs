//! Options of the commands that sample.

use clap::Args;
use entropy_core::{EntropyBand, InputError};

/// Bounds of the entropy of the distribution that each token is drawn from.
#[derive(Debug, Clone, Copy, Args)]
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
    ///
    /// # Errors
    ///
    /// Bounds out of range.
    pub(super) fn band(self) -> Result<Option<EntropyBand>, InputError> {
        if self.entropy_floor.is_none() && self.entropy_ceiling.is_none() {
            return Ok(None);
        }
        EntropyBand::new(self.entropy_floor, self.entropy_ceiling).map(Some)
    }
}
