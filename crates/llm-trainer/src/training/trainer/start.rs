//! From a checked configuration to a trainer: model, data, and whatever a checkpoint holds.

use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail};
use tch::{Device, Kind};
use trainer_core::code_tasks::{Helper, Sandbox};
use trainer_core::config::{RolloutEngine, Run, RunConfig};
use trainer_core::counter_rng::{Purpose, purpose_seed};
use trainer_core::dynamic_sampling::GroupSampler;
use trainer_core::metrics::{MetricsWriter, StepMetrics, read_metrics};
use trainer_core::question_order::QuestionOrder;
use trainer_core::resume::Origin;
use trainer_core::run_directory::RunDirectory;
use trainer_core::run_law::RunLaw;
use trainer_core::stop_strings::StopStrings;
use trainer_core::tensorboard::EventWriter;
use trainer_core::text_tokenizer::TextTokenizer;

use super::questions::Asked;
use super::{RolloutSource, Trainer};
use crate::host_memory::Memory;
use crate::model::Decoder;
use crate::ranks::{Grid, Ranks};
use crate::training::adamw::AdamW;
use crate::training::adapter::adapted;
use crate::training::checkpoint::{self, Bounds, TrainerState};
use crate::training::external::ExternalEngine;
use crate::training::reward_model::RewardModel;

impl Trainer {
    /// Starts at `origin`; `create` makes the folder of a new run once nothing else can be wrong. On every rank; the first
    /// makes the folder and writes to it.
    ///
    /// # Errors
    ///
    /// If the model, the data or the run directory cannot be used; each names file, field and what was expected.
    pub fn start(
        ranks: Ranks,
        run: Run,
        origin: Origin,
        create: impl FnOnce(&Run) -> anyhow::Result<RunDirectory>,
    ) -> anyhow::Result<Self> {
        let config = run.config();
        let ranks = ranks.overlapping(config.parallel.overlap);
        let grid = Grid::new(&ranks, config.parallel.tensor)?;
        crate::device::set_threads(config.model.threads)?;
        let (device, kind) = crate::device::place(&config.model, ranks.local())?;
        let tokenizer = TextTokenizer::load(&config.model.path)?;
        let mut stop_ids = tokenizer.eos_ids(&config.model.path)?;
        stop_ids.extend(&config.rollout.stop_token_ids);
        let (special, stop_strings) = StopStrings::split(&tokenizer, &config.rollout.stop)?;
        stop_ids.extend(special);
        let Asked { questions, held_out, mut notes } = Asked::load(config, &tokenizer)?;
        let sandbox = start_sandbox(config)?;
        notes.extend(sandbox.iter().flat_map(Sandbox::notes).cloned());
        let judges = rayon::ThreadPoolBuilder::new().num_threads(config.reward.threads).build()?;

        let resumed = origin.checkpoint().cloned();
        let saved = resumed.as_ref().map(|checkpoint| checkpoint.path.as_path());
        let model = load_policy(config, saved, (device, kind), &grid.tensor)?;
        let vocab_size = model.config().vocab_size;
        tokenizer.check_vocabulary(vocab_size)?;
        check_stop_ids(config, vocab_size)?;
        model.set_trainable(true);
        let reference = match (config.algorithm.reference_kl, &config.lora) {
            (None, _) => None,
            // The model beneath the adapter never moves.
            (Some(_), Some(_)) => Some(model.base()),
            (Some(_), None) => {
                Some(Decoder::load_part(&config.model.path, device, kind, &grid.tensor)?)
            }
        };
        let mut optimizer = fresh_optimizer(config, &model, &grid.data);
        let (state, sampler) = match &resumed {
            None => (TrainerState::default(), GroupSampler::default()),
            Some(checkpoint) => {
                let bounds = Bounds {
                    questions: questions.prompts.len(),
                    group_size: config.rollout.group_size,
                    vocab_size: model.config().vocab_size,
                };
                checkpoint::restore(&checkpoint.path, &mut optimizer, bounds)?
            }
        };
        let mut state = state.with_controllers(&config.algorithm)?;
        // What the policy keeps frozen need not be in memory twice, unless it is cut over the ranks.
        let cuts_blocks = grid.data.count() > 1 && config.parallel.zero.shards_parameters();
        let base = config.lora.as_ref().map(|_| model.base());
        let is_whole = !cuts_blocks && model.group().is_none();
        let frozen = base.as_ref().or(reference.as_ref()).filter(|_| is_whole);
        let in_memory: Vec<_> =
            frozen.map(|frozen| (config.model.path.as_path(), frozen)).into_iter().collect();
        let learnt = saved.filter(|_| state.reward_model_updates > 0);
        let reward_model =
            RewardModel::start(&run, learnt, (device, kind), vocab_size, &in_memory)?;
        if !reward_model.as_ref().is_some_and(RewardModel::learns) {
            state.reward_model_updates = 0;
        }
        let (mut model, mut reference) = (model, reference);
        cut_blocks(config, &grid.data, (&mut model, &mut optimizer), reference.as_mut());
        let is_branch = matches!(origin, Origin::Branch(_));
        let directory = if ranks.is_first() {
            let made = directory_of(origin, || create(&run));
            ranks.agree("whether the run's folder is made", made)?
        } else {
            ranks.agree("whether the run's folder is made", anyhow::Ok(()))?;
            RunDirectory::open(&run.output_directory())?
        };
        let done = (resumed.is_some(), state.step);
        let (metrics, events, law) = begin_files(&ranks, &directory, config, done)?;
        let engine = reach_engine(config, &ranks, &directory)?;
        let order = QuestionOrder::new(config.seed, questions.prompts.len(), state.cursor);
        let trainer = Self {
            ranks,
            grid,
            directory,
            model,
            reference,
            reward_model,
            tokenizer,
            stop_ids,
            stop_strings: stop_strings.map(Arc::new),
            kinds: config.reward.kinds(),
            sandbox,
            judges,
            rollouts: RolloutSource::default(),
            own_reward: None,
            engine,
            notes,
            optimizer,
            schedule: run.schedule(),
            questions,
            held_out,
            order,
            metrics,
            events,
            state,
            sampler,
            law,
            run,
        };
        if is_branch {
            // Cut off before its next checkpoint, it must not begin at step 0.
            trainer.save_checkpoint()?;
        }
        Ok(trainer)
    }
}

