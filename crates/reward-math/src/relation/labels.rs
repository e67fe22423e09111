//! Lists of labelled values: `x = 1, y = 2`.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::{is_constant_value, is_name, labelled, symbol};
use crate::answer::{Node, Relation};
use crate::expression::Expression;

/// Returns the labels and values of a list, in the order written, if every item is labelled, or in `x = 1, 5` the first.
fn all_labelled(items: &[Node]) -> Option<Vec<(&Node, &Node)>> {
    let (first, _) = labelled(items.first()?)?;
    let bare = |item| (is_constant_value(item) && symbol(first).is_some()).then_some((first, item));
    items.iter().map(|item| labelled(item).or_else(|| bare(item))).collect()
}

/// Returns the values of a list if every item is labelled, in the order written.
pub(crate) fn values_of_labelled(items: &[Node]) -> Option<Vec<Node>> {
    Some(all_labelled(items)?.into_iter().map(|(_, value)| value.clone()).collect())
}

/// Returns `x = 3, x = 4` for `x = 3, 4`; other lists as they are.
pub(crate) fn with_label_repeated(items: &[Node]) -> Cow<'_, [Node]> {
    let bare = |item: &Node| !item.is_chain();
    let labels = all_labelled(items).filter(|_| items.iter().any(bare));
    let equation = |(label, value): (&Node, &Node)| Node::equation(label.clone(), value.clone());
    labels.map_or(Cow::Borrowed(items), |all| all.into_iter().map(equation).collect())
}

/// Returns the tuples of `(x, y) = (2, 3), (3, 2)`; other lists as they are.
pub(crate) fn tuples_of_one(items: &[Node]) -> Cow<'_, [Node]> {
    let tuple = |node: &Node| matches!(node, Node::List { open: '(', .. });
    let Some((name, first)) = items.first().and_then(labelled) else { return Cow::Borrowed(items) };
    let value = |item| match labelled(item) {
        Some((label, value)) => (label == name && tuple(value)).then(|| value.clone()),
        None => tuple(item).then(|| item.clone()),
    };
    let values: Option<Vec<Node>> = items.iter().map(value).collect();
    values.filter(|_| tuple(name) && tuple(first)).map_or(Cow::Borrowed(items), Cow::Owned)
}

/// Returns the points of `x = 0, y = 5` or `x = 5, y = 0`: the coordinates of each in the order of their names.
pub(crate) fn points(items: &[Node]) -> Option<Vec<Node>> {
    let labels = all_labelled(items)?;
    let size = 1 + labels.iter().skip(1).position(|(label, _)| *label == labels[0].0)?;
    let point = |items: &[Node]| named_values(items).map(Node::tuple);
    let names: Vec<Option<&str>> = labels.iter().map(|(label, _)| label.symbol()).collect();
    let mut blocks = names.chunks(size).map(BTreeSet::from_iter);
    let first: BTreeSet<_> = blocks.next()?;
    (size > 1 && first.len() == size && blocks.all(|block| block == first))
        .then(|| items.chunks(size).map(point).collect())?
}

/// Returns true if both lists name values of one variable, and one of them does so without numbering them.
pub(crate) fn roots_of_one(left: &[Node], right: &[Node]) -> bool {
    // The common name without index, and whether no name has an index.
    let base = |items| {
        let labels = all_labelled(items)?.into_iter();
        let names: Vec<&str> = labels.map(|(label, _)| symbol(label)).collect::<Option<_>>()?;
        let base = names.first()?.split('_').next()?;
        let same = names.iter().all(|name| name.split('_').next() == Some(base));
        same.then_some((base, names.iter().all(|name| *name == base)))
    };
    matches!((base(left), base(right)), (Some((name, plain)), Some((other, other_plain)))
        if name == other && (plain || other_plain))
}

