//! Every wrong verdict has a witness, which the tests' own arithmetic does not refute.

use dashu::{Integer, Natural, Rational};
use reward_math::{Gold, Options, Side, Values, Verdict, Witness};

use super::structure::Structure;
use super::style::Style;
use super::tree::{Random, Tree};
use super::value::{Point, Value, evaluate};
use super::{KINDS, defined, rewritten, seeds};

/// Outcome of checking a witness: `None` where the tests' arithmetic has no value.
type Check = Option<bool>;

/// Returns the exact number that `3/4` or `-5*2^-3` is.
fn exact(text: &str) -> Rational {
    let Some((significand, exponent)) = text.split_once("*2^") else {
        return text.parse().expect("a fraction");
    };
    let significand: Integer = significand.parse().expect("an integer");
    let exponent: i64 = exponent.parse().expect("an exponent");
    let power = Natural::ONE << usize::try_from(exponent.unsigned_abs()).expect("a size");
    if exponent < 0 {
        Rational::from_parts(significand, power)
    } else {
        Rational::from(significand * power)
    }
}

/// Returns true if two boxes have no number in common.
fn are_disjoint(values: &Values) -> bool {
    values.response.iter().zip(&values.ground_truth).any(|(a, b)| {
        let ([low, high], [other_low, other_high]) =
            (a.each_ref().map(|end| exact(end)), b.each_ref().map(|end| exact(end)));
        high < other_low || other_high < low
    })
}

/// Returns true if the box holds the value, up to the rounding of an intermediate value of this size.
fn holds(ends: &[[String; 2]; 2], value: (Value, f64)) -> bool {
    holds_within(ends, value, 1e-7)
}

fn holds_within(ends: &[[String; 2]; 2], (value, size): (Value, f64), rounding: f64) -> bool {
    let slack = rounding * size.max(1e-3);
    ends.iter().zip([value.0, value.1]).all(|([low, high], part)| {
        let (low, high) = (exact(low).to_f64().value(), exact(high).to_f64().value());
        part >= low - slack && part <= high + slack
    })
}

/// Returns the point, of the variables as they are or of those with a `'`.
fn point(values: &Values, marked: bool) -> Point {
    let mut point = [1.0; 3];
    for (name, value) in &values.point {
        if name.ends_with('\'') == marked {
            let index = ["x", "y", "a"].iter().position(|known| name.starts_with(known));
            point[index.expect("a variable of the tests")] = exact(value).to_f64().value();
        }
    }
    point
}

/// Checks that both expressions have the values that the witness says.
fn checks(values: &Values, left: &Tree, right: &Tree) -> Check {
    let here = point(values, false);
    let (a, b) = (evaluate(left, &here)?, evaluate(right, &here)?);
    Some(are_disjoint(values) && holds(&values.response, a) && holds(&values.ground_truth, b))
}

/// Checks the products of the differences of the sides of two equations.
fn checks_proportion(values: &Values, p: &Tree, q: &Tree) -> Check {
    let (here, there) = (point(values, false), point(values, true));
    let product = |first: &Tree, second: &Tree| {
        let ((a, a_size), (b, b_size)) = (evaluate(first, &here)?, evaluate(second, &there)?);
        Some((a.times(b), a_size.max(1.0) * b_size.max(1.0)))
    };
    let (first, second) = (product(p, q)?, product(q, p)?);
    // A relation may be written from right to left, which turns the sign of both products.
    let turned = |(value, size): (Value, f64)| (Value(-value.0, -value.1), size);
    let held = [(first, second), (turned(first), turned(second))]
        .into_iter()
        .any(|(a, b)| holds(&values.response, a) && holds(&values.ground_truth, b));
    Some(are_disjoint(values) && held)
}

/// Checks a witness against two lists of parts, those of the response first.
fn checks_parts(witness: &Witness, parts: [&[Tree]; 2], ordered: bool) -> Check {
    let value = |tree: &Tree| evaluate(tree, &[1.0; 3]);
    let in_box = |ends: &[[String; 2]; 2], tree: &Tree, rounding| {
        value(tree).map(|value| holds_within(ends, value, rounding))
    };
    match witness {
        Witness::Values(values) if ordered => {
            let here = parts[0].iter().zip(parts[1]).map(|(a, b)| checks(values, a, b));
            Some(here.collect::<Option<Vec<bool>>>()?.contains(&true))
        }
        Witness::Shapes { response, ground_truth } => {
            Some(response != ground_truth && parts[0].len() != parts[1].len())
        }
        Witness::Member { side, member, evidence } if evidence.is_empty() => {
            let plain = member.replace(['(', ')', ' '], "");
            let number: Rational = plain.parse().ok()?;
            let count = |tree: &&Tree| {
                value(tree).is_some_and(|(value, size)| {
                    (value.0 - number.to_f64().value()).abs() < 1e-9 * size.max(1.0)
                })
            };
            let [left, right] = parts.map(|items| items.iter().filter(count).count());
            Some(if *side == Side::Response { left > right } else { right > left })
        }
        Witness::Member { side, evidence, .. } => {
            let [this, others] = if *side == Side::Response { parts } else { [parts[1], parts[0]] };
            for apart in evidence {
                let Witness::Values(values) = apart else { return Some(false) };
                let ends = match side {
                    Side::Response => &values.response,
                    Side::GroundTruth => &values.ground_truth,
                };
                let is_own =
                    this.iter().map(|tree| in_box(ends, tree, 1e-7)).collect::<Option<Vec<_>>>()?;
                let is_other = others
                    .iter()
                    .map(|tree| in_box(ends, tree, 1e-12))
                    .collect::<Option<Vec<_>>>()?;
                if !are_disjoint(values) || !is_own.contains(&true) || is_other.contains(&true) {
                    return Some(false);
                }
            }
            Some(true)
        }
        _ => Some(false),
    }
}

