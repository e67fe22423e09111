//! The experts that the tokens of a sequence went to.

use model_files::model_config::ModelShape;
use serde::{Deserialize, Serialize};
use tch::{Kind, Tensor};
use torch_ext::size;

use crate::model::numbers;

/// Experts of the first tokens of a sequence, in each block that has experts.
///
/// A pass that replays them computes with the experts that sampled, weighted by the router as it is now. Tokens behind the recorded ones
/// go where the router sends them.
///
/// Source: "rollout routing replay", arXiv:2510.11370.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Routes {
    /// Numbers of a token: blocks with experts times experts per token.
    width: usize,
    /// `[tokens, blocks with experts, experts per token]`, flattened.
    experts: Vec<u16>,
}

/// Sizes of a model's routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RouteShape {
    /// Experts of a block.
    count: usize,
    blocks: usize,
    per_token: usize,
}

impl RouteShape {
    /// The sizes of a model; `None` if it has no experts.
    pub fn of(model: &ModelShape) -> Option<Self> {
        let (experts, blocks) = model.blocks_with_experts()?;
        Some(Self { count: experts.count, blocks, per_token: experts.per_token })
    }

    /// Numbers of a token.
    fn width(self) -> usize {
        self.blocks * self.per_token
    }
}

impl Routes {
    /// The experts used in each block with experts, integers `[tokens, per token]` each; `None` for a model without any.
    ///
    /// # Panics
    ///
    /// If a number is none of an expert.
    pub fn of_blocks(used: &[Tensor]) -> Option<Self> {
        let all = Tensor::cat(used.first().map(|_| used)?, 1);
        let width = usize::try_from(all.size()[1]).expect("a width");
        let number = |expert: i64| u16::try_from(expert).expect("at most 65535 experts");
        Some(Self { width, experts: numbers(&all).into_iter().map(number).collect() })
    }

    /// Appends the tokens of `other`.
    pub fn extend(&mut self, other: &Self) {
        self.width = other.width;
        self.experts.extend(&other.experts);
    }

    /// Number of recorded tokens.
    pub fn tokens(&self) -> usize {
        self.experts.len() / self.width.max(1)
    }

    /// Splits into parts of so many tokens each.
    pub fn split(&self, lengths: &[usize]) -> Vec<Self> {
        let mut rest = self.experts.as_slice();
        let part = |&length: &usize| {
            let (experts, behind) = rest.split_at(length * self.width);
            rest = behind;
            Self { width: self.width, experts: experts.to_vec() }
        };
        lengths.iter().map(part).collect()
    }

    /// The experts of several sequences of so many tokens, one after another: i32 `[tokens, blocks with experts, per token]` on the
    /// CPU, -1 where none are recorded.
    ///
    /// # Panics
    ///
    /// If routes [do not fit](Self::fault).
    pub fn joined(sequences: &[(Option<&Self>, usize)], shape: RouteShape) -> Tensor {
        let mut all = Vec::new();
        for (routes, length) in sequences {
            assert!(routes.is_none_or(|routes| routes.width == shape.width()), "of another model");
            let recorded = routes.map_or(&[][..], |routes| &routes.experts);
            let numbers = recorded.iter().map(|&expert| i32::from(expert));
            all.extend(numbers.chain(std::iter::repeat(-1)).take(length * shape.width()));
        }
        Tensor::from_slice(&all).view([-1, size(shape.blocks), size(shape.per_token)])
    }

    /// The fault of routes that were read from a file, for a sequence of `tokens` tokens; `None` if there is none.
    pub fn fault(&self, tokens: usize, shape: Option<RouteShape>) -> Option<String> {
        let Some(shape) = shape else {
            return Some("routes of experts, expected none in a model without experts".to_owned());
        };
        let (width, count) = (shape.width(), self.experts.len());
        if self.width != width || !count.is_multiple_of(width) || self.tokens() > tokens {
            return Some(format!(
                "routes of {count} experts, {} a token, expected at most {tokens} tokens with {width} each",
                self.width
            ));
        }
        let expert = self.experts.iter().find(|expert| usize::from(**expert) >= shape.count)?;
        Some(format!("a route to expert {expert}, expected experts below {}", shape.count))
    }
}

/// Number of experts in `used` that are not in `chosen` for the same token, both `[tokens, per token]`, over tokens that `replayed`
/// has; and the number of experts of these tokens. Both are sums on the tensors' device, `[2]`.
pub fn count_rerouted(replayed: &Tensor, [chosen, used]: &[Tensor; 2]) -> Tensor {
    let is_chosen = used.unsqueeze(2).eq_tensor(&chosen.unsqueeze(1)).any_dim(2, false);
    let recorded = replayed.ge(0);
    let other = recorded.logical_and(&is_chosen.logical_not());
    Tensor::stack(&[other.sum(Kind::Int64), recorded.sum(Kind::Int64)], 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routes(experts: &[u16]) -> Routes {
        Routes { width: 4, experts: experts.to_vec() }
    }

    const SHAPE: RouteShape = RouteShape { count: 9, blocks: 2, per_token: 2 };

    #[test]
    fn blocks_are_recorded_token_by_token_and_come_back() {
        let block = |numbers: [i64; 4]| Tensor::from_slice(&numbers).view([2, 2]);
        let recorded = Routes::of_blocks(&[block([1, 2, 3, 4]), block([5, 6, 7, 8])]).unwrap();
        assert_eq!(recorded, routes(&[1, 2, 5, 6, 3, 4, 7, 8]));
        assert_eq!((recorded.tokens(), Routes::of_blocks(&[])), (2, None));
        let parts = recorded.split(&[1, 1]);
        assert_eq!(parts, [routes(&[1, 2, 5, 6]), routes(&[3, 4, 7, 8])]);
        let mut again = parts[0].clone();
        again.extend(&parts[1]);
        assert_eq!(again, recorded);
        let joined = Routes::joined(&[(None, 1), (Some(&parts[1]), 2)], SHAPE);
        let numbers = Vec::<i32>::try_from(joined.select(1, 1).reshape([-1])).unwrap();
        assert_eq!(numbers, [-1, -1, 7, 8, -1, -1]);
    }

    /// Three tokens: the first has another expert, the second the same in another order, and nothing is recorded of the third.
    #[test]
    fn other_experts_are_counted_where_some_are_recorded() {
        let pairs = |numbers: [i64; 6]| Tensor::from_slice(&numbers).view([3, 2]);
        let replayed = pairs([0, 3, 2, 1, -1, -1]);
        let taken = [pairs([0, 1, 1, 2, 5, 6]), pairs([0, 3, 2, 1, 5, 6])];
        let counted = Vec::<i64>::try_from(count_rerouted(&replayed, &taken)).unwrap();
        assert_eq!(counted, [1, 4]);
    }

    #[test]
    fn routes_that_do_not_fit_are_named() {
        assert_eq!(routes(&[8; 8]).fault(2, Some(SHAPE)), None);
        let fault = |experts: &[u16], tokens| routes(experts).fault(tokens, Some(SHAPE)).unwrap();
        assert!(fault(&[8; 8], 1).contains("at most 1 tokens"));
        assert!(fault(&[8; 3], 9).contains("4 each"));
        assert_eq!(fault(&[9; 4], 9), "a route to expert 9, expected experts below 9");
        assert!(routes(&[]).fault(1, None).unwrap().contains("without experts"));
    }
}
