//! From a checked configuration to a trainer: model, data, and whatever a checkpoint holds.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail};
use tch::{Device, Kind};
use trainer_core::config::{Dtype, Run, RunConfig};
use trainer_core::counter_rng::{Purpose, purpose_seed};
use trainer_core::dynamic_sampling::GroupSampler;
use trainer_core::metrics::{MetricsWriter, read_metrics};
use trainer_core::question_order::QuestionOrder;
use trainer_core::run_directory::RunDirectory;
use trainer_core::stop_strings::StopStrings;
use trainer_core::text_tokenizer::TextTokenizer;

use super::questions::Asked;
use super::{RolloutSource, Trainer};
use crate::model::Decoder;
use crate::training::adamw::AdamW;
use crate::training::checkpoint::{self, TrainerState};
use crate::training::measurement::law_of_history;

impl Trainer {
    /// Starts a new run in the folder that `create` makes once nothing else can be wrong, or goes on with the one
    /// `begun` before after its latest checkpoint.
    ///
    /// # Errors
    ///
    /// If the model, the data or the run directory cannot be used; each names file, field and what was expected.
    pub fn start(
        run: Run,
        begun: Option<RunDirectory>,
        create: impl FnOnce(&Run) -> anyhow::Result<RunDirectory>,
    ) -> anyhow::Result<Self> {
        let config = run.config();
        crate::device::set_threads(config.model.threads)?;
        let device = crate::device::resolve(config.model.device)?;
        let kind = match config.model.dtype {
            Dtype::F32 => Kind::Float,
            Dtype::Bf16 => Kind::BFloat16,
        };
        let tokenizer = TextTokenizer::load(&config.model.path)?;
        let mut stop_ids = tokenizer.eos_ids(&config.model.path)?;
        stop_ids.extend(&config.rollout.stop_token_ids);
        let (special, stop_strings) = StopStrings::split(&tokenizer, &config.rollout.stop)?;
        stop_ids.extend(special);
        let Asked { questions, held_out, notes } = Asked::load(config, &tokenizer)?;
        let judges = rayon::ThreadPoolBuilder::new().num_threads(config.reward.threads).build()?;

        let resumed = match &begun {
            Some(directory) => directory.latest_checkpoint()?,
            None => None,
        };
        let saved = resumed.as_ref().map(|checkpoint| checkpoint.path.as_path());
        let model = load_policy(config, saved, (device, kind))?;
        let vocab_size = model.config().vocab_size;
        tokenizer.check_vocabulary(vocab_size)?;
        if let Some(id) =
            config.rollout.stop_token_ids.iter().find(|id| **id as usize >= vocab_size)
        {
            bail!(
                "rollout.stop_token_ids holds {id}, expected ids below vocab_size = {vocab_size}"
            );
        }
        model.set_trainable(true);
        let reference = match (config.algorithm.reference_kl, &config.lora) {
            (None, _) => None,
            // The model beneath the adapter never moves.
            (Some(_), Some(_)) => Some(model.base()),
            (Some(_), None) => Some(Decoder::load(&config.model.path, device, kind)?),
        };
        let mut optimizer = AdamW::new(&model, &config.optimizer, config.seed);
        let directory = match begun {
            Some(directory) => directory,
            None => create(&run)?,
        };
        let mut sampler = GroupSampler::default();
        let (state, metrics, history) = match &resumed {
            None => {
                // A run that was cut off before its first checkpoint begins again.
                let metrics = directory.metrics();
                if metrics.exists() {
                    std::fs::remove_file(&metrics)
                        .with_context(|| metrics.display().to_string())?;
                }
                (TrainerState::default(), MetricsWriter::create(&metrics)?, Vec::new())
            }
            Some(checkpoint) => {
                let state;
                (state, sampler) = checkpoint::restore(&checkpoint.path, &mut optimizer)?;
                let metrics = MetricsWriter::resume(&directory.metrics(), state.step)?;
                (state, metrics, law_of_history(&read_metrics(&directory.metrics())?))
            }
        };
        let state = state.with_controllers(&config.algorithm)?;
        let order = QuestionOrder::new(config.seed, questions.prompts.len(), state.cursor);
        Ok(Self {
            directory,
            model,
            reference,
            tokenizer,
            stop_ids,
            stop_strings: stop_strings.map(Arc::new),
            kinds: config.reward.kinds(),
            judges,
            rollouts: RolloutSource::default(),
            notes,
            optimizer,
            schedule: run.schedule(),
            questions,
            held_out,
            order,
            metrics,
            state,
            sampler,
            history,
            run,
        })
    }
}

/// The policy: what `saved` holds, else the model of the configuration, with a fresh adapter where it asks for one.
fn load_policy(
    config: &RunConfig,
    saved: Option<&Path>,
    (device, kind): (Device, Kind),
) -> anyhow::Result<Decoder> {
    let Some(lora) = &config.lora else {
        return Ok(Decoder::load(saved.unwrap_or(&config.model.path), device, kind)?);
    };
    let mut model = Decoder::load(&config.model.path, device, kind)?;
    let Some(saved) = saved else {
        model.add_adapter(lora, purpose_seed(config.seed, Purpose::Adapter));
        return Ok(model);
    };
    model.load_adapter(saved)?;
    let found = model.adapter_settings();
    let mut expected = lora.clone();
    expected.targets.sort_unstable();
    anyhow::ensure!(
        found == Some(&expected),
        "{}: holds the adapter {found:?}, expected {expected:?} by [lora]",
        saved.display()
    );
    Ok(model)
}
