//! `llm-trainer train`: one run from its configuration to its last checkpoint.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use anyhow::Context;
use hub_files::ModelParts;
use messages::{counted, one_line};
use run_plan::plan::Assumptions;
use torch_ext::Placement;
use training_run::config::{Run, RunConfig};
use training_run::deadline::Deadline;
use training_run::resume::{self, Change, Origin, Resume, Start};
use training_run::run_directory::{Checkpoint, RunDirectory};

use super::memory_check::MemoryCheck;
use super::plan::{PlanOptions, setup, sizes_in};
use super::run_source::RunSource;
use crate::interruption::{Interruption, Signals};
use crate::out_of_memory;
use crate::progress::Progress;
use crate::training::{RolloutSource, StepReport, Trainer, checked};
use ranks::{Ranks, device};

#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("train.txt").trim_ascii_end())]
pub(super) struct Args {
    #[command(flatten)]
    run: RunSource,
    /// Save and end before this time: `3h30m` from now, `2026-01-31T18:00:00Z`, or `@SECONDS` since 1970 [default: none]
    #[arg(long, value_name = "WHEN")]
    deadline: Option<String>,
    /// Write the responses of every step to this folder, for --replay-rollouts [default: none]
    #[arg(long, value_name = "DIR", conflicts_with = "replay_rollouts")]
    save_rollouts: Option<PathBuf>,
    /// Train on the responses of this folder instead of sampling; the updates equal those of the run that saved them, bit
    /// for bit [default: none]
    #[arg(long, value_name = "DIR")]
    replay_rollouts: Option<PathBuf>,
    /// auto: continue the run in its folder after its newest complete checkpoint, or start it. never: fail if the folder
    /// holds a run. PATH: continue after this checkpoint, or after the latest of that run; a checkpoint of another run starts
    /// a copy
    #[arg(long, value_name = "auto|never|PATH", default_value_t)]
    resume: Resume,
    /// Print the full configuration, its batch arithmetic, and memory and traffic of a rank; check that the named files
    /// exist, and stop
    #[arg(long)]
    dry_run: bool,
    /// With --dry-run: number of ranks to plan for [default: those that were started]
    #[arg(long, requires = "dry_run", value_name = "N", help_heading = "Planning")]
    ranks: Option<usize>,
    /// With --dry-run: number of ranks per machine [default: 8, or all if fewer]
    #[arg(long, requires = "dry_run", value_name = "N", help_heading = "Planning")]
    ranks_per_node: Option<usize>,
    #[command(flatten)]
    plan: PlanOptions,
}

/// Runs the command; the run's folder is printed at the end. After a failure what was saved stays. The error of a run that was told to
/// end before its last step is [`Interruption`].
pub(super) fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<()> {
    let parts = if args.dry_run { ModelParts::Description } else { ModelParts::All };
    let run = args.run.read(parts, |run| Ok(resume::recorded_commits(run, &args.resume)?))?;
    let resolved = toml::to_string_pretty(run.written())?;
    if args.dry_run {
        let placement = Placement::from_env()?;
        // All ranks would print the same.
        let out: &mut dyn Write = if placement.rank == 0 { out } else { &mut std::io::sink() };
        return dry_run(args, &run, &resolved, placement.world_size, out);
    }
    run.check_files()?;
    let parse = |text| Deadline::parse(text, SystemTime::now());
    let deadline = args.deadline.as_deref().map(parse).transpose()?;
    let given_memory = args.plan.memory_bytes()?;
    let parallel = &run.config().parallel;
    let (timeout, connect_timeout) = (parallel.timeout(), parallel.connect_timeout());
    let ranks = Ranks::from_env(run.config().model.device, timeout, connect_timeout)?;
    let mut check = None;
    let outcome = out_of_memory::caught(|| {
        announce(&ranks, run.config())?;
        check = admit(&ranks, &run, given_memory)?;
        train_on(&ranks, args, run, &resolved, deadline, out)
    });
    let outcome = outcome.map_err(|error| match &check {
        Some(check) => check.advise(error),
        None => error,
    });
    ranks.conclude(outcome)?.map_or(Ok(()), |interruption| Err(interruption.into()))
}

/// Refuses, on all ranks, a run that needs more memory than there is; the plan's suggested changes are printed first.
fn admit(ranks: &Ranks, run: &Run, given: Option<u64>) -> anyhow::Result<Option<MemoryCheck>> {
    let device = device::resolve_beside(run.config().model.device, ranks.local())?;
    let check = MemoryCheck::new(run, ranks, device, given);
    let admitted = check.as_ref().map_or(Ok(&[][..]), MemoryCheck::admit);
    if let (Err(_), Some(check)) = (&admitted, check.as_ref().filter(|_| ranks.is_first())) {
        eprint!("{}", check.changes());
    }
    let warnings = ranks.agree("whether memory is enough", admitted)?;
    if ranks.is_first() {
        for warning in warnings {
            eprintln!("warning: {warning}");
        }
    }
    Ok(check)
}

