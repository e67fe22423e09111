//! `plan`: memory, traffic and time of a run, and the settings to change where it does not fit.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use decoder::bf16_matmul::widens_products;
use hub_files::ModelParts;
use model_files::model_config::ModelConfig;
use model_files::model_place::advice;
use ranks::device::kind_of;
use run_plan::plan::{
    Assumptions, ByteCount, Choice, HARDWARE, Hardware, Lengths, MODEL_PRESETS, ModelSizes, Plan,
    Setup, parse_bytes, preset_model, scaling_page, settings_that_fit,
};
use training_run::config::{Device, Run, RunConfig, Zero};

use super::hub_names;
use super::run_source::RunOptions;
use crate::machine::{cpu_speed, gpu, host_memory};

/// A run of 32 prompts with 8 responses each, and default values of all other fields.
const PLAIN: &str = "name = \"plan\"\nmodel = { path = \"model\", dtype = \"bf16\" }\n\
                     data = { train = { arithmetic = {} } }\ntraining = { steps = 1 }\n";

#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("plan.txt").trim_ascii_end())]
pub(super) struct Args {
    /// Hugging Face directory, a name of the hub, a size of Qwen2.5 (0.5b, 1.5b, 3b, 7b, 14b, 32b, 72b), or of Qwen3: qwen3-0.6b, -1.7b,
    /// -4b, -8b, -14b, -32b, -30b-a3b [default: the run's]
    #[arg(long, value_name = "MODEL|SIZE", required_unless_present_any = ["config", "preset", "table"])]
    model: Option<String>,
    /// TOML file of a run [default: a run with the default of every field, in bf16]
    #[arg(long, value_name = "FILE", conflicts_with = "preset")]
    config: Option<PathBuf>,
    #[command(flatten)]
    run: RunOptions,
    /// Number of devices per machine
    #[arg(long, default_value_t = 1, value_name = "N")]
    gpus: usize,
    /// Number of machines
    #[arg(long, default_value_t = 1, value_name = "M")]
    nodes: usize,
    /// Stage of `ZeRO`, 0 to 3, as `--set parallel.zero=STAGE` [default: the run's]
    #[arg(long, value_name = "STAGE")]
    zero: Option<u8>,
    /// Number of tensor-parallel ranks, as `--set parallel.tensor=N` [default: the run's]
    #[arg(long, value_name = "N")]
    tensor: Option<usize>,
    #[command(flatten)]
    options: PlanOptions,
    /// Fraction of the device's stated matrix throughput that passes over many tokens reach, above 0, at most 1
    #[arg(long, default_value_t = Assumptions::default().matrix_fraction, value_name = "FRACTION")]
    matrix_fraction: f64,
    /// Fraction of the roofline that decoding reaches, above 0, at most 1
    #[arg(long, default_value_t = Assumptions::default().decode_fraction, value_name = "FRACTION")]
    decode_fraction: f64,
    /// Fraction of concurrent computation that can hide communication, above 0, at most 1
    #[arg(long, default_value_t = Assumptions::default().overlap_fraction, value_name = "FRACTION")]
    overlap_fraction: f64,
    /// Fraction of the groups that dynamic sampling keeps, above 0, at most 1
    #[arg(long, default_value_t = Assumptions::default().kept_fraction, value_name = "FRACTION")]
    kept_fraction: f64,
    /// Print one JSON object instead of the table
    #[arg(long)]
    json: bool,
    /// Print settings that fit instead of the plan, one NAME=VALUE for `--set` per line: the fastest that leave the result
    /// unchanged; offloading only if nothing else fits, and last bf16 moments, which use stochastic rounding
    #[arg(long, conflicts_with_all = ["json", "table"])]
    choose: bool,
    /// Print a page of the documentation instead of a plan: docs/scaling.md [default: none]
    #[arg(long, value_enum, conflicts_with_all = ["model", "config", "preset"])]
    table: Option<Page>,
}

/// A page that this command prints.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Page {
    /// 7B and 32B on 8, 32 and 128 GPUs
    Scaling,
}

