//! Flats: lines, planes and spans, by a point that runs, `(1, -3, 0) + t(2, 1, 1)`, or by equations, `\frac{x-1}{2} = y + 3 = z`.

use std::collections::BTreeSet;

use dashu::Rational;

use super::Comparison;
use crate::answer::{Answer, Node, Relation};
use crate::expression::Expression;
use crate::relation;
use crate::table::lists;

const COORDINATES: [&str; 3] = ["x", "y", "z"];

/// Names of the numbers with which a point runs, where they are not declared.
const PARAMETERS: &str = "t s r u k c \\lambda \\mu \\alpha \\beta";

/// Most coordinates of a point, and most parameters.
const MOST: usize = 8;

/// Largest numerator and denominator of a number in an equation: elimination multiplies their lengths.
const LARGEST: u32 = 1 << 24;

/// Number of coordinates, and the equations in reduced form: coefficients of the coordinates, and the constant behind them.
type Equations = (usize, Vec<Vec<Rational>>);

/// A flat of a space.
struct Flat {
    equations: Equations,
    /// True if the parameter is not 0, as that of eigenvectors.
    punctured: bool,
    /// Parameters that are not declared.
    free: BTreeSet<String>,
}

impl Comparison {
    /// Returns true if both answers are one line, plane or space, whatever describes it.
    pub(super) fn same_flat(&mut self, response: &Answer, gold: &Answer) -> bool {
        let (response, gold) = (self.flat(response), self.flat(gold));
        response.zip(gold).is_some_and(|(a, b)| {
            // `t(1, 2)` and `t(2, 4)` may be places at a time.
            let places = !a.free.is_empty() && !a.free.is_disjoint(&b.free);
            let undeclared = !a.free.is_empty() || !b.free.is_empty();
            a.equations == b.equations && !places && (a.punctured == b.punctured || undeclared)
        })
    }

    fn flat(&mut self, answer: &Answer) -> Option<Flat> {
        let declared = match (&answer.parameter, &answer.constants) {
            (_, Some(constants)) if is_line(&constants.set) => constants.names.clone(),
            (Some((name, set)), None) if is_line(set) => vec![name.clone()],
            (None, None) => Vec::new(),
            _ => return None,
        };
        let reading = answer.readings.as_ref().ok()?.first()?;
        let (equations, names) = match reading {
            Node::Chain { .. } => match relation::labelled(reading) {
                Some((label, value)) if is_radius(label) => {
                    self.running(&coordinates(value), &declared)?
                }
                _ => (self.implicit(std::slice::from_ref(reading), &[])?, Vec::new()),
            },
            Node::List { open: '(', .. } | Node::Matrix(_) => {
                self.running(&coordinates(reading), &declared)?
            }
            Node::Builder { head, conditions } => {
                let running = conditions.iter().map(parameter).collect::<Option<Vec<_>>>();
                if let Some(names) = running {
                    self.running(&coordinates(head), &names)?
                } else {
                    let names = coordinates(head);
                    let names: Option<Vec<&str>> = names.iter().map(Node::symbol).collect();
                    let stated = conditions.iter().filter(|stated| stated.membership().is_none());
                    let stated = stated.cloned().collect::<Vec<_>>();
                    (self.implicit(&stated, &names?)?, Vec::new())
                }
            }
            Node::List { open: ' ', close: ' ', items } => {
                // `x = 2, \frac{y-1}{3} = \frac z4`
                if let [a, b] = items.as_slice()
                    && (fixes(a, b) || fixes(b, a))
                {
                    let equations = self.implicit(items, &[])?;
                    return Some(Flat { equations, punctured: false, free: BTreeSet::new() });
                }
                // Different coordinates: `y = x` beside `y = -x` are two lines.
                let values = relation::named_values(items).filter(|_| items.iter().all(coordinate));
                let values = values.filter(|values| values.iter().any(Node::has_variable))?;
                // `x = 3 - z, y = 1`: the others are free.
                let free = |name: &String| COORDINATES.contains(&name.as_str());
                if values.iter().flat_map(Node::names).any(|name| free(&name)) {
                    (self.implicit(items, &[])?, Vec::new())
                } else {
                    self.running(&values, &declared)?
                }
            }
            _ => return None,
        };
        let punctured = answer.parameter.as_ref().is_some_and(|(_, set)| set != "R");
        let point = matches!(reading, Node::List { open: '(', .. } | Node::Matrix(_));
        let bound = !declared.is_empty() || !point;
        let free = names.into_iter().filter(|_| !bound).collect();
        Some(Flat { equations, punctured, free })
    }