/// Prints the resolved configuration, with comments on its consequences.
fn dry_run(
    args: &Args,
    run: &Run,
    resolved: &str,
    started: usize,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    write!(out, "{resolved}")?;
    let warnings = run.warnings().into_iter().map(|warning| format!("warning: {warning}"));
    for line in run.batch_arithmetic().into_iter().chain(warnings) {
        writeln!(out, "# {line}")?;
    }
    run.check_files()?;
    for line in run.describe_data()? {
        writeln!(out, "# {line}")?;
    }
    let ranks = args.ranks.unwrap_or(started);
    let of_node = args.ranks_per_node.unwrap_or(ranks.min(8));
    anyhow::ensure!(
        of_node > 0 && ranks > 0 && ranks.is_multiple_of(of_node),
        "--ranks is {ranks}, expected a multiple of --ranks-per-node = {of_node}"
    );
    let model = sizes_in(&run.config().model.path, &run.written().model.path)?;
    let on_cpu = args.plan.is_on_cpu(run.config().model.device);
    let setup = setup(run, model, on_cpu, |path| sizes_in(path, path))?;
    let setup = setup.with_ranks(ranks / of_node, of_node)?;
    let plan = args.plan.plan(setup, Assumptions::default())?;
    writeln!(out, "#")?;
    for line in plan.to_string().lines() {
        writeln!(out, "{}", format!("# {line}").trim_end())?;
    }
    Ok(())
}

/// Trains on this rank to the last step or until told to end; only the first rank writes to standard output.
fn train_on(
    ranks: &Ranks,
    args: &Args,
    run: Run,
    resolved: &str,
    deadline: Option<Deadline>,
    out: &mut impl Write,
) -> anyhow::Result<Option<Interruption>> {
    let out: &mut dyn Write = if ranks.is_first() { out } else { &mut std::io::sink() };
    let root = run.output_directory();
    let (steps, name) = (run.config().training.steps, run.config().name.clone());
    let warnings = run.warnings();
    let (mut trainer, changes) = begin(ranks, args, run, resolved)?;
    if trainer.is_finished() {
        writeln!(out, "{name}: all {steps} steps are done; see {}", root.display())?;
        return Ok(None);
    }
    if trainer.step() > 0 {
        writeln!(out, "{name}: going on after step {} of {steps}", trainer.step())?;
    }
    for change in &changes {
        writeln!(out, "{name}: goes on with {change}")?;
    }
    out.flush()?;
    let progress = if ranks.is_first() {
        Progress::new(&name, steps, trainer.step())
    } else {
        let log = RunDirectory::open(&root)?.rank_log(ranks.rank())?;
        Progress::logged(&name, steps, &log).with_context(|| log.display().to_string())?
    };
    for warning in warnings.into_iter().chain(trainer.kernel_warning()) {
        progress.say(&format!("warning: {warning}"));
    }
    for note in &trainer.notes {
        progress.say(&format!("note: {note}"));
    }
    let signals = Signals::listen()?;
    let outcome = train(ranks, &mut trainer, &progress, &name, &signals, deadline);
    if let (Err(error), false) = (&outcome, ranks.is_first()) {
        progress.say(&format!("error: {}", one_line(error.as_ref())));
    }
    let interruption = outcome?;
    if let Some(reason) = interruption {
        let (step, root) = (trainer.step(), root.display());
        progress.interrupt();
        writeln!(out, "{name}: {reason} after step {step} of {steps}, which is saved; see {root}")?;
    } else {
        progress.finish();
        writeln!(out, "{name}: {} done; see {}", counted(steps, "step"), root.display())?;
    }
    // Another rank may end first, and a launcher then ends this one.
    out.flush()?;
    Ok(interruption)
}

/// Sets up libtorch for a run, and prints its first line on the first rank.
fn announce(ranks: &Ranks, config: &RunConfig) -> anyhow::Result<()> {
    let model = &config.model;
    device::set_threads(model.threads)?;
    let (place, kind) = device::place(model.device, model.dtype, ranks.local())?;
    if ranks.is_first() {
        device::announce(model.device, place, kind, ranks.count());
    }
    if config.training.repeatable && place.is_cuda() {
        torch_ext::repeat_bits()?;
    }
    Ok(())
}

