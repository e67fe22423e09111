//! Starts one command several times as the ranks of a run on this host, or on one of several, and ends all when one fails.
//!
//! The variables are torchrun's, so either can start the same program. The launcher serves the store that the ranks meet
//! at (of several hosts, the first one's): it outlives each of them, and its port is never taken by somebody else between choosing and use.

mod ended;
mod host;
mod hosts;
mod output;
mod processes;
mod supervision;
mod variables;

pub use ended::{Ended, FailedElsewhere, Fault, RankFailed};
pub use host::Host;
pub use processes::{LaunchOptions, launch};
