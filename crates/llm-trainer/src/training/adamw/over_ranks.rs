//! Steps by the gradients of all ranks, with the state on each rank or [sharded](super::sharding) over them.

use std::rc::Rc;

use tch::{Kind, Tensor};
use training_run::config::{MasterWeights, OptimizerSection};

use super::layout::units;
use super::precision::is_narrow;
use super::sharding::{Sharding, size};
use super::tensor_parallel::TensorParallel;
use super::{AdamW, StepOutcome};
use crate::host_memory::Memory;
use crate::training::update_error::UpdateError;
use decoder::model::{Decoder, TensorShard};
use ranks::{RankError, Ranks};

impl AdamW {
    /// Fresh state for this rank's shards of the trained parameters of `model`. With `memory` on the host, gradient shards are
    /// copied there, and updated parameters back.
    ///
    /// # Panics
    ///
    /// If there is too little memory.
    pub fn sharded(
        memory: Memory,
        model: &Decoder,
        options: &OptimizerSection,
        seed: u64,
        ranks: &Ranks,
    ) -> Self {
        let (names, parameters): (Vec<String>, Vec<Tensor>) = model
            .trained_parameters()
            .into_iter()
            .map(|(name, parameter)| (name, parameter.shallow_clone()))
            .unzip();
        let sizes: Vec<i64> = parameters.iter().map(size).collect();
        let units = units(&names, &sizes);
        let (mut flat, mut pieces, mut stepped) = (Vec::new(), Vec::new(), Vec::new());
        for unit in &units {
            let of_unit = &parameters[unit.parameters.clone()];
            let shard = ranks.local_shard(of_unit);
            // With f32 master weights, a narrow shard is kept only as f32; otherwise it is kept as it is.
            let is_whole = options.master == MasterWeights::F32;
            let shard =
                if is_narrow(&shard) && is_whole { shard.to_kind(Kind::Float) } else { shard };
            let shard = memory.settle(&shard);
            let mut first = 0;
            for piece in unit.pieces(&sizes, ranks.rank(), ranks.count()) {
                let part = shard.narrow(0, first, piece.length).detach();
                stepped.push((names[piece.parameter].clone(), part));
                first += piece.length;
                pieces.push(piece);
            }
            flat.push(shard);
        }
        let state = Self::of(stepped, options, seed);
        let mut state = Self { tensor_parallel: TensorParallel::of(model, &state.names), ..state };
        state.starts = pieces.iter().map(|piece| piece.start).collect();
        state.sharding = Some(Box::new(Sharding {
            ranks: ranks.clone(),
            shapes: parameters.iter().map(Tensor::size).collect(),
            parameters,
            of_model: units
                .iter()
                .map(|unit| model.unit_of(&names[unit.parameters.start]))
                .collect(),
            units,
            memory,
            flat,
            owners: pieces.iter().map(|piece| piece.parameter).collect(),
            blocks: None,
            gradients: None,
        }));
        state
    }

    /// Returns true if each rank keeps only its shard of the state.
    pub fn is_sharded(&self) -> bool {
        self.sharding.is_some()
    }

    /// The stepped values of this rank's shard of a unit of the model, `[elements]`. `None` unless they have the parameters'
    /// kind and are on the device.
    pub fn shard_of_unit(&self, unit: usize) -> Option<Tensor> {
        let Sharding { units, of_model, memory, flat, parameters, .. } =
            &**self.sharding.as_ref()?;
        let index = of_model.iter().position(|of_unit| *of_unit == Some(unit))?;
        let is_own = flat[index].kind() == parameters[units[index].parameters.start].kind();
        let is_own = is_own && !memory.is_host();
        is_own.then(|| flat[index].shallow_clone())
    }

    /// Uses the model's own block gradients and block shards, where `model` shards its blocks.
    pub fn hold_blocks(&mut self, model: &Decoder) {
        if let Some(sharding) = &mut self.sharding {
            // Parameters below an adapter are not updated.
            sharding.blocks =
                model.sharded_blocks().filter(|_| !model.has_adapter()).map(Rc::clone);
            sharding.gradients = model.block_gradients().map(Rc::clone);
        }
    }

