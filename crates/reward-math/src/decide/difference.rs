//! Parts of two answers that differ.

use crate::answer::{Node, Relation};
use crate::expression::Expression;
use crate::verdict::{Side, Values};

/// Parts of two answers that differ, the response's side first.
#[derive(Debug, Clone)]
pub(super) enum Difference {
    Apart(Box<Values>),
    /// Expressions with different normal forms; the numbers, if their values are rational.
    Expressions(Expression, Expression),
    Shapes(String, String),
    /// A member without a partner, and the members of the other side that have none.
    Member {
        side: Side,
        member: Node,
        others: Vec<Node>,
    },
    Relations(Node, Node),
}

impl Difference {
    /// Returns the difference seen from the other side.
    pub(super) fn turned(self) -> Self {
        match self {
            Self::Apart(apart) => {
                let Values { point, response: ground_truth, ground_truth: response } = *apart;
                Self::Apart(Box::new(Values { point, response, ground_truth }))
            }
            Self::Expressions(a, b) => Self::Expressions(b, a),
            Self::Shapes(a, b) => Self::Shapes(b, a),
            Self::Member { side, member, others } => {
                let side = if side == Side::Response { Side::GroundTruth } else { Side::Response };
                Self::Member { side, member, others }
            }
            Self::Relations(a, b) => Self::Relations(b, a),
        }
    }
}

/// Returns the sides and the relations of a chain.
pub(super) fn chain(node: &Node) -> Option<(&[Node], &[Relation])> {
    if let Node::Chain { sides, relations } = node { Some((sides, relations)) } else { None }
}

pub(super) fn is_equation(node: &Node) -> bool {
    chain(node).is_some_and(|(_, relations)| relations == [Relation::Equal])
}

/// Returns the kind of an answer in words.
pub(super) fn kind(node: &Node) -> String {
    match node {
        Node::Value { .. } => "a value".to_owned(),
        Node::Words(words) => format!("the words {words:?}"),
        Node::List { open: ' ', items, .. } => format!("a list of {}", items.len()),
        Node::List { open, close, items } => format!("{} between {open} and {close}", items.len()),
        Node::Joined(combination, _) => format!("sets joined by {combination:?}"),
        Node::Chain { .. } => "a relation".to_owned(),
        Node::Matrix(_) => "a matrix".to_owned(),
        Node::Piecewise(pieces) => format!("{} cases", pieces.len()),
        Node::Ratio(parts) => format!("a ratio of {}", parts.len()),
        Node::Builder { .. } => "a set by conditions".to_owned(),
    }
}
