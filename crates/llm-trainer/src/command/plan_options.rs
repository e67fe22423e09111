//! Devices that a run is planned for, as arguments.

use anyhow::Context;
use trainer_core::plan::{Assumptions, HARDWARE, Hardware, Plan, Setup, parse_bytes};

/// The devices and what is assumed of them.
#[derive(Debug, Clone, clap::Args)]
pub struct PlanOptions {
    /// Devices planned for: h200, h100 or a100
    #[arg(long, default_value = "h200", value_name = "NAME", help_heading = "Planning")]
    gpu: String,
    /// Memory of one, as 141GB or 131GiB [default: the GPU's; that of this machine where model.device is "cpu"]
    #[arg(long, value_name = "AMOUNT", help_heading = "Planning")]
    gpu_memory: Option<String>,
    /// What a machine sends to others, in gigabits per second: 3200 is one card of 400 for each of eight devices
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
    /// Plans a setup for these devices.
    ///
    /// # Errors
    ///
    /// If an argument is out of range.
    pub fn plan(&self, mut setup: Setup, assumptions: Assumptions) -> anyhow::Result<Plan> {
        let lengths = [
            ("--mean-prompt-tokens", self.mean_prompt_tokens, setup.max_prompt_tokens),
            ("--mean-response-tokens", self.mean_response_tokens, setup.max_response_tokens),
        ];
        for (option, tokens, longest) in lengths {
            let fits = tokens.is_none_or(|tokens| (1..=longest).contains(&tokens));
            let found = tokens.unwrap_or(longest);
            anyhow::ensure!(fits, "{option} is {found}, expected 1 to the longest, {longest}");
        }
        setup.mean_prompt_tokens = self.mean_prompt_tokens.unwrap_or(setup.mean_prompt_tokens);
        setup.mean_response_tokens =
            self.mean_response_tokens.unwrap_or(setup.mean_response_tokens);
        Ok(Plan::new(setup.clone(), self.hardware(&setup)?, assumptions))
    }

    fn hardware(&self, setup: &Setup) -> anyhow::Result<Hardware> {
        let speed = self.network_gigabits;
        let good = speed.is_finite() && speed > 0.0;
        anyhow::ensure!(good, "--network-gigabits is {speed}, expected a number above 0");
        let mut hardware = Hardware::named(&self.gpu, speed).with_context(|| {
            let known: Vec<&str> = HARDWARE.iter().map(|row| row.0).collect();
            format!("--gpu is {:?}, expected one of {}", self.gpu, known.join(", "))
        })?;
        if let Some(text) = &self.gpu_memory {
            hardware.memory_bytes = parse_bytes(text).context("--gpu-memory")?;
        } else if setup.on_cpu {
            let (total, _) = crate::device::memory_bytes()
                .context("the memory of this machine is unknown: give --gpu-memory")?;
            hardware.memory_bytes = total / setup.gpus_per_node as u64;
        }
        Ok(hardware)
    }
}
