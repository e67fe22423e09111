//! `plan`: memory, traffic and time of a run, and the settings to change where it does not fit.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use hub_files::ModelParts;
use model_files::model_config::ModelConfig;
use model_files::model_place::advice;
use run_plan::plan::{
    Assumptions, ByteCount, MODEL_PRESETS, ModelSizes, Plan, Setup, preset_model, scaling_page,
};
use training_run::config::{Run, RunConfig, Zero};

use super::hub_names;
use super::plan_options::PlanOptions;
use super::run_source::RunOptions;
use decoder::bf16_matmul::widens_products;

/// A run of 32 prompts with 8 responses each, and default values of all other fields.
const PLAIN: &str = "name = \"plan\"\nmodel = { path = \"model\", dtype = \"bf16\" }\n\
                     data = { train = { arithmetic = {} } }\ntraining = { steps = 1 }\n";

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Show memory, traffic and time of a published run on eight H200
  llm-trainer plan --preset qwen2.5-7b-kl-cov --gpus 8 --gpu h200 --zero 3
  # Print settings with which it fits eight H100
  llm-trainer plan --preset qwen2.5-7b-kl-cov --gpus 8 --gpu h100 --choose
  # Plan a model size on four machines
  llm-trainer plan --model 32b --gpus 8 --nodes 4 --gpu h100 --zero 3 --tensor 2")]
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
    let name = &setup.model.name;
    anyhow::ensure!(
        memory.peak_bytes() <= *device_memory_bytes,
        "{name} does not fit into {}: one rank needs {}",
        ByteCount(*device_memory_bytes),
        ByteCount(memory.peak_bytes())
    );
    anyhow::ensure!(
        plan.fits,
        "{name} does not fit into the host's memory: one rank needs {} of it",
        ByteCount(memory.host_bytes())
    );
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
    anyhow::ensure!(
        value > 0.0 && value <= 1.0,
        "{option} is {value}, expected above 0 and at most 1"
    );
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
