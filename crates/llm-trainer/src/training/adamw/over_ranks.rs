//! Steps by the gradients of all ranks, with the state on each or cut over them.
//!
//! Where it is cut ([`layout`](super::layout)), as by stage 1 of `ZeRO`
//! ([arXiv:1910.02054](https://arxiv.org/abs/1910.02054)), each rank keeps master weights and moments of its shard of each unit
//! alone: gradients are summed to where they are needed, and the parameters gathered again.

use std::rc::Rc;

use tch::{Kind, Tensor};
use training_run::config::{MasterWeights, OptimizerSection};

use super::cut_model::CutModel;
use super::layout::{Unit, units};
use super::{AdamW, StepOutcome, is_narrow};
use crate::host_memory::Memory;
use crate::model::{BlockGradients, Decoder, ShardedBlocks};
use crate::ranks::{RankError, Ranks};
use crate::training::split_weight::nearest;
use crate::training::update::UpdateError;

/// How the state is cut.
#[derive(Debug)]
pub(super) struct Sharding {
    ranks: Ranks,
    /// The model's own.
    parameters: Vec<Tensor>,
    /// Their shapes while they are whole.
    shapes: Vec<Vec<i64>>,
    units: Vec<Unit>,
    /// Where the state lies, and gradients come to.
    memory: Memory,
    /// Of each unit, which one of the model's it is, if one.
    of_model: Vec<Option<usize>>,
    /// What is stepped of this rank's shard of each unit, `[elements]`: the parameters, or master weights in their place. The
    /// optimiser's own tensors are views of it.
    flat: Vec<Tensor>,
    /// Which parameter each of these is of.
    owners: Vec<usize>,
    /// The model's blocks, where those are cut too: there updated parameters go.
    blocks: Option<Rc<ShardedBlocks>>,
    /// Where the gradients of blocks come from, where the backward pass has summed them already.
    gradients: Option<Rc<BlockGradients>>,
}

impl Sharding {
    /// Shape of the parameter that piece `index` is of.
    pub(super) fn shape(&self, index: usize) -> &[i64] {
        &self.shapes[self.owners[index]]
    }

    /// Parameters in all.
    pub(super) fn parameters(&self) -> usize {
        self.parameters.len()
    }
}

impl AdamW {
    /// Fresh state for what is trained of `model`, of which this rank keeps its shards.
    ///
    /// # Panics
    ///
    /// If the device has too little memory.
    pub fn sharded(model: &Decoder, options: &OptimizerSection, seed: u64, ranks: &Ranks) -> Self {
        Self::sharded_in(Memory::Device, model, options, seed, ranks)
    }

