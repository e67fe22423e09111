//! Starts one command several times as the ranks of a run on this host, or on one of several, and ends all ranks when one
//! fails.
//!
//! The environment variables are torchrun's, so either launcher can start the same program. The launcher of the first host
//! serves the store at which the ranks meet. The store outlives every rank, and no other process can take its port before the
//! ranks start.

mod ended;
mod hosts;
mod options;
mod processes;
mod supervision;

pub(crate) use ended::{Ended, ProgramFailed, RankFailed};
pub(crate) use options::LaunchOptions;
pub(crate) use processes::launch;