/// Where programs of responses are run, if any are.
pub(super) fn start_sandbox(config: &RunConfig) -> anyhow::Result<Option<Sandbox>> {
    if !config.reward.kinds().run_programs() {
        return Ok(None);
    }
    Ok(Some(Sandbox::start(&config.reward.code, Helper::find()?)?))
}

/// What samples in place of the policy, if anything does.
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

/// Refuses ids that end a response and are none of the model's.
fn check_stop_ids(config: &RunConfig, vocab_size: usize) -> anyhow::Result<()> {
    match config.rollout.stop_token_ids.iter().find(|id| **id as usize >= vocab_size) {
        Some(id) => {
            bail!("rollout.stop_token_ids holds {id}, expected ids below vocab_size = {vocab_size}")
        }
        None => Ok(()),
    }
}

fn fresh_optimizer(config: &RunConfig, model: &Decoder, ranks: &Ranks) -> AdamW {
    let memory = Memory::offloaded(config.parallel.offload_optimizer);
    if ranks.count() > 1 && config.parallel.zero.shards_optimizer() {
        AdamW::sharded(memory, model, &config.optimizer, config.seed, ranks)
    } else {
        AdamW::new_in(memory, model, &config.optimizer, config.seed)
    }
}

/// Leaves each rank its part of the blocks and their gradients alone, as configured.
fn cut_blocks(
    config: &RunConfig,
    ranks: &Ranks,
    (model, optimizer): (&mut Decoder, &mut AdamW),
    reference: Option<&mut Decoder>,
) {
    let zero = config.parallel.zero;
    if ranks.count() == 1 || !zero.shards_gradients() {
        return;
    }
    model.shard_gradients(ranks);
    if zero.shards_parameters() {
        let is_base = model.has_adapter();
        // Beneath an adapter the optimiser holds none of the weights.
        model.shard_blocks(ranks, |unit| optimizer.shard_of_unit(unit).filter(|_| !is_base));
        match reference {
            Some(reference) if is_base => *reference = model.base(),
            Some(reference) => reference.shard_blocks(ranks, |_| None),
            None => {}
        }
    }
    optimizer.hold_blocks(model);
}