    /// The same in some memory: in the host's, shards of gradients are brought there, and updated parameters back.
    ///
    /// # Panics
    ///
    /// If there is too little memory.
    pub fn sharded_in(
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
        let (mut flat, mut pieces, mut own) = (Vec::new(), Vec::new(), Vec::new());
        for unit in &units {
            let of_unit = &parameters[unit.parameters.clone()];
            let shard = ranks.own_shard(of_unit);
            // A master weight in f32 is all that is kept of a shard; else it is kept as it is.
            let is_whole = options.master == MasterWeights::F32;
            let shard =
                if is_narrow(&shard) && is_whole { shard.to_kind(Kind::Float) } else { shard };
            let shard = memory.settle(&shard);
            let mut first = 0;
            for piece in unit.pieces(&sizes, ranks.rank(), ranks.count()) {
                let part = shard.narrow(0, first, piece.length).detach();
                own.push((names[piece.parameter].clone(), part));
                first += piece.length;
                pieces.push(piece);
            }
            flat.push(shard);
        }
        let state = Self::of(own, options, seed);
        let mut state = Self { cut: CutModel::of(model, &state.names), ..state };
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

    /// Whether this rank keeps a part of the state alone.
    pub fn is_sharded(&self) -> bool {
        self.sharding.is_some()
    }

    /// What is stepped of this rank's shard of a unit of the model, as a block, `[elements]`, where it is of the parameters' own
    /// kind.
    pub fn shard_of_unit(&self, unit: usize) -> Option<Tensor> {
        let Sharding { units, of_model, memory, flat, parameters, .. } =
            &**self.sharding.as_ref()?;
        let index = of_model.iter().position(|found| *found == Some(unit))?;
        let is_own = flat[index].kind() == parameters[units[index].parameters.start].kind();
        let is_own = is_own && !memory.is_host();
        is_own.then(|| flat[index].shallow_clone())
    }

    /// Takes gradients of blocks from where `model` has them, and brings parameters there, as those are cut as well.
    pub fn hold_blocks(&mut self, model: &Decoder) {
        if let Some(sharding) = &mut self.sharding {
            // Beneath an adapter nothing is updated.
            sharding.blocks =
                model.sharded_blocks().filter(|_| !model.has_adapter()).map(Rc::clone);
            sharding.gradients = model.block_gradients().map(Rc::clone);
        }
    }

    /// As [`step`](Self::step), by the sum of the gradients of all ranks.
    ///
    /// # Errors
    ///
    /// [`UpdateError`] if libtorch refuses, or a rank does not come.
    pub fn step_over(
        &mut self,
        ranks: &Ranks,
        learning_rate: f64,
    ) -> Result<StepOutcome, UpdateError> {
        let Some(sharding) = &self.sharding else {
            if ranks.count() > 1 {
                let gradients =
                    self.parameters.iter().map(gradient_of).collect::<Result<Vec<_>, _>>()?;
                ranks.sum("sum of gradients", &gradients)?;
            }
            self.sum_partial_gradients()?;
            let norm = self.gradient_norm_over(ranks)?;
            return Ok(self.step_by(norm, learning_rate)?);
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
        let norm = self.gradient_norm_over(ranks)?;
        let outcome = self.step_by(norm, learning_rate)?;
        if outcome.applied {
            self.gather_parameters()?;
        }
        Ok(outcome)
    }

    /// Brings every parameter from the shards of all ranks, where the state is cut.
    pub(super) fn gather_parameters(&self) -> Result<(), RankError> {
        self.sharding.as_ref().map_or(Ok(()), |sharding| sharding.gather_parameters())
    }
}

impl Sharding {
    /// This rank's shard of the sum of a unit's gradients.
    fn gradient(&self, unit: &Unit, of_model: Option<usize>) -> Result<Tensor, RankError> {
        if let (Some(gradients), Some(of_model)) = (&self.gradients, of_model) {
            return gradients.take(of_model);
        }
        let of = |parameter: &Tensor| {
            let gradient = parameter.grad();
            let gradient = if gradient.defined() { gradient } else { parameter.zeros_like() };
            if is_narrow(parameter) { gradient.to_kind(Kind::Float) } else { gradient }
        };
        let _no_grad = tch::no_grad_guard();
        let parts: Vec<Tensor> = self.parameters[unit.parameters.clone()].iter().map(of).collect();
        self.ranks.sum_shard("sum of gradients", &parts)
    }

    fn gather_parameters(&self) -> Result<(), RankError> {
        let _no_grad = tch::no_grad_guard();
        for ((unit, of_model), own) in self.units.iter().zip(&self.of_model).zip(&self.flat) {
            if let (Some(blocks), Some(of_model)) = (&self.blocks, *of_model) {
                let shard = blocks.shard(of_model);
                // Where they are of one kind, they are one tensor.
                if shard.kind() != own.kind() {
                    shard.shallow_clone().copy_(&nearest(own));
                } else if self.memory.is_host() {
                    shard.shallow_clone().copy_(own);
                }
                continue;
            }
            let parameters = &self.parameters[unit.parameters.clone()];
            let is_own = own.kind() == parameters[0].kind();
            let own = if is_own { own.shallow_clone() } else { nearest(own) };
            let own = own.to_device(parameters[0].device());
            let whole = self.ranks.gather_shards("updated parameters", &own)?;
            let mut first = 0;
            for parameter in parameters {
                let values = whole.narrow(0, first, size(parameter)).view_as(parameter);
                parameter.shallow_clone().copy_(&values);
                first += size(parameter);
            }
        }
        Ok(())
    }
}

/// The gradient of a parameter, made where no backward pass has: a rank may have had nothing to do.
pub(super) fn gradient_of(parameter: &Tensor) -> Result<Tensor, UpdateError> {
    if !parameter.grad().defined() {
        // A leaf: naming it as an output adds to its gradient.
        torch_ext::backward(&[parameter], &[&parameter.zeros_like()])?;
    }
    Ok(parameter.grad())
}

fn size(tensor: &Tensor) -> i64 {
    i64::try_from(tensor.numel()).expect("a tensor's size")
}
