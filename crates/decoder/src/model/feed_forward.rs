//! The second half of a block: one MLP, or a mixture of experts.

use model_files::model_config::{Activation, ModelConfig};
use tch::Tensor;

use super::experts::{Experts, Routing};
use super::fused::FusedOperations;
use super::mlp::Mlp;
use super::operand::Operand;
use super::projection::Projection;
use super::shape::size;
use super::stacked::stack;

/// The feed-forward layer of a block.
#[derive(Debug)]
pub(crate) enum FeedForward {
    Dense(Mlp),
    Routed(Experts),
}

impl FeedForward {
    /// Builds the layer of block `index`; `tensor` takes a name in the checkpoint, without the `model.layers.N.` prefix, and a shape.
    pub(super) fn assemble<E>(
        config: &ModelConfig,
        index: usize,
        mut tensor: impl FnMut(&str, &[i64]) -> Result<Tensor, E>,
    ) -> Result<Self, E> {
        let hidden = size(config.hidden_size);
        let activation = config.architecture.block().activation;
        let Some(options) = config.experts_of(index) else {
            let intermediate = size(config.intermediate_size);
            return Ok(Self::Dense(mlp(&mut tensor, "mlp", [hidden, intermediate], activation)?));
        };
        let router = tensor("mlp.gate.weight", &[size(options.count), hidden])?;
        let width = size(options.intermediate_size);
        let mlps = (0..options.count)
            .map(|expert| {
                mlp(&mut tensor, &format!("mlp.experts.{expert}"), [hidden, width], activation)
            })
            .collect::<Result<_, E>>()?;
        let per_token = size(options.per_token);
        Ok(Self::Routed(Experts { router, mlps, per_token, normalised: options.normalised }))
    }

    /// Maps `[.., hidden]` to the same shape. With tensor-parallel ranks the result is this rank's addend.
    pub(super) fn forward(
        &self,
        x: &Operand,
        fused: &FusedOperations,
        routing: &mut Routing,
    ) -> Tensor {
        match self {
            Self::Dense(mlp) => mlp.down.forward(&mlp.gate_up(x, fused)),
            Self::Routed(experts) => experts.forward(x, routing),
        }
    }

    /// The MLP; `None` for a mixture of experts.
    pub(crate) fn mlp(&self) -> Option<&Mlp> {
        match self {
            Self::Dense(mlp) => Some(mlp),
            Self::Routed(_) => None,
        }
    }

    /// The MLP, mutable; `None` for a mixture of experts.
    pub(super) fn mlp_mut(&mut self) -> Option<&mut Mlp> {
        match self {
            Self::Dense(mlp) => Some(mlp),
            Self::Routed(_) => None,
        }
    }

    /// Concatenates in memory the weights of each MLP that share an input.
    pub(super) fn stack(&mut self) {
        for mlp in self.parts_mut().1 {
            stack(&mut [&mut mlp.gate.weight, &mut mlp.up.weight]);
        }
    }

    /// Parameters with their names in a checkpoint, without the `model.layers.N.` prefix.
    pub(super) fn named_parameters(&self) -> Vec<(String, &Tensor)> {
        let (mut named, mlps) = match self {
            Self::Dense(mlp) => (Vec::new(), vec![("mlp".to_owned(), mlp)]),
            Self::Routed(experts) => {
                let name = |(index, mlp)| (format!("mlp.experts.{index}"), mlp);
                let mlps = experts.mlps.iter().enumerate().map(name).collect();
                (vec![("mlp.gate.weight".to_owned(), &experts.router)], mlps)
            }
        };
        for (name, Mlp { gate, up, down, .. }) in mlps {
            for (part, projection) in [("gate", gate), ("up", up), ("down", down)] {
                named.push((format!("{name}.{part}_proj.weight"), &projection.weight));
            }
        }
        named
    }

    /// All tensors, low-rank corrections included.
    pub(super) fn tensors_mut(&mut self) -> impl Iterator<Item = &mut Tensor> {
        let (router, mlps) = self.parts_mut();
        let projections =
            mlps.iter_mut().flat_map(|mlp| [&mut mlp.gate, &mut mlp.up, &mut mlp.down]);
        router.into_iter().chain(projections.flat_map(Projection::tensors_mut))
    }

    /// The router, if there is one, and all MLPs.
    fn parts_mut(&mut self) -> (Option<&mut Tensor>, &mut [Mlp]) {
        match self {
            Self::Dense(mlp) => (None, std::slice::from_mut(mlp)),
            Self::Routed(experts) => (Some(&mut experts.router), &mut experts.mlps),
        }
    }
}

fn mlp<E>(
    tensor: &mut impl FnMut(&str, &[i64]) -> Result<Tensor, E>,
    name: &str,
    [hidden, width]: [i64; 2],
    activation: Activation,
) -> Result<Mlp, E> {
    let mut plain = |part: &str, shape: [i64; 2]| {
        Ok(Projection::new(tensor(&format!("{name}.{part}_proj.weight"), &shape)?, None))
    };
    Ok(Mlp {
        gate: plain("gate", [width, hidden])?,
        up: plain("up", [width, hidden])?,
        down: plain("down", [hidden, width])?,
        activation,
    })
}
