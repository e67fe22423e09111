//! Whether a run fits into the memory that is free as it starts, and what to change where it does not.

use std::fmt::Write;

use model_files::model_config::ModelConfig;
use run_plan::plan::{
    Alternative, Assumptions, ByteCount, DRIVER_BYTES, Hardware, MemoryPlan, ModelSizes, Plan,
    Setup,
};
use tch::Device;
use thiserror::Error;
use training_run::config::Run;

use crate::machine::{MemoryRoom, host_memory, memory_of};
use crate::out_of_memory::OutOfMemory;
use crate::product::widens_products;
use crate::ranks::Ranks;

/// A run needs more memory than there is.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "by the plan one rank needs {needed} of memory at most, expected at most {room}, {whose}: {advice}; --gpu-memory {enough} starts \
     it all the same"
)]
pub(crate) struct TooLittleMemory {
    needed: String,
    /// The same in whole mebibytes, rounded up.
    enough: String,
    room: String,
    whose: String,
    advice: String,
}

/// The plan of a run, and the memory that one rank has.
#[derive(Debug)]
pub(crate) struct MemoryCheck {
    setup: Setup,
    memory: MemoryPlan,
    /// What a rank may need, in bytes, and whose that is.
    room: Option<(u64, String)>,
    warnings: Vec<String>,
}

impl MemoryCheck {
    /// Plans a run for these ranks; `given` stands in for what is free. `None` where the model cannot be read, which then is what
    /// is wrong.
    ///
    /// On CUDA a rank has what is free of its device. Ranks on a CPU share what the machine or the control group has: less of it
    /// that is free is a warning, as others may give theirs back.
    pub(crate) fn new(
        run: &Run,
        ranks: &Ranks,
        device: Device,
        given: Option<u64>,
    ) -> Option<Self> {
        let path = &run.config().model.path;
        let config = ModelConfig::read(&path.join("config.json")).ok()?;
        let sizes = ModelSizes::of(&path.display().to_string(), &config);
        let on_cpu = !device.is_cuda();
        let (_, of_node) = ranks.local();
        let widens_products = widens_products(&run.config().model, on_cpu);
        let setup = Setup { on_cpu, widens_products, ..Setup::of_run(run, sizes) };
        let setup = setup.with_ranks(ranks.count() / of_node, of_node).ok()?;
        let memory = MemoryPlan::new(&setup, setup.longest());
        let mut check = Self { setup, memory, room: None, warnings: Vec::new() };
        match given {
            Some(bytes) => check.room = Some((bytes, "as --gpu-memory says".to_owned())),
            None if on_cpu => check.look_at_host(host_memory(), of_node as u64),
            None => check.look_at_gpu(device, of_node as u64),
        }
        Some(check)
    }

    fn look_at_host(&mut self, room: Option<MemoryRoom>, ranks: u64) {
        let Some(MemoryRoom { total_bytes, free_bytes }) = room else { return };
        self.room = Some((total_bytes / ranks, "all that this machine has for it".to_owned()));
        let (needed, free) = (self.memory.peak_bytes(), free_bytes / ranks);
        if needed > free && needed <= total_bytes / ranks {
            self.warnings.push(format!(
                "by the plan one rank needs {} of memory at most, {} are free for it now",
                ByteCount(needed),
                ByteCount(free)
            ));
        }
    }

    fn look_at_gpu(&mut self, device: Device, ranks: u64) {
        if let Some(room) = memory_of(device) {
            let Device::Cuda(index) = device else { return };
            // The driver's context, of which the plan has an assumption, is there once a device is asked.
            let room = room.free_bytes + DRIVER_BYTES;
            self.room = Some((room, format!("what is free on cuda:{index} and the driver's part")));
        }
        let on_host = self.memory.host_bytes();
        if let Some(host) = host_memory().filter(|host| on_host > host.free_bytes / ranks) {
            self.warnings.push(format!(
                "by the plan one rank needs {} of the host's memory, {} are free for it now",
                ByteCount(on_host),
                ByteCount(host.free_bytes / ranks)
            ));
        }
    }

    /// What to say of a run that may start.
    ///
    /// # Errors
    ///
    /// [`TooLittleMemory`] where it may not.
    pub(crate) fn admit(&self) -> Result<&[String], TooLittleMemory> {
        match &self.room {
            Some((room, whose)) if self.memory.peak_bytes() > *room => Err(TooLittleMemory {
                needed: ByteCount(self.memory.peak_bytes()).to_string(),
                enough: format!("{}MiB", self.memory.peak_bytes().div_ceil(1 << 20)),
                room: ByteCount(*room).to_string(),
                whose: whose.clone(),
                advice: self.advice(*room),
            }),
            _ => Ok(&self.warnings),
        }
    }

    /// The plan's whole list of what to change, a line each.
    pub(crate) fn changes(&self) -> String {
        let mut text = String::new();
        if let Some((room, _)) = &self.room {
            let written = self.plan(*room).write_changes(&mut text);
            written.expect("a string takes everything");
        }
        text
    }

    /// libtorch's out-of-memory with the plan's advice; other errors as they are.
    pub(crate) fn advise(&self, error: anyhow::Error) -> anyhow::Error {
        let Some(OutOfMemory { said }) = error.downcast_ref() else { return error };
        let peak = self.memory.peak_bytes();
        // A fifth less than was planned, or what was free where that is less still.
        let room = self.room.as_ref().map_or(peak, |(room, _)| *room).min(peak / 5 * 4);
        let advice = self.advice(room);
        OutOfMemory { said: format!("{said} (planned: {}); {advice}", ByteCount(peak)) }.into()
    }

    /// The first changes of the list, in words.
    fn advice(&self, room: u64) -> String {
        let plan = self.plan(room);
        let (fitting, smaller): (Vec<_>, Vec<_>) =
            plan.alternatives.iter().partition(|alternative| alternative.fits);
        let mut best = if fitting.is_empty() { smaller } else { fitting };
        // First those that leave the result as it is.
        best.sort_by_key(|change| !matches!(change.remark.as_str(), "" | "together"));
        let mut advice = String::from("set ");
        for (index, Alternative { change, peak_bytes, .. }) in best.iter().take(3).enumerate() {
            let or = if index > 0 { "; or " } else { "" };
            let peak = ByteCount(*peak_bytes);
            write!(advice, "{or}{change} ({peak})").expect("a string takes everything");
        }
        if best.is_empty() { "no setting takes less".to_owned() } else { advice }
    }

    fn plan(&self, room: u64) -> Plan {
        // Speeds are of no interest here; those of a GPU say what offloading costs.
        let mut hardware = Hardware::named("h100", 400.0).expect("a known device");
        hardware.memory_bytes = room;
        Plan::new(self.setup.clone(), hardware, Assumptions::default())
    }
}
