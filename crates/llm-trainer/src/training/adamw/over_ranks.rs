//! Steps by the gradients of all ranks, with the state on each rank or [sharded](super::sharding) over them.

use tch::{Kind, Tensor};
use torch_ext::{TorchError, size};
use training_run::config::{MasterWeights, OptimizerSection};

use super::saved::{Place, file_name};
use super::sharding::{Sharding, UnitShard, pieces, units, views};
use super::{AdamW, StepOutcome, Stepped};
use crate::host_memory::Memory;
use crate::training::split_weight::is_narrow;
use decoder::model::Decoder;
use ranks::{DeviceMesh, RankError, Ranks};

impl AdamW {
    /// Fresh state for this rank's shards of the trained parameters of `model`. With `memory` on the host, gradient shards are
    /// copied there, and updated parameters back.
    pub(crate) fn sharded(
        memory: Memory,
        model: &Decoder,
        options: &OptimizerSection,
        seed: u64,
        ranks: &Ranks,
    ) -> Self {
        let trained = model.trained_parameters().into_iter();
        let (names, parameters): (Vec<String>, Vec<Tensor>) =
            trained.map(|(name, parameter)| (name, parameter.shallow_clone())).unzip();
        let placement = model.placement();
        let (mut shards, mut stepped) = (Vec::new(), Vec::new());
        for unit in units(&names) {
            let of_unit = &parameters[unit.clone()];
            let shard = ranks.local_shard(of_unit);
            // With f32 master weights, a narrow shard is kept only as f32; otherwise it is kept as it is.
            let is_widened = is_narrow(&shard) && options.master == MasterWeights::F32;
            let shard = if is_widened { shard.to_kind(Kind::Float) } else { shard };
            let shard = memory.settle(&shard);
            let sizes: Vec<i64> = of_unit.iter().map(|tensor| size(tensor.numel())).collect();
            let pieces = pieces(&sizes, ranks.rank(), ranks.count());
            let lengths: Vec<i64> = pieces.iter().map(|piece| piece.length).collect();
            for (piece, part) in pieces.iter().zip(views(&shard, &lengths)) {
                let (name, parameter) =
                    (&names[unit.start + piece.parameter], &of_unit[piece.parameter]);
                let place = Place::of(&placement, name, parameter.size());
                stepped.push((Place { run: Some(piece.start), ..place }, part.detach()));
            }
            let of_model = model.unit_of(&names[unit.start]);
            shards.push(UnitShard { parameters: unit, of_model, lengths, shard });
        }
        let state = Self::of_placed(Memory::Device, placement, stepped, options, seed);
        let sharding = Sharding { ranks: ranks.clone(), parameters, units: shards, memory };
        Self { sharding: Some(Box::new(sharding)), ..state }
    }

    /// The stepped values of this rank's shard of a unit of the model, `[elements]`. `None` unless they have the parameters'
    /// kind and are on the device.
    pub(crate) fn shard_of_unit(&self, unit: usize) -> Option<Tensor> {
        let Sharding { units, parameters, memory, .. } = &**self.sharding.as_ref()?;
        let UnitShard { parameters: indices, shard, .. } =
            units.iter().find(|other| other.of_model == Some(unit))?;
        let is_stored = shard.kind() == parameters[indices.start].kind();
        (is_stored && !memory.is_host()).then(|| shard.shallow_clone())
    }

    /// Uses the model's own block gradients and block shards, where `model` shards its blocks.
    pub(crate) fn hold_blocks(&mut self, model: &Decoder) {
        self.placement = model.placement();
    }

    /// Sums the accumulated gradients of all ranks, clips them to the configured norm, steps, and clears them.
    ///
    /// # Errors
    ///
    /// If libtorch refuses, or a rank does not answer.
    pub fn step(&mut self, ranks: &Ranks, learning_rate: f64) -> anyhow::Result<StepOutcome> {
        match &self.sharding {
            Some(sharding) => {
                let gradients = sharding.take_gradients(&self.placement)?;
                for (stepped, gradient) in self.tensors.iter_mut().zip(gradients) {
                    stepped.gradient = Some(gradient);
                }
            }
            None if ranks.count() > 1 => {
                let parameters = self.tensors.iter().map(|stepped| &stepped.parameter);
                let gradients = parameters.map(gradient_of).collect::<Result<Vec<_>, _>>()?;
                ranks.sum("sum of gradients", &gradients)?;
            }
            None => {}
        }
        self.sum_partial_gradients()?;
        let norm = self.gradient_norm()?;
        let outcome = self.clip_and_step(norm, learning_rate)?;
        if outcome.applied {
            self.gather_parameters()?;
        }
        Ok(outcome)
    }

    /// Gathers every parameter from the shards of all ranks, if the state is sharded.
    pub(super) fn gather_parameters(&self) -> Result<(), RankError> {
        let gather = |sharding: &Sharding| sharding.gather_parameters(&self.placement);
        self.sharding.as_deref().map_or(Ok(()), gather)
    }

    /// Sums the gradients that are partial sums on each rank of the model.
    fn sum_partial_gradients(&self) -> anyhow::Result<()> {
        let mut partial: Vec<(&Ranks, Vec<Tensor>)> = Vec::new();
        for Stepped { parameter, place, gradient, .. } in &self.tensors {
            let Some(ranks) = self.placement.partial_sum(&place.name) else { continue };
            let gradient = match gradient {
                Some(gradient) => gradient.shallow_clone(),
                None => gradient_of(parameter)?,
            };
            match partial.iter_mut().find(|(other, _)| other.count() == ranks.count()) {
                Some((_, gradients)) => gradients.push(gradient),
                None => partial.push((ranks, vec![gradient])),
            }
        }
        for (ranks, gradients) in partial {
            ranks.sum("gradients of what ranks of a model share", &gradients)?;
        }
        Ok(())
    }

    /// Euclidean norm of the gradient over the whole model. It counts every number of the tensor-parallel group once, and
    /// includes the shards of all ranks if the state is sharded.
    pub(super) fn gradient_norm(&self) -> Result<f64, RankError> {
        const WHAT: &str = "norm of the gradient";
        let square = self.gradient_square();
        let square = match &self.sharding {
            Some(sharding) => sharding.ranks.total(WHAT, square)?,
            None => square,
        };
        Ok(self.placement.total(WHAT, square)?.sqrt())
    }

    /// File of this rank's part of the state; `None` if another rank writes the same part.
    pub(in crate::training) fn file_name(&self, mesh: &DeviceMesh) -> Option<String> {
        // If the state is not sharded over copies of the model, all copies have the same state.
        let (holders, is_writer) = match &self.sharding {
            Some(_) => (&mesh.run, true),
            None => (&mesh.tensor, mesh.data.is_first()),
        };
        is_writer.then(|| file_name(holders.rank(), holders.count()))
    }
}

/// The gradient of a parameter, set to zero if no backward pass has made one: a rank may have had no sequences.
fn gradient_of(parameter: &Tensor) -> Result<Tensor, TorchError> {
    if !parameter.grad().defined() {
        // The parameter is a leaf: backward from it adds to its gradient.
        torch_ext::backward(&[parameter], &[&parameter.zeros_like()])?;
    }
    Ok(parameter.grad())
}
