//! Sets, tuples, intervals, matrices and equations of generated expressions.

use reward_math::Verdict;

use super::style::Style;
use super::tree::{Kind, Random, Tree, negative};
use super::value::{agree, evaluate, points};
use super::{defined, normal, seeds, verdict};

/// An answer made of parts.
#[derive(Debug, Clone)]
pub(super) enum Structure {
    Set(Vec<Tree>),
    List(Vec<Tree>),
    Tuple(Vec<Tree>),
    /// Two ends, and for each whether it is included.
    Interval(Tree, Tree, bool, bool),
    Matrix(Vec<Vec<Tree>>),
    /// Two sides.
    Equation(Tree, Tree),
    /// A name and its value.
    Labelled(char, Tree),
}

/// Generates a constant and its value.
fn constant(random: &mut Random) -> (Tree, f64) {
    loop {
        let tree = defined(Kind::Constant, 1, random);
        if let Some((value, _)) = evaluate(&tree, &[1.0; 3])
            && value.1.abs() < 1e-12
        {
            return (tree, value.0);
        }
    }
}

/// Generates constants of different values.
fn constants(count: usize, random: &mut Random) -> Vec<Tree> {
    let mut distinct: Vec<(Tree, f64)> = Vec::new();
    while distinct.len() < count {
        let (tree, value) = constant(random);
        if distinct.iter().all(|(_, other)| (other - value).abs() > 1e-6) {
            distinct.push((tree, value));
        }
    }
    distinct.into_iter().map(|(tree, _)| tree).collect()
}

impl Structure {
    pub(super) fn generated(random: &mut Random) -> Self {
        let count = 2 + random.below(3);
        match random.below(7) {
            0 => Self::Set(constants(count, random)),
            1 => Self::List(constants(count, random)),
            2 => Self::Tuple(constants(count, random)),
            3 => loop {
                let ((a, low), (b, high)) = (constant(random), constant(random));
                if low + 1e-3 < high {
                    break Self::Interval(a, b, random.one_in(2), random.one_in(2));
                }
            },
            4 => {
                let columns = 1 + random.below(3);
                Self::Matrix((0..2).map(|_| constants(columns, random)).collect())
            }
            5 => {
                // Without `y`, which would cancel and leave an equation in one unknown.
                let side = |random: &mut Random| loop {
                    let side = defined(Kind::Rational, 1 + random.below(2), random);
                    if !side.any(&|node| *node == Tree::Variable('y')) {
                        break side;
                    }
                };
                Self::Equation(Tree::Sum(vec![side(random), Tree::Variable('y')]), side(random))
            }
            _ => Self::Labelled('x', constant(random).0),
        }
    }

    #[expect(clippy::too_many_lines, reason = "one strategy a kind of node")]
    pub(super) fn text(&self, random: &mut Random) -> String {
        // Digits after a comma would be grouped.
        let style = Style::random(random);
        let all = |items: &[Tree], separator: &str| {
            items.iter().map(|item| style.text(item)).collect::<Vec<_>>().join(separator)
        };
        let comma = [", ", ",\\ ", " ,  "][random.below(3)];
        let mut shuffled = |items: &[Tree]| {
            let mut items = items.to_vec();
            for last in (1..items.len()).rev() {
                items.swap(last, random.below(last + 1));
            }
            items
        };
        match self {
            Self::Set(items) => {
                let inside = all(&shuffled(items), comma);
                match random.below(3) {
                    0 => format!("\\left\\{{{inside}\\right\\}}"),
                    1 => format!("$\\{{ {inside} \\}}$"),
                    _ => format!("\\{{{inside}\\}}"),
                }
            }
            Self::List(items) => {
                let inside = all(&shuffled(items), comma);
                match random.below(2) {
                    0 => format!("${inside}$"),
                    _ => inside,
                }
            }
            Self::Tuple(items) => {
                let inside = all(items, comma);
                if random.one_in(2) {
                    format!("({inside})")
                } else {
                    format!("\\left({inside}\\right)")
                }
            }
            Self::Interval(low, high, left, right) => {
                let (open, close) = (if *left { '[' } else { '(' }, if *right { ']' } else { ')' });
                let inside = format!("{}{comma}{}", style.text(low), style.text(high));
                if random.one_in(2) {
                    format!("{open}{inside}{close}")
                } else {
                    format!("\\left{open} {inside} \\right{close}")
                }
            }
            Self::Matrix(rows) => {
                let rows: Vec<String> = rows.iter().map(|row| all(row, " & ")).collect();
                let inside = rows.join(" \\\\ ");
                match random.below(3) {
                    0 => format!("\\begin{{bmatrix}}{inside}\\end{{bmatrix}}"),
                    1 => format!("\\left(\\begin{{array}}{{ccc}}{inside}\\end{{array}}\\right)"),
                    _ => format!("\\begin{{pmatrix}} {inside} \\\\ \\end{{pmatrix}}"),
                }
            }
            Self::Equation(left, right) => {
                let (left, right) = (style.text(left), style.text(right));
                match random.below(3) {
                    0 => format!("{left} = {right}"),
                    1 => format!("${right}={left}$"),
                    _ => format!("{left} - ({right}) = 0"),
                }
            }
            Self::Labelled(name, value) => {
                let value = style.text(value);
                if random.one_in(2) {
                    format!("{name} = {value}")
                } else {
                    format!("${name}={value}$")
                }
            }
        }
    }