/// Runs the command; a plan that does not fit is printed all the same.
pub(super) fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<()> {
    if let Some(Page::Scaling) = args.table {
        write!(out, "{}", scaling_page())?;
        return Ok(());
    }
    let run = planned_run(args)?;
    let model = model_of(args, &run)?;
    let on_cpu = args.options.is_on_cpu(run.config().model.device);
    let mut setup = setup(&run, model, on_cpu, |path| sizes(&path.to_string_lossy()))?;
    if let Some(stage) = args.zero {
        setup.run.parallel.zero =
            Zero::try_from(stage).map_err(|error| anyhow::anyhow!("--{error}"))?;
    }
    if let Some(tensor) = args.tensor {
        setup.run.parallel.tensor = tensor;
    }
    let setup = setup.with_ranks(args.nodes, args.gpus)?;
    let assumptions = Assumptions {
        matrix_fraction: fraction("--matrix-fraction", args.matrix_fraction)?,
        decode_fraction: fraction("--decode-fraction", args.decode_fraction)?,
        overlap_fraction: fraction("--overlap-fraction", args.overlap_fraction)?,
        kept_fraction: fraction("--kept-fraction", args.kept_fraction)?,
    };
    if args.choose {
        return choose(args, setup, &assumptions, out);
    }
    let plan = args.options.plan(setup, assumptions)?;
    if args.json {
        writeln!(out, "{}", serde_json::to_string(&plan)?)?;
    } else {
        write!(out, "{plan}")?;
    }
    out.flush()?;
    let Plan { setup, memory, device_memory_bytes, .. } = &plan;
    let (name, is_small) = (&setup.model.name, memory.peak_bytes() <= *device_memory_bytes);
    let [there, needed, on_host] =
        [*device_memory_bytes, memory.peak_bytes(), memory.host_bytes()].map(ByteCount);
    anyhow::ensure!(is_small, "{name} does not fit into {there}: one rank needs {needed}");
    let host = "the host's memory";
    anyhow::ensure!(plan.fits, "{name} does not fit into {host}: one rank needs {on_host} of it");
    Ok(())
}

/// Prints the settings that fit; what they change goes to standard error.
fn choose(
    args: &Args,
    setup: Setup,
    assumptions: &Assumptions,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let name = setup.model.name.clone();
    let choice = args.options.choose(setup, assumptions)?;
    let choice = choice.with_context(|| {
        format!("{name} fits with none of the settings that leave its result as it is; see what plan says without --choose")
    })?;
    for setting in &choice.settings {
        writeln!(out, "{setting}")?;
    }
    if !choice.remark.is_empty() {
        eprintln!("note: {}", choice.remark);
    }
    Ok(out.flush()?)
}

/// The setup of a run on a CPU of this machine, or on GPUs; `sizes` reads those of a reference that is another model.
pub(super) fn setup(
    run: &Run,
    model: ModelSizes,
    on_cpu: bool,
    sizes: impl FnOnce(&Path) -> anyhow::Result<ModelSizes>,
) -> anyhow::Result<Setup> {
    let section = &run.config().model;
    let other = Some(section.reference_path()).filter(|path| **path != section.path);
    let reference = other.map(sizes).transpose()?;
    let widens_products = widens_products(section.dtype, on_cpu);
    Ok(Setup { on_cpu, widens_products, reference, ..Setup::of_run(run, model) })
}

fn fraction(option: &str, value: f64) -> anyhow::Result<f64> {
    let is_fraction = value > 0.0 && value <= 1.0;
    anyhow::ensure!(is_fraction, "{option} is {value}, expected above 0 and at most 1");
    Ok(value)
}

/// Reads the run; fills in required fields that are left open, as the plan does not use them.
fn planned_run(args: &Args) -> anyhow::Result<Run> {
    let path = format!("model.path={:?}", args.model.as_deref().unwrap_or("model"));
    let filled_in = [path, "data.train.arithmetic={}".to_owned()];
    if let Some(run) = args.run.read(args.config.as_deref(), &filled_in)? {
        return Ok(run);
    }
    let config = RunConfig::parse(PLAIN, Path::new("plan.toml"), &args.run.overrides)?;
    Ok(config.resolve()?)
}

