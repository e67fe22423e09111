//! Loads the models of a run and their optimisers, when a run starts or resumes.

use std::path::Path;
use std::sync::Arc;

use anyhow::ensure;
use counter_rng::{Purpose, purpose_seed};
use model_files::text_tokenizer::TextTokenizer;
use tch::{Device, Kind};
use training_run::config::{Run, RunConfig};

use super::policy::Policy;
use crate::host_memory::Memory;
use crate::training::adamw::AdamW;
use crate::training::adapter::adapted;
use crate::training::reward_model::RewardModel;
use crate::training::trainer_state::TrainerState;
use decoder::model::Decoder;
use ranks::{DeviceMesh, Ranks};

impl Policy {
    /// The policy `model`, with its reference and a fresh optimiser; no reward model yet.
    pub(super) fn over(model: Decoder, run: &Arc<Run>, mesh: &DeviceMesh) -> anyhow::Result<Self> {
        let config = run.config();
        model.set_trainable(true);
        let reference = match (config.algorithm.reference_kl, is_base(config)) {
            (None, _) => None,
            (Some(_), true) => Some(model.base()),
            (Some(_), false) => Some(load_reference(config, &model, &mesh.tensor)?),
        };
        Ok(Self {
            run: Arc::clone(run),
            ranks: mesh.data.clone(),
            optimizer: fresh_optimizer(config, &model, &mesh.data),
            schedule: run.schedule(),
            model,
            reference,
            reward_model: None,
        })
    }

    /// Starts the reward model that the run configures, restored from `saved` if it has learnt before.
    pub(super) fn start_reward_model(
        &mut self,
        saved: Option<&Path>,
        state: &mut TrainerState,
    ) -> anyhow::Result<()> {
        let (config, model) = (self.run.config(), &self.model);
        // A model that the policy keeps frozen need not be in memory twice.
        let base = config.lora.as_ref().map(|_| model.base());
        let base = base.as_ref().map(|base| (config.model.path.as_path(), base));
        let reference = self.reference.as_ref();
        let reference = reference.map(|reference| (config.model.reference_path(), reference));
        let in_memory: Vec<_> = base.into_iter().chain(reference).collect();
        let learnt = saved.filter(|_| state.reward_model_updates > 0);
        let (device, kind, vocab_size) = (model.device(), model.kind(), model.config().vocab_size);
        let started = RewardModel::start(&self.run, learnt, device, kind, vocab_size, &in_memory)?;
        self.reward_model = started;
        if !self.reward_model.as_ref().is_some_and(RewardModel::learns) {
            state.reward_model_updates = 0;
        }
        Ok(())
    }

    /// Shards the blocks and their gradients over the ranks, as configured.
    pub(super) fn shard_blocks(&mut self) {
        let config = self.run.config();
        let (zero, is_base) = (config.parallel.zero, is_base(config));
        let Self { ranks, model, optimizer, reference, .. } = self;
        if ranks.count() == 1 || !zero.shards_gradients() {
            return;
        }
        model.shard_gradients(ranks);
        if zero.shards_parameters() {
            model.shard_blocks(ranks, |unit| optimizer.shard_of_unit(unit));
            match reference {
                Some(reference) if is_base => *reference = model.base(),
                Some(reference) => reference.shard_blocks(ranks, |_| None),
                None => {}
            }
        }
        optimizer.hold_blocks(model);
    }
}

/// True if the reference is the model below the policy's adapter, which never changes.
fn is_base(config: &RunConfig) -> bool {
    config.lora.is_some() && config.model.reference_path() == config.model.path
}

/// Loads the reference, which scores the tokens of `policy`.
fn load_reference(
    config: &RunConfig,
    policy: &Decoder,
    together: &Ranks,
) -> anyhow::Result<Decoder> {
    let path = config.model.reference_path();
    if path != config.model.path {
        let [tokens, of_policy] = [path, &config.model.path]
            .map(TextTokenizer::load)
            .map(|read| read.map(|it| it.tokens()));
        ensure!(
            tokens? == of_policy?,
            "model.reference is {}: it has other tokens than {}, expected the same",
            path.display(),
            config.model.path.display()
        );
    }
    let reference = Decoder::load_sharded(path, policy.device(), policy.kind(), together)?;
    let (size, expected) = (reference.config().vocab_size, policy.config().vocab_size);
    ensure!(
        size >= expected,
        "model.reference: vocab_size is {size}, expected at least {expected}, the policy's"
    );
    Ok(reference)
}

/// Loads the model of `saved`, or that of the configuration with a fresh adapter if it has one. The model is split over the
/// tensor-parallel ranks `together`.
pub(super) fn load_policy(
    config: &RunConfig,
    saved: Option<&Path>,
    device: Device,
    kind: Kind,
    together: &Ranks,
) -> anyhow::Result<Decoder> {
    let Some(lora) = &config.lora else {
        let path = saved.unwrap_or(&config.model.path);
        return Ok(Decoder::load_sharded(path, device, kind, together)?);
    };
    let model = Decoder::load_sharded(&config.model.path, device, kind, together)?;
    adapted(model, lora, saved, purpose_seed(config.seed, Purpose::Adapter))
}

fn fresh_optimizer(config: &RunConfig, model: &Decoder, ranks: &Ranks) -> AdamW {
    let memory = Memory::offloaded(config.parallel.offload_optimizer);
    if ranks.count() > 1 && config.parallel.zero.shards_optimizer() {
        AdamW::sharded(memory, model, &config.optimizer, config.seed, ranks)
    } else {
        AdamW::new_in(memory, model, &config.optimizer, config.seed)
    }
}