/// Starts or resumes the run, and records the fields that differ from before.
fn begin(
    ranks: &Ranks,
    args: &Args,
    run: Run,
    resolved: &str,
) -> anyhow::Result<(Trainer, Vec<Change>)> {
    let root = run.output_directory();
    let check = |checkpoint: &Checkpoint| checked(ranks, checkpoint);
    let Start { origin, notes, changes } = resume::origin(&root, resolved, &args.resume, check)?;
    // Before any of them writes: the first rank makes the folder that all look into.
    ranks.same("where the run starts", &start_of(&origin))?;
    ranks.same("which commits of the hub are used", &format!("{:?}", run.commits()))?;
    // At once: what follows may take long, or fail.
    for note in notes.iter().filter(|_| ranks.is_first()) {
        eprintln!("{}: warning: {note}", run.config().name);
    }
    let (save, replay) = (args.save_rollouts.as_deref(), args.replay_rollouts.as_deref());
    let rollouts = RolloutSource::open(run.config(), save, replay)?;
    let started = |run: &Run| create(&root, run, resolved, ranks.count());
    let trainer = Trainer::start(ranks.clone(), run, origin, started)?;
    let recorded =
        if ranks.is_first() { trainer.record_changes(&changes, resolved) } else { Ok(()) };
    ranks.agree("whether the changed configuration is written", recorded)?;
    Ok((trainer.with_rollouts(rollouts), changes))
}

/// Trains to the last step; told to end earlier, it saves a checkpoint first.
fn train(
    ranks: &Ranks,
    trainer: &mut Trainer,
    progress: &Progress,
    name: &str,
    signals: &Signals,
    deadline: Option<Deadline>,
) -> anyhow::Result<Option<Interruption>> {
    let (mut longest_step, mut longest_save) = (0.0_f64, 0.0_f64);
    let enter = |done: u64, phase: &str| {
        ranks.enter(done + 1, phase);
        progress.phase(done, phase);
    };
    if let Some(warning) = trainer.evaluate_at_start(|phase| enter(0, phase))? {
        progress.say(&format!("step 0: {warning}"));
    }
    while !trainer.is_finished() {
        let is_due = deadline.is_some_and(|deadline| {
            deadline.must_stop(SystemTime::now(), longest_step, longest_save)
        });
        if let [true] = ranks.any("whether time is up", [is_due])? {
            trainer.save_now()?;
            return Ok(Some(Interruption::Deadline));
        }
        let began = Instant::now();
        let done = trainer.step();
        let report = trainer.train_step(|phase| enter(done, phase))?;
        let step = report.metrics.step();
        progress.advance(step, &summary(&report));
        for line in report.warnings.iter().chain(&report.note) {
            progress.say(&format!("step {step}: {line}"));
        }
        if let Some(reason) = report.stop {
            trainer.save_now()?;
            anyhow::bail!("{name} stopped after step {step}, which is saved: {reason}");
        }
        // Whichever rank a signal has reached, all go the same way.
        let end = signals.asked_to_end();
        let both = [Interruption::Interrupt, Interruption::Terminate];
        let [interrupt, terminate] = both.map(|by| end == Some(by));
        let asked = [interrupt, terminate, signals.asked_to_save()];
        let [interrupt, terminate, asked_to_save] = ranks.any("signals", asked)?;
        if interrupt || terminate {
            trainer.save_now()?;
            return Ok(Some(both[usize::from(!interrupt)]));
        }
        // Checkpoints that are due are part of a step; one that is not is about as long.
        longest_step = longest_step.max(began.elapsed().as_secs_f64());
        if asked_to_save {
            let began = Instant::now();
            trainer.save_now()?;
            longest_save = longest_save.max(began.elapsed().as_secs_f64());
            progress.say(&format!("step {step} saved, as a signal asked"));
        }
    }
    Ok(None)
}

fn start_of(origin: &Origin) -> String {
    match (origin, origin.checkpoint()) {
        (Origin::Branch(_), Some(from)) => format!("a branch after step {}", from.step),
        (_, Some(from)) => format!("after step {}", from.step),
        (Origin::New, None) => "a new run".to_owned(),
        (_, None) => "a run without a checkpoint".to_owned(),
    }
}

/// Creates the folder of a new run and writes the files that describe the run.
fn create(root: &Path, run: &Run, resolved: &str, ranks: usize) -> anyhow::Result<RunDirectory> {
    let directory = RunDirectory::create(root)?;
    let environment = serde_json::json!({
        "llm_trainer": env!("CARGO_PKG_VERSION"),
        "libtorch": torch_ext::libtorch().built_against,
        "cuda_devices": tch::Cuda::device_count(),
        "threads": tch::get_num_threads(),
        "ranks": ranks,
    });
    directory.write_commits(run.commits())?;
    directory.write_description(resolved, run, &environment)?;
    Ok(directory)
}

fn summary(report: &StepReport) -> String {
    let value = |name: &str| report.metrics.get(name).unwrap_or(f64::NAN);
    format!(
        "reward {:.3}  entropy {:.3} nat  length {:.0}  {:.1} s/step",
        value("critic/rewards/mean"),
        value("actor/entropy"),
        value("response_length/mean"),
        value("timing_s/step"),
    )
}