/// The files of metrics and samples from `step` on, and the law of the steps in them; on the first rank.
fn begin_files(
    ranks: &Ranks,
    directory: &RunDirectory,
    config: &RunConfig,
    (is_resumed, step): (bool, u64),
) -> anyhow::Result<(Option<MetricsWriter>, Option<EventWriter>, RunLaw)> {
    if !ranks.is_first() {
        return Ok((None, None, RunLaw::default()));
    }
    let (file, history) = begin_metrics(directory, is_resumed, step)?;
    directory.forget_samples_after(step)?;
    let events = begin_events(directory, config, &history)?;
    Ok((Some(file), events, RunLaw::of(&history)))
}

/// The file of metrics from `step` on, and the steps that are in it.
fn begin_metrics(
    directory: &RunDirectory,
    is_resumed: bool,
    step: u64,
) -> anyhow::Result<(MetricsWriter, Vec<StepMetrics>)> {
    let path = directory.metrics();
    if is_resumed && path.exists() {
        let file = MetricsWriter::resume(&path, step)?;
        return Ok((file, read_metrics(&path)?));
    }
    // A run that was cut off before its first checkpoint begins again.
    if path.exists() {
        std::fs::remove_file(&path).with_context(|| path.display().to_string())?;
    }
    Ok((MetricsWriter::create(&path)?, Vec::new()))
}

/// The event files from the same step on, where they are wanted.
fn begin_events(
    directory: &RunDirectory,
    config: &RunConfig,
    history: &[StepMetrics],
) -> anyhow::Result<Option<EventWriter>> {
    if !config.metrics.tensorboard {
        return Ok(None);
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    Ok(Some(EventWriter::begin(&directory.events(), &[], history, now)?))
}

/// The folder that the run goes on in; a branch has the metrics of what led to its checkpoint.
fn directory_of(
    origin: Origin,
    create: impl FnOnce() -> anyhow::Result<RunDirectory>,
) -> anyhow::Result<RunDirectory> {
    match origin {
        Origin::New => create(),
        Origin::GoOn(directory, _) => Ok(directory),
        Origin::Rewind(directory, checkpoint) => {
            directory.point_latest_at(checkpoint.step)?;
            Ok(directory)
        }
        Origin::Branch(checkpoint) => {
            let directory = create()?;
            let run_of = checkpoint.path.parent().and_then(Path::parent);
            let history = run_of.map(|root| root.join("metrics.jsonl"));
            if let Some(history) = history.filter(|history| history.is_file()) {
                std::fs::copy(&history, directory.metrics())
                    .with_context(|| history.display().to_string())?;
            }
            Ok(directory)
        }
    }
}

/// The policy, of which each rank of `together` holds a part: what `saved` holds, else the model of the configuration, with a fresh adapter where it asks for one.
fn load_policy(
    config: &RunConfig,
    saved: Option<&Path>,
    (device, kind): (Device, Kind),
    together: &Ranks,
) -> anyhow::Result<Decoder> {
    let Some(lora) = &config.lora else {
        let path = saved.unwrap_or(&config.model.path);
        return Ok(Decoder::load_part(path, device, kind, together)?);
    };
    let model = Decoder::load_part(&config.model.path, device, kind, together)?;
    adapted(model, lora, saved, purpose_seed(config.seed, Purpose::Adapter))
}
