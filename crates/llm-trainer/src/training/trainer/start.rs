//! Builds a trainer from a checked configuration: model, data, and the state of a checkpoint.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail, ensure};
use code_sandbox::Sandbox;
use model_files::model_config::ModelConfig;
use question_data::question_order::QuestionOrder;
use training_run::config::{Run, RunConfig};
use training_run::dynamic_sampling::GroupSampler;
use training_run::resume::Origin;
use training_run::run_directory::{Checkpoint, RunDirectory};
use training_run::saved_rollouts::fingerprint;
use whole_file::FolderLock;

use super::checkpoint::{self, Bounds};
use super::policy::{Policy, load_policy};
use super::questions::RunQuestions;
use super::recorder::Recorder;
use super::sampler::{Drawer, Sampler};
use super::{RolloutSource, Trainer};
use crate::training::engine::ExternalEngine;
use crate::training::environment::Environment;
use crate::training::judge::{Judge, ResponseText};
use crate::training::sample::GroupBounds;
use crate::training::trainer_state::TrainerState;
use decoder::routes::RouteShape;
use ranks::{DeviceMesh, Ranks};

impl Trainer {
    /// Starts at `origin`. `create` makes the folder of a new run after all other checks have passed. Every rank calls it; the
    /// first makes the folder and writes to it.
    ///
    /// # Errors
    ///
    /// If the model, the data or the run directory cannot be used; each error names file, field and the expected value.
    pub fn start(
        ranks: Ranks,
        run: Run,
        origin: Origin,
        create: impl FnOnce(&Run) -> anyhow::Result<RunDirectory>,
    ) -> anyhow::Result<Self> {
        let run = Arc::new(run);
        let config = run.config();
        let ranks = ranks.overlapping(config.parallel.overlap);
        let mesh = DeviceMesh::new(&ranks, config.parallel.tensor)?;
        ranks::device::set_threads(config.model.threads)?;
        let (device, kind) =
            ranks::device::place(config.model.device, config.model.dtype, ranks.local())?;
        let text = ResponseText::load(config)?;
        check_same_model(config, origin.checkpoint())?;
        let questions = RunQuestions::load(config, &text.tokenizer)?;
        let judge = Judge::start(config, text)?;
        let of_sandbox = judge.sandbox.iter().flat_map(Sandbox::notes);
        let notes = questions.notes.iter().chain(of_sandbox).cloned().collect();

        let resumed = origin.checkpoint().cloned();
        let saved = resumed.as_ref().map(|checkpoint| checkpoint.path.as_path());
        let model = load_policy(config, saved, device, kind, &mesh.tensor)?;
        let (vocab_size, routes) = (model.config().vocab_size, RouteShape::of(model.config()));
        judge.text.tokenizer.check_vocabulary(vocab_size)?;
        check_stop_ids(config, vocab_size)?;
        let mut policy = Policy::over(model, &run, &mesh)?;
        let (prompts, group_size) = (questions.questions.prompts.len(), config.rollout.group_size);
        let is_branch = matches!(origin, Origin::Branch(_));
        let asked_per_step = (!is_branch).then(|| run.most_prompts_asked());
        let groups = GroupBounds { questions: prompts, group_size, vocab_size, routes };
        let bounds = Bounds { groups, asked_per_step, ahead: config.rollout.staleness };
        let (state, waiting) = match saved {
            None => (TrainerState::default(), GroupSampler::default()),
            Some(saved) => checkpoint::restore(saved, &mut policy.optimizer, bounds)?,
        };
        check_step(&state, resumed.as_ref())?;
        let mut state = state.with_controllers(&config.algorithm)?;
        policy.shard_blocks();
        policy.start_reward_model(saved, &mut state)?;

        let environment = Environment::start(config, &judge.text, policy.model.config())?;
        let locked = open_directory(&ranks, &run, || directory_of(origin, || create(&run)))?;
        let recorder = Recorder::begin(&run, locked, resumed.is_some(), state.step)?;
        let (root, all) = (recorder.directory.root(), &questions.questions.prompts);
        let drawer = Drawer {
            environment,
            engine: ExternalEngine::connect(config, root, vocab_size, all)?,
            run: Arc::clone(&run),
            questions,
            judge,
        };
        let sampler = Sampler {
            drawer: Arc::new(drawer),
            order: QuestionOrder::new(config.seed, prompts, state.cursor),
            mesh: mesh.clone(),
            waiting,
            ahead: VecDeque::new(),
            source: RolloutSource::default(),
        };
        let custom_loss = None;
        let trainer = Self { run, mesh, policy, sampler, recorder, state, custom_loss, notes };
        if is_branch {
            // A branch that is killed before its next checkpoint must not start at step 0.
            trainer.save_checkpoint()?;
        }
        Ok(trainer)
    }
}