    /// Returns the equations of the points `(1 + 2t, 3 - t)` for all `t`, and the names of the parameters.
    fn running(&mut self, items: &[Node], declared: &[String]) -> Option<(Equations, Vec<String>)> {
        let used: BTreeSet<String> = items.iter().flat_map(Node::names).collect();
        let known = |name: &String| match declared {
            [] => lists(PARAMETERS, name),
            names => names.contains(name),
        };
        if used.is_empty() || !used.iter().all(known) || !(2..=MOST).contains(&items.len()) {
            return None;
        }
        let names: Vec<String> = used.into_iter().collect();
        let point = |item: &Node| self.coefficients(item.plain()?, &names);
        let points: Vec<Vec<Rational>> = items.iter().map(point).collect::<Option<_>>()?;
        let direction = |place: usize| points.iter().map(|row| row[place].clone()).collect();
        let directions = reduced((0..names.len()).map(direction).collect());
        // A row of zeros but for one free coordinate and the leading ones is normal to each direction.
        let leading: Vec<usize> = directions.iter().filter_map(|row| leading(row)).collect();
        let free = (0..items.len()).filter(|place| !leading.contains(place));
        let normal = |place: usize| {
            let mut row = vec![Rational::ZERO; items.len() + 1];
            row[place] = Rational::ONE;
            for (direction, first) in directions.iter().zip(&leading) {
                row[*first] = -&direction[place];
            }
            let starts = points.iter().map(|row| &row[names.len()]);
            let constant: Rational = row
                .iter()
                .zip(starts)
                .fold(Rational::ZERO, |sum, (part, start)| sum + part * start);
            row[items.len()] = constant;
            row
        };
        Some(((items.len(), reduced(free.map(normal).collect())), names))
    }

    /// Returns the equations of `\frac{x-1}{2} = y = z` and of `x - 2y = 3` in the reduced form, in these coordinates.
    fn implicit(&mut self, stated: &[Node], names: &[&str]) -> Option<Equations> {
        let used: BTreeSet<String> = stated.iter().flat_map(Node::names).collect();
        let usual = &COORDINATES[..if used.contains("z") { 3 } else { 2 }];
        let names = if names.is_empty() { usual } else { names };
        let known = |name: &String| names.contains(&name.as_str());
        if used.is_empty() || !used.iter().all(known) || !(2..=MOST).contains(&names.len()) {
            return None;
        }
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut rows = Vec::new();
        for node in stated {
            let Node::Chain { sides, relations } = node else { return None };
            if relations.iter().any(|relation| *relation != Relation::Equal) {
                return None;
            }
            for pair in sides.windows(2) {
                let side = pair[0].plain()?.clone() - pair[1].plain()?.clone();
                let mut row = self.coefficients(&side, &names)?;
                let constant = row.pop()?;
                row.push(-constant);
                rows.push(row);
            }
        }
        let rows = reduced(rows);
        let inconsistent = rows.iter().any(|row| leading(row) == Some(names.len()));
        (!rows.is_empty() && !inconsistent).then_some((names.len(), rows))
    }

