//! Will it fit, what does it send, how long does it take: answered by arithmetic before a run is paid for.
//!
//! [`Setup`] says what would run where; [`MemoryPlan`] which buffers the trainer then keeps, phase by phase; [`Traffic`] what
//! the ranks send; [`StepTime`] what that takes on [`Hardware`] under [`Assumptions`]; and [`Plan`] is all of it, with
//! [what to change](alternatives) where it does not fit. Bytes follow from the code of the trainer and are compared with
//! measured peaks by its tests; times follow from a model whose assumptions are printed with them.

mod advice;
mod buffer_limits;
mod bytes;
mod choice;
mod lengths;
mod memory;
mod scaling;
mod setup;
mod sizes;
mod text;
mod time;
mod traffic;
mod whole_run;

use serde::Serialize;

pub use advice::{Alternative, MoreKept, alternatives, more_kept};
pub use buffer_limits::{BUCKET_BYTES, CHUNK_LOGITS, WAITING_LOGITS};
pub use bytes::{ByteCount, ByteCountError, parse_bytes};
pub use choice::{Choice, settings_that_fit};
pub use lengths::Lengths;
pub use memory::{DRIVER_BYTES, Item, MemoryPlan, Phase, activation_bytes_per_token};
pub use scaling::scaling_page;
pub use setup::{Setup, SetupError};
pub use sizes::{MODEL_PRESETS, ModelSizes, preset_model};
pub use time::{Assumptions, HARDWARE, Hardware, StepTime};
pub use traffic::{Collective, Traffic};
pub use whole_run::WholeRun;

/// Everything that can be said of a setup beforehand.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Plan {
    /// What was planned.
    pub setup: Setup,
    /// Where it runs.
    pub hardware: Hardware,
    /// What the times rest on.
    pub assumptions: Assumptions,
    /// With every prompt and response as long as allowed: what must fit.
    pub memory: MemoryPlan,
    /// With prompts and responses of the expected lengths.
    pub expected_memory: MemoryPlan,
    /// Memory of one device, in bytes.
    pub device_memory_bytes: u64,
    /// True where the longest lengths fit, into the device's memory and the host's.
    pub fits: bool,
    /// What else would fit, or come nearer to it; empty where the setup itself fits.
    pub alternatives: Vec<Alternative>,
    /// What to do with memory that is left; none where the setup does not fit.
    pub more_kept: Option<MoreKept>,
    /// What one rank sends, at the expected lengths.
    pub traffic: Traffic,
    /// How long a training step takes, at the expected lengths.
    pub time: StepTime,
    /// How long all of its steps take.
    pub whole_run: WholeRun,
}

impl Plan {
    /// Plans a setup.
    pub fn new(setup: Setup, hardware: Hardware, assumptions: Assumptions) -> Self {
        let memory = MemoryPlan::new(&setup, setup.longest());
        let expected_memory = MemoryPlan::new(&setup, setup.expected());
        let device_memory_bytes = hardware.memory_bytes;
        let fits = hardware.holds(&setup, &memory);
        let alternatives =
            if fits { Vec::new() } else { alternatives(&setup, &hardware, &assumptions) };
        let more_kept = if fits { more_kept(&setup, &hardware, &assumptions) } else { None };
        let traffic = Traffic::new(&setup);
        let time = StepTime::new(&setup, &hardware, &assumptions, &traffic);
        let whole_run = WholeRun::new(&setup, &time);
        Self {
            setup,
            hardware,
            assumptions,
            memory,
            expected_memory,
            device_memory_bytes,
            fits,
            alternatives,
            more_kept,
            traffic,
            time,
            whole_run,
        }
    }
}