/// Returns the sizes of the named model, else of the run's model, else of the preset's.
fn model_of(args: &Args, run: &Run) -> anyhow::Result<ModelSizes> {
    let of_preset = args.run.preset.as_deref().and_then(|preset| preset.split('-').nth(1));
    let path = run.config().model.place().display().to_string();
    let overridden =
        args.run.overrides.iter().any(|one| one.trim_start().starts_with("model.path"));
    let name = match (&args.model, of_preset) {
        (Some(name), _) => name,
        (None, Some(size)) if !overridden => size,
        (None, _) => &path,
    };
    sizes(name)
}

/// Returns the sizes of a named shape or of the model in a directory.
pub(super) fn sizes(name: &str) -> anyhow::Result<ModelSizes> {
    if let Some(config) = preset_model(name) {
        let size = name.to_uppercase();
        let shown = match size.strip_prefix("QWEN3-") {
            Some(size) => format!("Qwen3-{size}"),
            None => format!("Qwen2.5-{size}"),
        };
        return Ok(ModelSizes::of(&shown, &config));
    }
    let path = Path::new(name);
    let folder = hub_names::model(path, ModelParts::Description)?;
    let known = || {
        let known: Vec<&str> = MODEL_PRESETS.iter().map(|row| row.0).collect();
        let advice = advice(path).map_or_else(String::new, |advice| format!("; {advice}"));
        format!("{name}: neither a Hugging Face directory nor one of {}{advice}", known.join(", "))
    };
    anyhow::ensure!(folder.is_dir(), known());
    sizes_in(&folder, path)
}

/// Returns the sizes of the model in a directory; its path as given names it.
pub(super) fn sizes_in(folder: &Path, given: &Path) -> anyhow::Result<ModelSizes> {
    let config = ModelConfig::read(&folder.join("config.json"))?;
    let name = given.file_name().unwrap_or(given.as_os_str());
    Ok(ModelSizes::of(&name.to_string_lossy(), &config))
}

/// Devices and assumptions of a plan.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct PlanOptions {
    /// Devices to plan for: h200, h100 or a100 [default: the GPUs or the CPU that the run would use on this machine; h200 if
    /// model.device asks for a GPU that this machine lacks]
    #[arg(long, value_name = "NAME", help_heading = "Planning")]
    gpu: Option<String>,
    /// Memory of one device, such as 141GB or 131GiB; a run whose plan needs more does not start [default: all of the device's
    /// memory for a plan, its free memory for a run]
    #[arg(long, value_name = "AMOUNT", help_heading = "Planning", allow_hyphen_values = true)]
    gpu_memory: Option<String>,
    /// Host memory of one machine, for what its GPUs offload [default: that of this machine, if the plan is for its GPUs; else
    /// unlimited]
    #[arg(long, value_name = "AMOUNT", help_heading = "Planning", allow_hyphen_values = true)]
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

    pub(super) fn memory_bytes(&self) -> anyhow::Result<Option<u64>> {
        amount("--gpu-memory", self.gpu_memory.as_deref())
    }

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
            gpu(speed).map_or_else(|| named("h200", speed), Ok)?
        };
        let host = self.host_memory.as_deref().filter(|_| !setup.on_cpu);
        let host = amount("--host-memory", host)?;
        Ok(Hardware {
            memory_bytes: given.unwrap_or(hardware.memory_bytes),
            host_bytes: host.or(hardware.host_bytes),
            ..hardware
        })
    }
}

/// The bytes of a memory option, if it is given. A number without a unit is not of gigabytes, as whoever writes `80` may think.
fn amount(option: &str, text: Option<&str>) -> anyhow::Result<Option<u64>> {
    const LEAST_WITHOUT_UNIT: u64 = 1_000_000;
    let Some(text) = text.map(str::trim) else { return Ok(None) };
    let bytes = parse_bytes(text).with_context(|| option.to_owned())?;
    let has_unit = text.parse::<f64>().is_err();
    anyhow::ensure!(
        has_unit || bytes >= LEAST_WITHOUT_UNIT,
        "{option}: {text:?} is {bytes} bytes, expected a unit, as {text}GB"
    );
    Ok(Some(bytes))
}

fn named(name: &str, network_gigabits: f64) -> anyhow::Result<Hardware> {
    Hardware::named(name, network_gigabits).with_context(|| {
        let known: Vec<&str> = HARDWARE.iter().map(|row| row.0).collect();
        format!("--gpu is {name:?}, expected one of {}", known.join(", "))
    })
}
