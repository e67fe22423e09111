//! Devices that a run is planned for, as arguments.

use anyhow::Context;
use run_plan::plan::{
    Assumptions, Choice, HARDWARE, Hardware, Lengths, Plan, Setup, parse_bytes, settings_that_fit,
};
use training_run::config::Device;

use crate::machine::{cpu_speed, gpu, host_memory};
use ranks::device::kind_of;

/// Devices and assumptions of a plan.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct PlanOptions {
    /// Devices to plan for: h200, h100 or a100 [default: the GPUs or the CPU that the run would use on this machine; h200 if
    /// model.device asks for a GPU that this machine lacks]
    #[arg(long, value_name = "NAME", help_heading = "Planning")]
    gpu: Option<String>,
    /// Memory of one device, such as 141GB or 131GiB; a run whose plan needs more does not start [default: all of the device's
    /// memory for a plan, its free memory for a run]
    #[arg(long, value_name = "AMOUNT", help_heading = "Planning")]
    gpu_memory: Option<String>,
    /// Host memory of one machine, for what its GPUs offload [default: that of this machine, if the plan is for its GPUs; else
    /// unlimited]
    #[arg(long, value_name = "AMOUNT", help_heading = "Planning")]
    host_memory: Option<String>,
    /// Network bandwidth of one machine, in gigabits per second; 3200 is one card of 400 for each of eight devices
    #[arg(long, default_value_t = 3200.0, value_name = "GBIT", help_heading = "Planning")]
    network_gigabits: f64,
    /// Expected length of a prompt, in tokens [default: a quarter of the longest]
    #[arg(long, value_name = "TOKENS", help_heading = "Planning")]
    mean_prompt_tokens: Option<usize>,
    /// Expected length of a response, in tokens [default: the longest]
    #[arg(long, value_name = "TOKENS", help_heading = "Planning")]
    mean_response_tokens: Option<usize>,
}

impl PlanOptions {
    /// Returns true if a run with this device setting is planned for a CPU.
    pub(super) fn is_on_cpu(&self, device: Device) -> bool {
        let finds_no_gpu = || tch::Cuda::device_count() == 0;
        self.gpu.is_none() && (device == Device::Cpu || (device == Device::Auto && finds_no_gpu()))
    }

    /// Returns the given memory, in bytes.
    pub(super) fn memory_bytes(&self) -> anyhow::Result<Option<u64>> {
        let parse = |text: &String| parse_bytes(text).context("--gpu-memory");
        self.gpu_memory.as_ref().map(parse).transpose()
    }

    /// Plans a setup for these devices.
    pub(super) fn plan(&self, setup: Setup, assumptions: Assumptions) -> anyhow::Result<Plan> {
        let setup = self.with_lengths(setup)?;
        let hardware = self.hardware(&setup)?;
        Ok(Plan::new(setup, hardware, assumptions))
    }

    /// Returns the fastest settings with which the setup fits these devices; `None` where none fits.
    pub(super) fn choose(
        &self,
        setup: Setup,
        assumptions: &Assumptions,
    ) -> anyhow::Result<Option<Choice>> {
        let setup = self.with_lengths(setup)?;
        Ok(settings_that_fit(&setup, &self.hardware(&setup)?, assumptions))
    }

    /// Returns the setup with the expected lengths.
    fn with_lengths(&self, mut setup: Setup) -> anyhow::Result<Setup> {
        let (prompt, response) = (self.mean_prompt_tokens, self.mean_response_tokens);
        let Lengths { prompt_tokens, response_tokens } = setup.longest();
        for (option, tokens, longest, mean) in [
            ("--mean-prompt-tokens", prompt, prompt_tokens, &mut setup.mean_prompt_tokens),
            ("--mean-response-tokens", response, response_tokens, &mut setup.mean_response_tokens),
        ] {
            let Some(tokens) = tokens else { continue };
            let fits = (1..=longest).contains(&tokens);
            anyhow::ensure!(fits, "{option} is {tokens}, expected 1 to the longest, {longest}");
            *mean = tokens;
        }
        Ok(setup)
    }

    /// Returns the hardware that the plan assumes.
    fn hardware(&self, setup: &Setup) -> anyhow::Result<Hardware> {
        let speed = self.network_gigabits;
        let good = speed.is_finite() && speed > 0.0;
        anyhow::ensure!(good, "--network-gigabits is {speed}, expected a number above 0");
        let given = self.memory_bytes()?;
        let hardware = if setup.on_cpu {
            let memory = host_memory().map(|memory| memory.total_bytes).or(given);
            let memory =
                memory.context("the memory of this machine is unknown: give --gpu-memory")?;
            Hardware::of_cpu(memory, cpu_speed(kind_of(setup.run.model.dtype)), setup.gpus_per_node)
        } else if let Some(name) = &self.gpu {
            named(name, speed)?
        } else {
            match gpu(speed) {
                Some(hardware) => hardware,
                None => named("h200", speed)?,
            }
        };
        let host = self.host_memory.as_ref().filter(|_| !setup.on_cpu);
        let host = host.map(|text| parse_bytes(text).context("--host-memory")).transpose()?;
        Ok(Hardware {
            memory_bytes: given.unwrap_or(hardware.memory_bytes),
            host_bytes: host.or(hardware.host_bytes),
            ..hardware
        })
    }
}

fn named(name: &str, network_gigabits: f64) -> anyhow::Result<Hardware> {
    Hardware::named(name, network_gigabits).with_context(|| {
        let known: Vec<&str> = HARDWARE.iter().map(|row| row.0).collect();
        format!("--gpu is {name:?}, expected one of {}", known.join(", "))
    })
}
