//! Check before a run that it fits the free memory, and advice on settings to change if it does not.

use std::path::Path;

use run_plan::plan::{
    Alternative, Assumptions, ByteCount, DRIVER_BYTES, Hardware, MemoryPlan, Plan, Setup,
};
use tch::Device;
use training_run::config::Run;

use super::plan::{setup, sizes_in};
use crate::machine::{MemoryInfo, host_memory, memory_of};
use crate::out_of_memory::OutOfMemory;
use ranks::Ranks;

/// Memory plan of a run, and the memory available to one rank.
#[derive(Debug)]
pub(super) struct MemoryCheck {
    setup: Setup,
    memory: MemoryPlan,
    /// Memory limit of a rank in bytes, and the reason for it in words.
    limit: Option<(u64, String)>,
    /// Bytes of a GPU that were free as the run began, and the driver's part.
    free_bytes: Option<u64>,
    /// Host memory limit of all ranks of this machine together, in bytes.
    host_bytes: Option<u64>,
    warnings: Vec<String>,
}

impl MemoryCheck {
    /// Plans a run for these ranks; `given` overrides the free memory. `None` if the model cannot be read, which is reported
    /// elsewhere.
    ///
    /// On CUDA the limit is the free memory of the rank's device. Ranks on a CPU share the memory of the machine or control group; too
    /// little free memory is only a warning there, as other processes may release theirs.
    pub(super) fn new(
        run: &Run,
        ranks: &Ranks,
        device: Device,
        given: Option<u64>,
    ) -> Option<Self> {
        let sizes = |path: &Path| sizes_in(path, path);
        let (on_cpu, of_node) = (!device.is_cuda(), ranks.local().count);
        let setup = setup(run, sizes(&run.config().model.path).ok()?, on_cpu, sizes).ok()?;
        let setup = setup.with_ranks(ranks.count() / of_node, of_node).ok()?;
        let mut check = Self::of(setup);
        if let (Device::Cuda(index), Some(memory)) = (device, memory_of(device)) {
            // The device query has created the driver's context, for which the plan counts an assumed size as well.
            let limit = memory.free_bytes + DRIVER_BYTES;
            check.free_bytes = Some(limit);
            check.limit =
                Some((limit, format!("what is free on cuda:{index} and the driver's part")));
        }
        match (given, host_memory()) {
            (Some(bytes), _) => check.limit = Some((bytes, "as --gpu-memory says".to_owned())),
            (None, Some(host)) if on_cpu => {
                let most = host.total_bytes / check.ranks();
                check.limit = Some((most, "all that this machine has for it".to_owned()));
                check.warn_if_taken(check.memory.peak_bytes(), "memory at most", host);
            }
            (None, Some(host)) => check.look_at_offload(host),
            (None, None) => {}
        }
        Some(check)
    }

    fn of(setup: Setup) -> Self {
        let memory = MemoryPlan::new(&setup, setup.longest());
        let (limit, free_bytes, host_bytes) = (None, None, None);
        Self { setup, memory, limit, free_bytes, host_bytes, warnings: Vec::new() }
    }

    fn ranks(&self) -> u64 {
        self.setup.gpus_per_node as u64
    }

    /// Compares the ranks' offloaded memory with that of their machine.
    fn look_at_offload(&mut self, limit: MemoryInfo) {
        self.host_bytes = Some(limit.total_bytes);
        self.warn_if_taken(self.memory.host_bytes(), "the host's memory", limit);
    }

    /// Warns of memory that there is, but that is not free now.
    fn warn_if_taken(&mut self, needed: u64, what: &str, limit: MemoryInfo) {
        let free = limit.free_bytes / self.ranks();
        if needed > free && needed <= limit.total_bytes / self.ranks() {
            let (needed, free) = (ByteCount(needed), ByteCount(free));
            self.warnings.push(format!(
                "by the plan one rank needs {needed} of {what}, {free} are free for it now"
            ));
        }
    }

    /// Returns the warnings of a run that may start; fails if it may not.
    pub(super) fn admit(&self) -> anyhow::Result<&[String]> {
        let peak_bytes = self.memory.peak_bytes();
        let refusal = |needed: String, limit: u64, whose: &str| {
            let advice = self.advice(self.limit.as_ref().map_or(u64::MAX, |(limit, _)| *limit));
            let (limit, enough) = (ByteCount(limit), peak_bytes.div_ceil(1 << 20));
            anyhow::anyhow!(
                "by the plan one rank needs {needed} at most, expected at most {limit} ({whose}): {advice}; \
                 --gpu-memory {enough}MiB starts it all the same"
            )
        };
        if let Some((limit, whose)) = &self.limit
            && peak_bytes > *limit
        {
            return Err(refusal(format!("{} of memory", ByteCount(peak_bytes)), *limit, whose));
        }
        let (on_host, ranks) = (self.memory.host_bytes(), self.ranks());
        if let Some(host_bytes) = self.host_bytes
            && on_host * ranks > host_bytes
        {
            let needed = format!("{} of the host's memory", ByteCount(on_host));
            let whose = "its share of what this machine has";
            return Err(refusal(needed, host_bytes / ranks, whose));
        }
        Ok(&self.warnings)
    }