    /// Returns the coefficients of names in a linear function with rational ones, and the constant behind them.
    fn coefficients(&mut self, side: &Expression, names: &[String]) -> Option<Vec<Rational>> {
        let place = |at: usize| {
            let value = move |name: &str| {
                let place = names.iter().position(|known| known == name)?;
                Some(Expression::integer(i64::from(place == at)))
            };
            side.substituted(&value)
        };
        let small = |part: &Rational| {
            u32::try_from(part.denominator().clone()).is_ok_and(|part| part <= LARGEST)
                && i32::try_from(part.numerator()).is_ok_and(|part| part.unsigned_abs() <= LARGEST)
        };
        let mut number =
            |part: &Expression| self.algebra.normalise(part).ok()?.as_constant().filter(small);
        let constant = number(&place(names.len()))?;
        let mut row = Vec::new();
        for name in 0..names.len() {
            row.push(number(&place(name))? - &constant);
        }
        let term = |(name, part): (&String, &Rational)| {
            Expression::Number(part.clone()) * Expression::symbol(name)
        };
        let terms = names.iter().zip(&row).map(term).chain([Expression::Number(constant.clone())]);
        let rest = side.clone() - Expression::sum(terms.collect());
        row.push(constant);
        self.algebra.normalise(&rest).ok()?.numerator.is_zero().then_some(row)
    }
}

/// Returns the place of the first number of a row that is not 0.
fn leading(row: &[Rational]) -> Option<usize> {
    row.iter().position(|part| *part != Rational::ZERO)
}

/// Returns the rows of a matrix in reduced form, without those of zeros.
fn reduced(mut rows: Vec<Vec<Rational>>) -> Vec<Vec<Rational>> {
    let mut rank = 0;
    for column in 0..rows.first().map_or(0, Vec::len) {
        let pivot = (rank..rows.len()).find(|row| rows[*row][column] != Rational::ZERO);
        let Some(pivot) = pivot else { continue };
        rows.swap(rank, pivot);
        let divisor = rows[rank][column].clone();
        rows[rank].iter_mut().for_each(|entry| *entry /= &divisor);
        let pivot = rows[rank].clone();
        for (_, row) in rows.iter_mut().enumerate().filter(|(place, _)| *place != rank) {
            let factor = row[column].clone();
            row.iter_mut().zip(&pivot).for_each(|(entry, part)| *entry -= &factor * part);
        }
        rank += 1;
    }
    rows.truncate(rank);
    rows
}

/// Returns true for the set of all real numbers, and of all but 0.
fn is_line(set: &str) -> bool {
    matches!(set, "R" | "_\\ne0")
}

fn coordinates(point: &Node) -> Vec<Node> {
    match point {
        Node::List { open: '(', items, .. } => items.clone(),
        Node::Matrix(rows) => Node::entries(rows),
        _ => Vec::new(),
    }
}

/// Returns true for an equation of one coordinate.
fn coordinate(item: &Node) -> bool {
    let label = relation::labelled(item).and_then(|(label, _)| label.symbol());
    label.is_some_and(|label| COORDINATES.contains(&label))
}

/// Returns true for `x = 2` beside an equation of the other two coordinates.
fn fixes(fixed: &Node, other: &Node) -> bool {
    let (names, others) = (fixed.names(), other.names());
    let apart = coordinate(fixed) && !coordinate(other) && names.is_disjoint(&others);
    apart && names.len() == 1 && others.len() == 2
}

/// Returns the name of `t \in \mathbb{R}`.
fn parameter(condition: &Node) -> Option<String> {
    let (name, set) = condition.membership()?;
    (set.symbol() == Some("\\mathbb R")).then(|| name.symbol().map(str::to_owned))?
}

/// Returns true for `\vec r`, `r`, `\vec r(t)` and `(x, y, z)`.
fn is_radius(label: &Node) -> bool {
    let is_name = |name: &str| name == "r" || name.starts_with("\\vec ");
    let named = |label: &Expression| match label {
        Expression::Symbol(name) => is_name(name),
        // The arrow may stand over the argument, too.
        Expression::Function(name, inner) if name == "vec" => {
            matches!(inner.as_slice(), [inner] if relation::applied(inner).is_some_and(runs))
        }
        label => {
            relation::applied(label).is_some_and(|(name, of)| is_name(name) && runs((name, of)))
        }
    };
    let point = || {
        let letters = coordinates(label);
        let usual = COORDINATES.iter().map(|name| Some(*name)).take(letters.len());
        letters.len() > 1 && letters.iter().map(Node::symbol).eq(usual)
    };
    label.expression().is_some_and(named) || point()
}

/// Returns true for the value of a function at a parameter.
fn runs((_, argument): (&str, &str)) -> bool {
    lists(PARAMETERS, argument)
}