    /// Changes one part or the structure; `None` if that does not change the answer.
    #[expect(clippy::too_many_lines, reason = "one strategy a kind of node")]
    pub(super) fn perturbed(&self, random: &mut Random) -> Option<Self> {
        let another = |tree: &Tree, random: &mut Random| {
            let other = tree.perturbed(random);
            let here = evaluate(tree, &[1.0; 3])?;
            let there = evaluate(&other, &[1.0; 3])?;
            let apart = (here.0.0 - there.0.0).hypot(here.0.1 - there.0.1)
                > 1e-6 * here.0.size().max(there.0.size());
            apart.then_some(other)
        };
        let one_of = |items: &[Tree], random: &mut Random| {
            let index = random.below(items.len());
            let other = another(&items[index], random)?;
            let value = |tree: &Tree| evaluate(tree, &[1.0; 3]).map(|(value, _)| value.0);
            let new = value(&other)?;
            // A member that already occurs would make a smaller set.
            let known =
                items.iter().any(|item| value(item).is_some_and(|v| (v - new).abs() < 1e-6));
            let mut items = items.to_vec();
            items[index] = other;
            (!known).then_some(items)
        };
        Some(match self {
            Self::Set(items) if random.one_in(2) => Self::Set(items[1..].to_vec()),
            Self::Set(items) => Self::Set(one_of(items, random)?),
            Self::List(items) => Self::List(one_of(items, random)?),
            Self::Tuple(items) if random.one_in(2) => {
                let mut items = items.clone();
                items.reverse();
                Self::Tuple(items)
            }
            Self::Tuple(items) => Self::Tuple(one_of(items, random)?),
            Self::Interval(low, high, left, right) => match random.below(3) {
                0 => Self::Interval(low.clone(), high.clone(), !left, *right),
                1 => Self::Interval(low.clone(), high.clone(), *left, !right),
                _ => Self::Interval(another(low, random)?, high.clone(), *left, *right),
            },
            Self::Matrix(rows) if rows[0].len() == 2 && random.one_in(2) => {
                let turned = |column: usize| rows.iter().map(|row| row[column].clone()).collect();
                let transposed: Vec<Vec<Tree>> = (0..2).map(turned).collect();
                let value = |tree: &Tree| evaluate(tree, &[1.0; 3]).map(|(value, _)| value.0);
                let same = value(&rows[0][1])? - value(&rows[1][0])?;
                if same.abs() < 1e-6 {
                    return None;
                }
                Self::Matrix(transposed)
            }
            Self::Matrix(rows) => {
                let mut rows = rows.clone();
                let row = random.below(rows.len());
                let column = random.below(rows[row].len());
                rows[row][column] = another(&rows[row][column], random)?;
                Self::Matrix(rows)
            }
            Self::Equation(left, right) => {
                let other = right.perturbed(random);
                // Another curve: the differences of the sides are not proportional by a constant.
                let side = |right: &Tree, point: &[f64; 3]| {
                    let difference = Tree::Sum(vec![left.clone(), negative(right.clone())]);
                    evaluate(&difference, point).map(|(value, _)| value.0)
                };
                let somewhere = points(6, true, random);
                let ratios: Vec<f64> = somewhere
                    .iter()
                    .filter_map(|p| Some(side(right, p)? / side(&other, p)?))
                    .filter(|ratio| ratio.is_finite())
                    .collect();
                let spread =
                    ratios.iter().any(|ratio| (ratio - ratios[0]).abs() > 1e-3 * ratio.abs());
                let differ = somewhere.iter().any(|p| agree(right, &other, p) == Some(false));
                if !spread || !differ || ratios.len() < 4 {
                    return None;
                }
                Self::Equation(left.clone(), other)
            }
            Self::Labelled(name, value) if random.one_in(2) => {
                Self::Labelled(*name, another(value, random)?)
            }
            Self::Labelled(_, value) => Self::Labelled('y', value.clone()),
        })
    }
}

/// Sets in any order, all kinds of brackets and environments, equations reversed or with all terms on one side.
#[test]
fn structures_in_any_style_are_the_same() {
    for seed in seeds(1500) {
        let random = &mut Random::new(seed ^ (5 << 40));
        let structure = Structure::generated(random);
        let (first, second) = (structure.text(random), structure.text(random));
        let outcome = verdict(&first, &second);
        assert!(outcome.is_right(), "seed {seed}: {first} | {second} | {outcome:?}");
        let read = (normal(&first), normal(&second));
        assert!(read.0.is_ok() && read.0 == read.1, "seed {seed}: {first} | {second} | {read:?}");
        let once = read.0.unwrap_or_default();
        assert_eq!(normal(&once).as_deref(), Ok(once.as_str()), "seed {seed}: {first}");
    }
}

/// A changed member, end, entry, side, order or name makes the answer wrong.
#[test]
fn perturbed_structures_are_wrong() {
    let mut tried = 0;
    for seed in seeds(2500) {
        let random = &mut Random::new(seed ^ (6 << 40));
        let structure = Structure::generated(random);
        let Some(other) = structure.perturbed(random) else { continue };
        tried += 1;
        let (left, right) = (other.text(random), structure.text(random));
        let outcome = verdict(&left, &right);
        assert!(
            matches!(outcome, Verdict::Wrong { .. }),
            "seed {seed}: {left} | {right} | {outcome:?}"
        );
    }
    assert!(tried * 3 > seeds(2500).end, "only {tried} differed");
}