    /// The plan's full list of settings to change, one per line.
    pub(super) fn changes(&self) -> String {
        let mut text = String::new();
        if let Some((limit, _)) = &self.limit {
            let written = self.plan(*limit).write_changes(&mut text);
            written.expect("a string takes everything");
        }
        text
    }

    /// Adds the plan's advice to libtorch's out-of-memory error; returns other errors unchanged.
    pub(super) fn advise(&self, error: anyhow::Error) -> anyhow::Error {
        let Some(OutOfMemory { said }) = error.downcast_ref() else { return error };
        let peak = self.memory.peak_bytes();
        // A fifth less than was planned, or what was free where that is less still.
        let limit = self.limit.as_ref().map_or(peak, |(limit, _)| *limit).min(peak / 5 * 4);
        let advice = self.advice(limit.min(self.free_bytes.unwrap_or(limit)));
        let free = self.free_bytes.map_or_else(String::new, |free| {
            format!("; free as it began, with the driver's part: {}", ByteCount(free))
        });
        OutOfMemory { said: format!("{said} (planned: {}{free}); {advice}", ByteCount(peak)) }
            .into()
    }

    /// The first changes of the list, in words.
    fn advice(&self, limit: u64) -> String {
        let plan = self.plan(limit);
        let (fitting, smaller): (Vec<_>, Vec<_>) =
            plan.alternatives.iter().partition(|alternative| alternative.fits);
        let mut best = if fitting.is_empty() { smaller } else { fitting };
        // First those that leave the result as it is.
        best.sort_by_key(|change| !matches!(change.remark.as_str(), "" | "together"));
        let shown = |Alternative { change, peak_bytes, .. }: &Alternative| {
            format!("{change} ({})", ByteCount(*peak_bytes))
        };
        let changes: Vec<String> = best.into_iter().take(3).map(shown).collect();
        if changes.is_empty() {
            return "no setting takes less".to_owned();
        }
        format!("set {}", changes.join("; or "))
    }

    fn plan(&self, limit: u64) -> Plan {
        // Speeds are of no interest here; those of a GPU say what offloading costs.
        let mut hardware = Hardware::named("h100", 400.0).expect("a known device");
        hardware.memory_bytes = limit;
        hardware.host_bytes = self.host_bytes;
        Plan::new(self.setup.clone(), hardware, Assumptions::default())
    }
}

#[cfg(test)]
mod tests {
    use run_plan::plan::{ModelSizes, preset_model};

    use super::*;

    /// Qwen2.5-7B over eight devices, with optimiser state offloaded to the host's memory.
    fn offloaded() -> MemoryCheck {
        let settings =
            ["model.path=m", "data.train.arithmetic={}", "parallel.offload_optimizer=true"];
        let run = Run::from_preset("qwen2.5-7b-grpo", &settings.map(str::to_owned)).unwrap();
        let sizes = ModelSizes::of("7b", &preset_model("7b").unwrap());
        let setup = Setup::of_run(&run, sizes).with_ranks(1, 8).unwrap();
        let limit = Some((1 << 50, "what is free".to_owned()));
        MemoryCheck { limit, ..MemoryCheck::of(setup) }
    }

    /// A run that `--gpu-memory` admitted is not told to do with more than was free.
    #[test]
    fn advice_knows_what_was_free() {
        let mut check = offloaded();
        let advice = |check: &MemoryCheck| {
            let error = OutOfMemory { said: "out of memory".to_owned() }.into();
            check.advise(error).to_string()
        };
        let before = advice(&check);
        assert!(before.contains("(planned: ") && !before.contains("free"), "{before}");
        check.free_bytes = Some(1 << 30);
        let message = advice(&check);
        assert!(message.contains("; free as it began, with the driver's part: 1.00 GiB); "));
        let taken = |message: &str| message.split("; set ").nth(1).map(str::to_owned);
        assert_ne!(taken(&message), taken(&before), "{message}");
    }

    #[test]
    fn what_is_offloaded_must_fit_into_the_memory_of_the_machine() {
        let mut check = offloaded();
        let needed = 8 * check.memory.host_bytes();
        check.look_at_offload(MemoryInfo { total_bytes: needed, free_bytes: needed });
        assert!(check.admit().unwrap().is_empty());

        check.look_at_offload(MemoryInfo { total_bytes: needed, free_bytes: needed / 2 });
        let warnings = check.admit().unwrap();
        assert!(warnings[0].contains("of the host's memory"), "{warnings:?}");

        let less = needed - 8;
        check.look_at_offload(MemoryInfo { total_bytes: less, free_bytes: less });
        let message = check.admit().unwrap_err().to_string();
        assert!(message.contains("of the host's memory at most, expected at most"), "{message}");
        assert!(message.contains("set parallel."), "{message}");
    }
}
