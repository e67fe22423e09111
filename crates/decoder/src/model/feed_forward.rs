//! The second half of a block: one MLP, or a mixture of experts.

use model_files::model_config::{Activation, ModelConfig};
use tch::Tensor;
use torch_ext::size;

use super::experts::{Router, Routing};
use super::mlp::Mlp;
use super::operand::Operand;
use super::projection::Projection;
use super::stacked::stack;

#[derive(Debug)]
pub(crate) struct FeedForward {
    /// The experts; without a router one MLP.
    mlps: Vec<Mlp>,
    router: Option<Router>,
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
        let (mut count, mut width, mut router) = (1, config.intermediate_size, None);
        if let Some(options) = config.experts_of(index) {
            (count, width) = (options.count, options.intermediate_size);
            let weight = tensor("mlp.gate.weight", &[size(count), hidden])?;
            let (per_token, normalised) = (size(options.per_token), options.normalised);
            router = Some(Router { weight, per_token, normalised });
        }
        let mlps = (0..count)
            .map(|expert| {
                let name = name(router.is_some(), expert);
                mlp(&mut tensor, &name, [hidden, size(width)], activation)
            })
            .collect::<Result<_, E>>()?;
        Ok(Self { mlps, router })
    }

    /// Maps `[.., hidden]` to the same shape. With tensor-parallel ranks the result is this rank's addend.
    pub(super) fn forward(&self, x: &Operand, routing: &mut Routing) -> Tensor {
        match &self.router {
            None => self.mlps[0].forward(x),
            Some(router) => router.forward(&self.mlps, x, routing),
        }
    }

    /// The MLP; `None` for a mixture of experts.
    pub(crate) fn mlp(&self) -> Option<&Mlp> {
        self.mlps.first().filter(|_| self.router.is_none())
    }

    pub(super) fn mlp_mut(&mut self) -> Option<&mut Mlp> {
        self.mlps.first_mut().filter(|_| self.router.is_none())
    }

    /// Concatenates in memory the weights of each MLP that share an input.
    pub(super) fn stack(&mut self) {
        for mlp in &mut self.mlps {
            stack(&mut [&mut mlp.gate.weight, &mut mlp.up.weight]);
        }
    }

    /// Parameters with their names in a checkpoint, without the `model.layers.N.` prefix.
    pub(super) fn named_parameters(&self) -> impl Iterator<Item = (String, &Tensor)> {
        let router =
            self.router.iter().map(|router| ("mlp.gate.weight".to_owned(), &router.weight));
        router.chain(self.mlps.iter().enumerate().flat_map(move |(expert, mlp)| {
            let name = name(self.router.is_some(), expert);
            [("gate", &mlp.gate), ("up", &mlp.up), ("down", &mlp.down)]
                .map(|(part, map)| (format!("{name}.{part}_proj.weight"), &map.weight))
        }))
    }
}

/// Name of an MLP in a checkpoint.
fn name(is_expert: bool, index: usize) -> String {
    if is_expert { format!("mlp.experts.{index}") } else { "mlp".to_owned() }
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