/// Opens the folder of the run; the first rank creates and locks it for all.
fn open_directory(
    ranks: &Ranks,
    run: &Run,
    make: impl FnOnce() -> anyhow::Result<RunDirectory>,
) -> anyhow::Result<(RunDirectory, Option<FolderLock>)> {
    const WHAT: &str = "whether the run's folder is made";
    let root = run.output_directory();
    if ranks.is_first() {
        let locked = || {
            let lock = RunDirectory::lock(&root)?;
            anyhow::Ok((make()?, Some(lock)))
        };
        return ranks.agree(WHAT, locked());
    }
    ranks.agree(WHAT, anyhow::Ok(()))?;
    Ok((RunDirectory::open(&root)?, None))
}

/// The folder of the run. A branch gets the metrics of the run that led to its checkpoint.
fn directory_of(
    origin: Origin,
    create: impl FnOnce() -> anyhow::Result<RunDirectory>,
) -> anyhow::Result<RunDirectory> {
    Ok(match origin {
        Origin::New => create()?,
        Origin::GoOn(directory, checkpoint) => {
            directory.check_latest(checkpoint.as_ref())?;
            directory
        }
        Origin::Rewind(directory, checkpoint) => {
            directory.point_latest_at(checkpoint.step)?;
            directory
        }
        Origin::Branch(checkpoint) => {
            let directory = create()?;
            let run_of = checkpoint.path.parent().and_then(Path::parent);
            let history = run_of.map(|root| root.join("metrics.jsonl"));
            if let Some(history) = history.filter(|history| history.is_file()) {
                std::fs::copy(&history, directory.metrics())
                    .with_context(|| history.display().to_string())?;
            }
            directory
        }
    })
}

/// Refuses a checkpoint of another model than the run's: with another tokenizer its tokens would mean other texts.
fn check_same_model(config: &RunConfig, checkpoint: Option<&Checkpoint>) -> anyhow::Result<()> {
    let Some(checkpoint) = checkpoint else { return Ok(()) };
    let both = |name| [&config.model.path, &checkpoint.path].map(|folder| folder.join(name));
    let [used, saved] = both("tokenizer.json");
    let differs = saved.exists()
        && fingerprint(std::slice::from_ref(&used))? != fingerprint(std::slice::from_ref(&saved))?;
    let (used, saved) = (used.display(), saved.display());
    ensure!(!differs, "{saved}: is another tokenizer than {used}, expected the same");
    let [used, saved] = both("config.json");
    // An adapter has none.
    let differs = saved.exists() && ModelConfig::read(&used)? != ModelConfig::read(&saved)?;
    let (used, saved) = (used.display(), saved.display());
    ensure!(!differs, "{saved}: describes another model than {used}, expected the same");
    Ok(())
}

/// Refuses a state of another step than its folder's, as a file that was copied from another checkpoint.
fn check_step(state: &TrainerState, checkpoint: Option<&Checkpoint>) -> anyhow::Result<()> {
    let Some(Checkpoint { step: expected, path }) = checkpoint else { return Ok(()) };
    let (step, folder) = (state.step, path.display());
    ensure!(
        step == *expected,
        "{folder}: the trainer's state is of step {step}, expected {expected} as in the name of the folder"
    );
    Ok(())
}

/// Rejects stop token ids outside the model's vocabulary.
fn check_stop_ids(config: &RunConfig, vocab_size: usize) -> anyhow::Result<()> {
    if let Some(id) = config.rollout.stop_token_ids.iter().find(|id| **id as usize >= vocab_size) {
        bail!("rollout.stop_token_ids holds {id}, expected ids below vocab_size = {vocab_size}");
    }
    Ok(())
}
