//! Builds a trainer from a checked configuration: model, data, and the state of a checkpoint.

use std::rc::Rc;

use anyhow::bail;
use question_data::question_order::QuestionOrder;
use training_run::config::{RolloutEngine, Run, RunConfig};
use training_run::dynamic_sampling::GroupSampler;
use training_run::resume::Origin;
use training_run::run_directory::RunDirectory;

use super::begin_files::directory_of;
use super::load_policy::load_policy;
use super::policy::Policy;
use super::questions::RunQuestions;
use super::recorder::Recorder;
use super::response_text::ResponseText;
use super::rewarder::Rewarder;
use super::sampler::Sampler;
use super::{RolloutSource, Trainer};
use crate::training::checkpoint::{self, Bounds};
use crate::training::external::ExternalEngine;
use crate::training::trainer_state::TrainerState;
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
        let run = Rc::new(run);
        let config = run.config();
        let ranks = ranks.overlapping(config.parallel.overlap);
        let mesh = DeviceMesh::new(&ranks, config.parallel.tensor)?;
        ranks::device::set_threads(config.model.threads)?;
        let (device, kind) =
            ranks::device::place(config.model.device, config.model.dtype, ranks.local())?;
        let text = ResponseText::load(config)?;
        let questions = RunQuestions::load(config, &text.tokenizer)?;
        let rewarder = Rewarder::start(config, text)?;
        let notes = questions.notes.iter().chain(rewarder.notes()).cloned().collect();

        let resumed = origin.checkpoint().cloned();
        let saved = resumed.as_ref().map(|checkpoint| checkpoint.path.as_path());
        let model = load_policy(config, saved, device, kind, &mesh.tensor)?;
        let vocab_size = model.config().vocab_size;
        rewarder.text.tokenizer.check_vocabulary(vocab_size)?;
        check_stop_ids(config, vocab_size)?;
        let mut policy = Policy::over(model, &run, &mesh)?;
        let (prompts, group_size) = (questions.questions.prompts.len(), config.rollout.group_size);
        let bounds = Bounds { questions: prompts, group_size, vocab_size };
        let (state, waiting) = match saved {
            None => (TrainerState::default(), GroupSampler::default()),
            Some(saved) => checkpoint::restore(saved, &mut policy.optimizer, bounds)?,
        };
        let mut state = state.with_controllers(&config.algorithm)?;
        policy.start_reward_model(saved, &mut state)?;
        policy.shard_blocks();

        let is_branch = matches!(origin, Origin::Branch(_));
        let directory = open_directory(&ranks, &run, || directory_of(origin, || create(&run)))?;
        let (is_first, is_resumed) = (ranks.is_first(), resumed.is_some());
        let recorder = Recorder::begin(&run, directory, is_first, is_resumed, state.step)?;
        let sampler = Sampler {
            engine: reach_engine(config, &ranks, &recorder.directory)?,
            order: QuestionOrder::new(config.seed, prompts, state.cursor),
            run: Rc::clone(&run),
            mesh: mesh.clone(),
            questions,
            waiting,
            rewarder,
            source: RolloutSource::default(),
        };
        let trainer = Self { run, mesh, policy, sampler, recorder, state, notes };
        if is_branch {
            // A branch that is killed before its next checkpoint must not start at step 0.
            trainer.save_checkpoint()?;
        }
        Ok(trainer)
    }
}

/// Opens the folder of the run; the first rank creates it for all.
fn open_directory(
    ranks: &Ranks,
    run: &Run,
    make: impl FnOnce() -> anyhow::Result<RunDirectory>,
) -> anyhow::Result<RunDirectory> {
    const WHAT: &str = "whether the run's folder is made";
    if ranks.is_first() {
        return ranks.agree(WHAT, make());
    }
    ranks.agree(WHAT, anyhow::Ok(()))?;
    Ok(RunDirectory::open(&run.output_directory())?)
}

/// Connects to the engine that samples in place of the policy, if one is configured.
fn reach_engine(
    config: &RunConfig,
    ranks: &Ranks,
    directory: &RunDirectory,
) -> anyhow::Result<Option<ExternalEngine>> {
    let RolloutEngine::Openai(settings) = &config.rollout.engine else { return Ok(None) };
    if ranks.count() > 1 {
        bail!("rollout.engine is \"openai\", expected \"own\" with several processes");
    }
    Ok(Some(ExternalEngine::connect(settings, directory.root())?))
}

/// Rejects stop token ids outside the model's vocabulary.
fn check_stop_ids(config: &RunConfig, vocab_size: usize) -> anyhow::Result<()> {
    match config.rollout.stop_token_ids.iter().find(|id| **id as usize >= vocab_size) {
        Some(id) => {
            bail!("rollout.stop_token_ids holds {id}, expected ids below vocab_size = {vocab_size}")
        }
        None => Ok(()),
    }
}