    /// Sums the accumulated gradients of all ranks, clips them to the configured norm, steps, and clears them.
    ///
    /// # Errors
    ///
    /// [`UpdateError`] if libtorch refuses, or a rank does not answer.
    pub fn step(&mut self, ranks: &Ranks, learning_rate: f64) -> Result<StepOutcome, UpdateError> {
        let Some(sharding) = &self.sharding else {
            if ranks.count() > 1 {
                let gradients =
                    self.parameters.iter().map(gradient_of).collect::<Result<Vec<_>, _>>()?;
                ranks.sum("sum of gradients", &gradients)?;
            }
            self.sum_partial_gradients()?;
            let norm = self.gradient_norm(ranks)?;
            return Ok(self.clip_and_step(norm, learning_rate)?);
        };
        let mut gradients = Vec::with_capacity(self.parameters.len());
        for (unit, of_model) in sharding.units.iter().zip(&sharding.of_model) {
            let shard = sharding.memory.place(&sharding.gradient(unit, *of_model)?);
            let mut first = 0;
            let rest = gradients.len()..self.parameters.len();
            for piece in rest.take_while(|&piece| unit.parameters.contains(&sharding.owners[piece]))
            {
                let length = size(&self.parameters[piece]);
                gradients.push(shard.narrow(0, first, length));
                first += length;
            }
        }
        for parameter in &sharding.parameters {
            torch_ext::set_gradient(parameter, None)?;
        }
        self.gradients = gradients;
        self.sum_partial_gradients()?;
        let norm = self.gradient_norm(ranks)?;
        let outcome = self.clip_and_step(norm, learning_rate)?;
        if outcome.applied {
            self.gather_parameters()?;
        }
        Ok(outcome)
    }

    /// Gathers every parameter from the shards of all ranks, if the state is sharded.
    pub(super) fn gather_parameters(&self) -> Result<(), RankError> {
        self.sharding.as_ref().map_or(Ok(()), |sharding| sharding.gather_parameters())
    }

    /// Returns true if the model is split over tensor-parallel ranks.
    pub fn is_tensor_parallel(&self) -> bool {
        self.tensor_parallel.is_some()
    }

    /// The tensor-parallel part of the parameter to which tensor `index` belongs; `None` if this rank has all of it.
    pub(super) fn tensor_shard(&self, index: usize) -> Option<TensorShard> {
        self.tensor_parallel.as_ref()?.shards[index]
    }

    /// Returns true if this rank writes and counts tensor `index`; other ranks may hold the same values.
    pub(super) fn is_owner(&self, index: usize) -> bool {
        self.tensor_parallel.as_ref().is_none_or(|split| split.is_owner[index])
    }

    /// Sums the gradients that are partial sums on each rank of the model.
    pub(super) fn sum_partial_gradients(&self) -> Result<(), UpdateError> {
        for (ranks, indices) in self.tensor_parallel.iter().flat_map(|split| &split.partial) {
            let gradients: Vec<Tensor> = indices
                .iter()
                .map(|&index| match self.gradients.get(index) {
                    Some(gradient) => Ok(gradient.shallow_clone()),
                    None => gradient_of(&self.parameters[index]),
                })
                .collect::<Result<_, _>>()?;
            ranks.sum("gradients of what ranks of a model share", &gradients)?;
        }
        Ok(())
    }

    /// The name of tensor `index` with its part, as in `NAME[0:1/2]`: part 1 of 2 along dimension 0.
    pub(super) fn name_with_shard(&self, index: usize) -> String {
        let name = &self.names[index];
        match self.tensor_shard(index) {
            None => name.clone(),
            Some(TensorShard { dimension, index, count }) => {
                format!("{name}[{dimension}:{index}/{count}]")
            }
        }
    }

    /// Euclidean norm of the gradient over the whole model. It counts every number of the tensor-parallel group once, and
    /// includes all shards of `ranks` if the state is sharded over those.
    pub(super) fn gradient_norm(&self, ranks: &Ranks) -> Result<f64, RankError> {
        const WHAT: &str = "norm of the gradient";
        let mut square = self.gradient_square(|index| self.is_owner(index));
        if self.is_sharded() {
            square = ranks.total(WHAT, square)?;
        }
        if let Some(split) = &self.tensor_parallel {
            square = split.group.ranks().total(WHAT, square)?;
        }
        Ok(square.sqrt())
    }
}

/// The gradient of a parameter, set to zero if no backward pass has made one: a rank may have had no sequences.
fn gradient_of(parameter: &Tensor) -> Result<Tensor, UpdateError> {
    if !parameter.grad().defined() {
        // The parameter is a leaf: backward from it adds to its gradient.
        torch_ext::backward(&[parameter], &[&parameter.zeros_like()])?;
    }
    Ok(parameter.grad())
}