/// Returns true if all items are labelled, with names that differ in more than their indices.
pub(crate) fn names_differ(items: &[Node]) -> bool {
    let name = |label: &Node| match label.expression() {
        Some(Expression::Symbol(name) | Expression::Function(name, _)) => {
            name.split('_').next().unwrap_or_default().to_owned()
        }
        _ => format!("{label:?}"),
    };
    all_labelled(items).is_some_and(|labels| {
        let names: BTreeSet<String> = labels.iter().map(|(label, _)| name(label)).collect();
        names.len() == labels.len()
    })
}

/// Expands `x = y = 2` to `x = 2, y = 2`.
pub(crate) fn shared(chain: &Node) -> Option<Node> {
    let Node::Chain { sides, relations } = chain else { return None };
    let (value, names) = sides.split_last()?;
    let is_shared = names.len() > 1
        && is_constant_value(value)
        && names.iter().all(|name| name.plain().is_some_and(is_name))
        && relations.iter().all(|relation| *relation == Relation::Equal);
    let equation = |name: &Node| Node::equation(name.clone(), value.clone());
    is_shared.then(|| Node::bare(names.iter().map(equation).collect()))
}

/// Expands `(n, k) = (3, 2)` to `n = 3, k = 2`, and so for columns.
pub(crate) fn by_name(chain: &Node) -> Option<Node> {
    let entries = |node: &Node| match node {
        Node::List { open: '(', items, .. } => Some(items.clone()),
        Node::Matrix(rows) if rows.iter().all(|row| row.len() == 1) => Some(Node::entries(rows)),
        _ => None,
    };
    let (names, values) = labelled(chain)?;
    let (names, values) = (entries(names)?, entries(values)?);
    let equation = |(name, value): (&Node, &Node)| Node::equation(name.clone(), value.clone());
    let pairs = names.len() == values.len() && names.iter().all(|name| symbol(name).is_some());
    pairs.then(|| Node::bare(names.iter().zip(&values).map(equation).collect()))
}

/// Returns the values of `(b, a) = (1, 2)` in the order of the alphabet; `None` unless the names stand backwards in it.
pub(crate) fn backwards(chain: &Node) -> Option<Vec<Node>> {
    let list = by_name(chain)?;
    let names: Vec<&str> =
        list.items().iter().map(|item| labelled(item)?.0.symbol()).collect::<Option<_>>()?;
    let letters = names.iter().all(|name| name.len() == 1);
    // `(m, b)` is an order of its own.
    let letter = |name: &str| name.bytes().next().map_or(0, i32::from);
    let turned = names.windows(2).all(|pair| letter(pair[0]) == letter(pair[1]) + 1);
    named_values(list.items()).filter(|_| letters && turned)
}

/// Returns a list with `a = b = 2` among others written out; `None` if there is none in it.
pub(crate) fn spread(list: &Node) -> Option<Node> {
    let Node::List { open: ' ', close, items } = list else { return None };
    if !items.iter().any(|item| shared(item).is_some()) {
        return None;
    }
    let single =
        |item: &Node| shared(item).map_or_else(|| vec![item.clone()], |list| list.items().to_vec());
    let items = items.iter().flat_map(single).collect();
    Some(Node::List { open: ' ', close: *close, items })
}

/// Returns the values of `x = 1, y = 2` in the order of their names, if all are labelled and differ.
pub(crate) fn named_values(items: &[Node]) -> Option<Vec<Node>> {
    let named = all_labelled(items)?
        .into_iter()
        .map(|(label, value)| Some((label.symbol()?, value.clone())));
    let mut named: Vec<(&str, Node)> = named.collect::<Option<_>>()?;
    // Angles behind lengths: `r = 4, \theta = 1`. Capital letters have no usual order.
    if !named.iter().any(|(name, _)| name.starts_with(char::is_uppercase)) {
        named.sort_by_key(|(name, _)| (name.starts_with('\\'), *name));
    }
    let distinct: BTreeSet<&str> = named.iter().map(|(name, _)| *name).collect();
    (distinct.len() == named.len()).then(|| named.into_iter().map(|(_, value)| value).collect())
}