fn checks_structure(witness: &Witness, left: &Structure, right: &Structure) -> Check {
    use Structure::{Equation, Interval, Labelled, List, Matrix, Set, Tuple};
    let brackets = |differ: bool| match witness {
        Witness::Shapes { response, ground_truth } => Some(differ && response != ground_truth),
        _ => None,
    };
    let difference = |left: &Tree, right: &Tree| {
        Tree::Sum(vec![left.clone(), super::tree::negative(right.clone())])
    };
    match (left, right) {
        (Set(a), Set(b)) | (List(a), List(b)) => checks_parts(witness, [a, b], false),
        (Tuple(a), Tuple(b)) => checks_parts(witness, [a, b], true),
        (Interval(a, b, open, close), Interval(c, d, other_open, other_close)) => {
            brackets((open, close) != (other_open, other_close)).or_else(|| {
                checks_parts(witness, [&[a.clone(), b.clone()], &[c.clone(), d.clone()]], true)
            })
        }
        (Matrix(a), Matrix(b)) => {
            let shape = |rows: &[Vec<Tree>]| rows.iter().map(Vec::len).collect::<Vec<_>>();
            brackets(shape(a) != shape(b))
                .or_else(|| checks_parts(witness, [&a.concat(), &b.concat()], true))
        }
        (Labelled(name, a), Labelled(other, b)) => match witness {
            Witness::Proportion(values) if name != other => {
                let equation =
                    |name: &char, value: &Tree| difference(&Tree::Variable(*name), value);
                checks_proportion(values, &equation(name, a), &equation(other, b))
            }
            _ => checks_parts(witness, [std::slice::from_ref(a), std::slice::from_ref(b)], true),
        },
        (Equation(a, b), Equation(c, d)) => {
            let (first, second) = (difference(a, b), difference(c, d));
            match witness {
                Witness::Proportion(values) => checks_proportion(values, &first, &second),
                // The only unknown is `y`, as it stands on one side.
                Witness::Values(values) => {
                    let solution = |equation: &Tree| {
                        let (value, size) = evaluate(equation, &[1.0, 0.0, 1.0])?;
                        Some((Value(-value.0, -value.1), size))
                    };
                    let (here, there) = (solution(&first)?, solution(&second)?);
                    let held = holds(&values.response, here) && holds(&values.ground_truth, there);
                    // `x + y = 12` and `x + y = 13`: two values of one quantity.
                    let named = a == c && checks(values, b, d)?;
                    Some(values.point.is_empty() && are_disjoint(values) && (held || named))
                }
                _ => Some(false),
            }
        }
        _ => Some(false),
    }
}

fn witness(answer: &str, gold: &str) -> (Verdict, Option<Witness>) {
    let gold = Gold::parse(gold, &Options::default()).expect("a readable ground truth");
    (gold.verify_answer(answer), gold.witness(answer))
}

#[derive(Default)]
struct Count {
    wrong: usize,
    checked: usize,
}

impl Count {
    fn add(&mut self, check: Check, row: &str) {
        self.wrong += 1;
        self.checked += usize::from(check.is_some());
        assert_ne!(check, Some(false), "refuted: {row}");
    }
}

#[test]
fn no_witness_against_a_value_is_refuted() {
    let mut count = Count::default();
    for seed in seeds(3000) {
        let random = &mut Random::new(seed ^ (7 << 40));
        let kind = KINDS[random.below(KINDS.len())];
        let tree = defined(kind, 1 + random.below(3), random);
        let mut other =
            if random.one_in(4) { defined(kind, 1, random) } else { tree.perturbed(random) };
        if random.one_in(2) {
            other = rewritten(&other, random);
        }
        let (left, right) =
            (Style::random(random).whole(&other), Style::random(random).whole(&tree));
        let (verdict, witness) = witness(&left, &right);
        assert_eq!(witness.is_some(), matches!(verdict, Verdict::Wrong { .. }), "{left} | {right}");
        let Some(witness) = witness else { continue };
        let check = match &witness {
            Witness::Values(values) => checks(values, &other, &tree),
            _ => Some(false),
        };
        count.add(check, &format!("seed {seed}: {left} | {right} | {witness:?}"));
    }
    assert!(count.checked * 10 > count.wrong * 9, "{} of {}", count.checked, count.wrong);
}

#[test]
fn no_witness_against_a_structure_is_refuted() {
    let mut count = Count::default();
    for seed in seeds(3000) {
        let random = &mut Random::new(seed ^ (8 << 40));
        let structure = Structure::generated(random);
        let Some(other) = structure.perturbed(random) else { continue };
        let (left, right) = (other.text(random), structure.text(random));
        let (verdict, witness) = witness(&left, &right);
        assert!(
            matches!(verdict, Verdict::Wrong { .. }),
            "seed {seed}: {left} | {right} {verdict:?}"
        );
        let witness = witness.unwrap_or_else(|| panic!("seed {seed}: {left} | {right}"));
        let check = checks_structure(&witness, &other, &structure);
        count.add(check, &format!("seed {seed}: {left} | {right} | {witness:?}"));
    }
    assert!(count.checked * 10 > count.wrong * 9, "{} of {}", count.checked, count.wrong);
}
