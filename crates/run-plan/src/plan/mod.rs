//! Estimates by arithmetic, before a run is started: its memory, its traffic and its time.
//!
//! [`Setup`] is the run and its machines; [`MemoryPlan`] lists the trainer's buffers by phase; [`Traffic`] counts what the ranks
//! send; [`StepTime`] is the time on [`Hardware`] under [`Assumptions`]. [`Plan`] holds all of these, and
//! [changes](alternatives) where the setup does not fit. Bytes follow from the trainer's code, whose tests compare them with
//! measured peaks. Times follow from a model whose assumptions are printed with them.

mod advice;
mod bytes;
mod choice;
mod memory;
mod run_time;
mod scaling;
mod setup;
mod sizes;
mod text;
mod time;
mod traffic;

use serde::Serialize;

pub use advice::{Alternative, MoreActivationMemory, alternatives, more_kept};
pub use bytes::{ByteCount, ByteCountError, parse_bytes};
pub use choice::{Choice, settings_that_fit};
pub use memory::{DRIVER_BYTES, Item, MemoryPlan, Phase, activation_bytes_per_token};
pub use run_time::RunTime;
pub use scaling::scaling_page;
pub use setup::{Lengths, Setup, SetupError};
pub use sizes::{MODEL_PRESETS, ModelSizes, preset_model};
pub use time::{Assumptions, HARDWARE, Hardware, StepTime};
pub use traffic::{Collective, Traffic};

/// Memory, traffic and time of a setup, estimated before it runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Plan {
    /// The run, its model and its ranks.
    pub setup: Setup,
    /// Devices that the run uses.
    pub hardware: Hardware,
    /// Assumptions behind the times.
    pub assumptions: Assumptions,
    /// Memory with every prompt and response as long as allowed: this must fit.
    pub memory: MemoryPlan,
    /// Memory with prompts and responses of the expected lengths.
    pub expected_memory: MemoryPlan,
    /// Memory of one device, in bytes.
    pub device_memory_bytes: u64,
    /// True if the longest lengths fit into device and host memory.
    pub fits: bool,
    /// Changes with which it would fit, or come nearer to it; empty if the setup itself fits.
    pub alternatives: Vec<Alternative>,
    /// A setting that uses memory that is left to save time; `None` if the setup does not fit.
    pub more_kept: Option<MoreActivationMemory>,
    /// Traffic of one rank, at the expected lengths.
    pub traffic: Traffic,
    /// Time of a training step, at the expected lengths.
    pub time: StepTime,
    /// Time of all training steps.
    pub whole_run: RunTime,
}

impl Plan {
    /// Plans a setup.
    pub fn new(setup: Setup, hardware: Hardware, assumptions: Assumptions) -> Self {
        let memory = MemoryPlan::new(&setup, setup.longest());
        let fits = hardware.holds(&setup, &memory);
        let time = StepTime::new(&setup, &hardware, &assumptions);
        let missing = || alternatives(&setup, &hardware, &assumptions);
        Self {
            expected_memory: MemoryPlan::new(&setup, setup.expected()),
            device_memory_bytes: hardware.memory_bytes,
            alternatives: if fits { Vec::new() } else { missing() },
            more_kept: if fits { more_kept(&setup, &hardware, &assumptions) } else { None },
            traffic: Traffic::new(&setup),
            whole_run: RunTime::new(&setup, &time),
            memory,
            fits,
            time,
            setup,
            hardware,
            assumptions,
        }
    }
}
