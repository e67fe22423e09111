//! Readings of an answer's text: the plain one, and those by rarer conventions.

use std::cmp::Ordering;

use dashu::Rational;
use regex::Captures;

use super::{Node, Relation, assertion, expansion, logic, notation, spelling, substance};
use crate::expression::Expression;
use crate::numeric;
use crate::parser::{Parser, Result};
use crate::relation;
use crate::table::{captured, lists, pattern, unwrapped};
use crate::token::{Kind, Token, in_letters, may_be_product, tokenize};
use crate::verdict::ParseError;
use crate::words;

/// Longest formula that is written out for each value of its index, in bytes.
const MAX_WRITTEN_OUT: usize = 1024;

/// Fuel for the comparison of two constants that should be one.
const COMPARISON_FUEL: u64 = 4096;

/// Most quantifiers before a statement.
const MOST_QUANTIFIERS: usize = 8;

/// Returns all readings of the text: first the plain one, then those by rarer conventions.
pub(super) fn readings(
    folded: &str,
    in_rows: bool,
    unread: &mut Option<ParseError>,
) -> std::result::Result<Vec<Node>, ParseError> {
    if let Some(all) = notations(folded) {
        return Ok(vec![all]);
    }
    if let Some(measures) = restated_measure(folded) {
        return measures;
    }
    // "x = 3, i.e. 5"
    if let Some([Some(first), Some(second)]) = restated(folded)
        && differ(&first, &second)
    {
        return Err(ParseError::Undecided);
    }
    let rewritten = spelling::rewritten(folded);
    let rewritten = logic::events(&rewritten);
    let rewritten = notation::concentrations(&rewritten);
    let mut tokens = tokenize(&rewritten, true)?;
    assertion::without_closing_mark(&mut tokens);
    let grouped = has_groups(&tokens);
    // `8mL^2`
    let product = || parse(in_letters(&tokens)?).ok();
    let mut readings = match parse(tokens.clone()) {
        Ok(first) if tokens.len() == 1 || may_be_product(&tokens) => {
            std::iter::once(first).chain(product()).collect()
        }
        Ok(first) => vec![first],
        Err(why @ (ParseError::Syntax { .. } | ParseError::Undefined { .. })) => {
            match (product(), words::normalise(folded)) {
                (Some(product), _) => vec![product],
                (None, Some(words)) => {
                    *unread = Some(why).filter(|_| words::holds_formula(folded));
                    vec![Node::Words(words)]
                }
                (None, None) => return Err(why),
            }
        }
        Err(why) => return Err(why),
    };
    let others = others(folded, &readings[0]);
    readings.extend(others);
    readings.extend(if grouped { ungrouped(&rewritten) } else { None });
    // `\overline{AB}` is a segment first.
    if let Some(circuit) = logic::circuit(folded).map(Node::Words) {
        readings.insert(usize::from(!folded.contains('+')), circuit);
    }
    readings.extend(beside_words(&readings, folded, in_rows, &tokens));
    if folded.len() <= MAX_WRITTEN_OUT {
        readings.extend(expansion::members(&readings[0]));
    }
    if readings.len() > 1 && unread.take().is_some() {
        // The value that a text with formulas asserts, not its words.
        readings.remove(0);
    }
    Ok(readings)
}

/// Returns what a notation that is read alone says: an order, parts with labels, logic, a span.
fn notations(folded: &str) -> Option<Node> {
    // An order of points or people: a product of as many variables would be equal in any order.
    let order = || {
        let is_order = folded.len() >= 3 && folded.bytes().all(|byte| byte.is_ascii_uppercase());
        is_order.then(|| Node::Words(folded.to_lowercase()))
    };
    // `\text{(b) No, they are dependent}`
    let verdict = pattern!(r"^(?:\\text\s*\{)?\s*((?i:yes|no|true|false)),\s.*$");
    let parts = || {
        let parts = spelling::labelled_parts(folded)?;
        tuple(parts.iter().map(|part| unwrapped(verdict, part)))
    };
    let spanned = pattern!(
        r"^(?:[^=(]{1,24}=\s*)?\\?(?:operatorname|text|mathrm)\s*\{\s*[sS]pan\s*\}(?:_\{?\\mathbb\s*\{?R\}*)?\s*(.+)$"
    );
    let span = || {
        let spanned = folded.contains("pan").then(|| spanned.captures(folded))??;
        notation::span(&read(&spanned[1])?)
    };
    // `2H_2 + O_2 \to 2H_2O`, of which no side is the answer.
    let reaction = || {
        let arrow = ["arrow", "harpoons", "\\to", "->"].iter().any(|sign| folded.contains(sign));
        let spelled = arrow.then(|| spelling::spelling(folded))?;
        (substance::formula(&spelled).as_ref() == Some(&spelled)).then_some(spelled)
    };
    let words = || {
        logic::statement(folded)
            .or_else(|| {
                logic::cycles(unwrapped(pattern!(r"^(?:\\?[a-z]+\s*)+=\s*(\(.*)$"), folded))
            })
            .or_else(|| notation::decision(folded).map(str::to_owned))
            .or_else(reaction)
    };
    spelling::in_base(folded)
        .map(|number| Expression::Number(number).into())
        .or_else(order)
        .or_else(|| path(folded))
        .or_else(|| expansion::permutations(folded))
        .or_else(parts)
        .or_else(|| named(folded).map(Node::bare))
        .or_else(|| words().map(Node::Words))
        .or_else(span)
}

/// Returns the members of `2 \to 3 \to 5` and `A \to B \to D` in their order; `p \to q \to r` is a statement.
pub(super) fn path(folded: &str) -> Option<Node> {
    let arrow = pattern!(r"\\(?:to|rightarrow|longrightarrow)(?-u:\b)|->");
    let member = pattern!(r"^(?:[A-Z][0-9]?'?|-?[0-9]+|\\(?:text|mathrm)\s*\{[A-Za-z0-9 ]+\})$");
    let letter = pattern!(r"^\\(?:text|mathrm)\s*\{\s*([A-Z])\s*\}$");
    let parts = arrow.split(folded).map(|part| unwrapped(letter, part.trim()));
    let parts: Vec<&str> = parts.collect();
    if parts.len() < 3 || !parts.iter().all(|part| member.is_match(part)) {
        return None;
    }
    tuple(parts)
}

fn tuple<'a>(parts: impl IntoIterator<Item = &'a str>) -> Option<Node> {
    parts.into_iter().map(read).collect::<Option<_>>().map(Node::tuple)
}

/// Returns the equations of `\text{Ana: } 12, \text{Ben: } 15` and "Ana has 12 and Ben 15": names, each with its value.
fn named(folded: &str) -> Option<Vec<Node>> {
    if !folded.contains([',', ';']) && !folded.contains("and") || folded.contains('=') {
        return None;
    }
    let plain = pattern!(r"\\(?:text|mathrm|textbf)\s*\{([^{}]*)\}").replace_all(folded, " $1 ");
    let plain = pattern!(r"\\[,;\x20]|\\q?quad(?-u:\b)").replace_all(&plain, " ");
    let pair = pattern!(
        r"^\s*(?:(\p{Alphabetic}[\p{Alphabetic}\x20]*?)\s*:\s*(\S.*?)|([A-Z][a-z]+)\s+(?:(?:is|has|gets)\s+)?([0-9].*?))\s*$"
    );
    let equation = |text: &str| {
        let parts = pair.captures(text)?;
        let (name, value) = (parts.get(1).or(parts.get(3))?, parts.get(2).or(parts.get(4))?);
        let label = match name.as_str() {
            letter if letter.chars().count() == 1 => Expression::symbol(letter).into(),
            name => Node::Words(words::normalise(name)?),
        };
        Some(Node::equation(label, read(value.as_str())?))
    };
    let pairs: Vec<Node> =
        pattern!(r"[,;]|\band\b").split(&plain).map(equation).collect::<Option<_>>()?;
    (pairs.len() > 1).then_some(pairs)
}

/// Returns the readings of a text that may be a measure, a continued fraction, a permutation or an interval.
fn others(folded: &str, first: &Node) -> Vec<Node> {
    // `44.8 L`: a product, or a measure.
    let measure = pattern!(
        r"^((?:[^=]{1,48}?\s*(?:=|\\approx|\\simeq)\s*){0,3}-?(?:[0-9.]*\\sqrt\s*\{?[0-9]+\}?|[0-9][0-9.,]*)(?:\s*(?:\\times|\\cdot|\*|x)\s*10\^\{?-?[0-9]+\}?)?(?:[eE][-+]?[0-9]+)?)(?: ([mghsNJWVKLA]|[A-Za-zμΩ](?:[A-Za-zμΩ*/() ]|\\cdot |\^\{?-?[0-9]+\}?){1,24})|(m\^\{?[23]\}?))$"
    );
    let measured = measure.captures(folded).and_then(|parts| {
        let unit = parts.get(2).or(parts.get(3))?.as_str().replace("\\cdot", " ").replace('*', " ");
        let text = || format!("{}\\text{{ {unit}}}", parts[1].replace(" x ", "\\times "));
        words::is_measure(&unit).then(|| read(&text()))?
    });
    let permutation = if let Node::Matrix(rows) = first { logic::permutation(rows) } else { None };
    let short = folded.len() <= MAX_WRITTEN_OUT;
    let other = short.then(|| defined(first)).flatten().or_else(|| ends(folded, first));
    // `m\dot v(t) + b v(t) = f(t)`: the names of functions of time.
    let timed = pattern!(r"\\d?dot(?-u:\b)|\\frac\s*\{\s*d[^{}]*\}\s*\{\s*d\s*t");
    let timed = (folded.contains("(t)") && folded.contains('=') && timed.is_match(folded))
        .then(|| read(&folded.replace("(t)", " ")));
    // `6e-10`: Euler's number.
    let natural = pattern!(r"^(-?[0-9]+)e([-+][0-9]+)$");
    let natural = natural.captures(folded).map(|parts| format!("{}*e{}", &parts[1], &parts[2]));
    // `\text{diverges to } -\infty`
    let diverges =
        folded.contains("diverges to") && first.plain().is_some_and(|value| value.holds("\\infty"));
    let pairs = notation::eigenpairs(folded).map(|pairs| pairs.into_iter().map(tuple));
    let once = [
        natural.and_then(|text| read(&text)),
        diverges.then(|| Node::Words("diverges".to_owned())),
        starred(folded),
        measured,
        notation::with_continued_fractions(folded).and_then(|text| read(&text)),
        permutation.map(Node::Words),
        other,
        timed.flatten(),
        with_multiplicities(folded).and_then(|text| read(&text)),
        pairs.and_then(Iterator::collect::<Option<_>>).map(Node::bare),
        in_rows(folded),
    ];
    once.into_iter().chain(restated(folded).into_iter().flatten()).flatten().collect()
}

/// Returns the value of `P` for `P^* = 20`, but none for the conjugate `z^* = 3 - 4i` and the adjoint matrix `A^*`.
fn starred(folded: &str) -> Option<Node> {
    let name = pattern!(r"^([a-zA-Z])\s*\^\s*\{?\s*(?:\*|\\ast|\\star)\s*\}?\s*=([^=]+)$");
    let parts = name.captures(folded)?;
    let value = read(&parts[2])?;
    let real = value.expression().is_some_and(|value| !value.holds("i"));
    let fits = real && !value.names().contains(&parts[1]);
    fits.then(|| Node::equation(Expression::symbol(&parts[1]).into(), value))
}

/// Returns `2, 2, 5` for `\lambda = 2 \text{ (multiplicity 2)}, \lambda = 5`.
fn with_multiplicities(folded: &str) -> Option<String> {
    let counted = pattern!(
        r"(?:\\?[a-zA-Z]+(?:_\{?[0-9]\}?)?\s*=\s*)?([-0-9a-z\\{}]+?)(?:\s|\\[,;\x20]|\\text\s*\{)*\(?(?:with )?(?:algebraic )?multiplicity[\s}$=]*([1-4])[\s}$]*\)?\}?"
    );
    let times = |parts: &Captures<'_>| {
        let count = parts[2].parse().unwrap_or(1);
        vec![&parts[1]; count].join(", ")
    };
    folded.contains("multiplicity").then(|| counted.replace_all(folded, times).into_owned())
}

/// Returns the points of `\begin{cases} x = -1, & y = -9 \\ x = 4, & y = 8 \end{cases}`: each row gives all names a value.
fn in_rows(folded: &str) -> Option<Node> {
    let environment = pattern!(
        r"(?s)^\\begin\{(?:cases|array|aligned|gathered)\}(?:\{[lrc|]*\})?(.*)\\end\{[a-z]+\}$"
    );
    let inside =
        folded.starts_with("\\begin").then(|| captured(environment, folded)).flatten()?.as_str();
    let mut names: Option<Vec<String>> = None;
    let point = |row: &str| {
        let row = read(&row.replace('&', " "))?;
        let labels =
            row.items().iter().map(|item| Some(relation::labelled(item)?.0.symbol()?.to_owned()));
        let mut labels: Vec<String> = labels.collect::<Option<_>>()?;
        labels.sort_unstable();
        let alike = labels.len() > 1 && *names.get_or_insert_with(|| labels.clone()) == labels;
        alike.then(|| relation::named_values(row.items()).map(Node::tuple))?
    };
    let rows = pattern!(r"\\\\(?:\[[0-9.]+[a-z]{2}\])?").split(inside);
    let points: Vec<Node> = rows.map(point).collect::<Option<_>>()?;
    (points.len() > 1).then(|| Node::bare(points))
}

/// Returns both statements of `N = \frac{100!}{2^{50}}\text{, i.e. } 100! \text{ divided by } 2^{50}`, where they are read.
fn restated(folded: &str) -> Option<[Option<Node>; 2]> {
    let restates =
        pattern!(r"\s*(?:[,(]\s*)?(?:\\text\s*\{[\s,(]*)?(?:‹says it again›)[,\s]*\}?\s*");
    let signs = ["i.e.", "that is", "equivalently", "precisely", "value being"];
    if !signs.iter().any(|sign| folded.contains(sign)) {
        return None;
    }
    match restates.split(folded).collect::<Vec<_>>()[..] {
        [before, behind] if !before.is_empty() => {
            let closed = behind.matches('(').count() < behind.matches(')').count();
            let behind = behind.strip_suffix(')').filter(|_| closed).unwrap_or(behind);
            Some([&spelling::with_brace(before), behind].map(read))
        }
        _ => None,
    }
}

/// Returns both readings of `50 \text{ mL (0.050 L)}`, or the first if the second is rounded; an error if they differ.
fn restated_measure(folded: &str) -> Option<std::result::Result<Vec<Node>, ParseError>> {
    let pattern = pattern!(
        r"^(.*[0-9}]\s*(?:\\[,;\x20]\s*)*\\(?:text|mathrm)\s*\{[^{}()]*?)\s*(\}?)\s*(?:\\[,;\x20]\s*)*\((?:\s|=|≈|~|\\approx|about|approximately|roughly|or)*([0-9][^()]*)\)\s*(\}?)$"
    );
    let parts = folded.ends_with([')', '}']).then(|| pattern.captures(folded))??;
    let second = pattern!(
        r"^([-0-9.,eE]+(?:\s*(?:\\times|\\cdot)\s*10\^\{?-?[0-9]+\}?)?)\s*((?:\\|[A-Za-zμ]).*)$"
    );
    let second = second.captures(&parts[3])?;
    let measure = match &second[2] {
        formula if formula.starts_with('\\') => parts[3].to_owned(),
        unit => format!("{}\\text{{ {unit}}}", &second[1]),
    };
    let (first, second) = (read(&format!("{}}}", &parts[1]))?, read(&measure)?);
    let value = relation::asserted(&first).map_or(&first, |assertion| assertion.value);
    let factor = words::conversion(value.unit()?, second.unit()?)?;
    let (converted, other) =
        (value.expression()?.clone() * Expression::Number(factor), second.expression()?);
    let mut fuel = COMPARISON_FUEL;
    if numeric::order(&converted, other, &mut fuel) == Some(Ordering::Equal) {
        return Some(Ok(vec![first, second]));
    }
    let percent = Rational::from_parts(2.into(), 100_u8.into());
    let ratio = converted / other.clone();
    let near = numeric::is_within(&ratio, &Rational::ONE, &percent, &mut fuel);
    Some(if near { Ok(vec![first]) } else { Err(ParseError::Undecided) })
}

/// Returns true for values of which each is another number.
fn differ(first: &Node, second: &Node) -> bool {
    let parts = |node| relation::asserted(node).map_or((None, node), |a| (a.label, a.value));
    let ((label, first), (other, second)) = (parts(first), parts(second));
    let mut fuel = COMPARISON_FUEL;
    let one_name = label == other || label.is_none() || other.is_none();
    one_name
        && first.plain().zip(second.plain()).is_some_and(|(first, second)| {
            numeric::order(first, second, &mut fuel).is_some_and(Ordering::is_ne)
        })
}

/// Returns `a = 2\varphi` with the value of the letter that stands behind it: `, \varphi = \frac{1 + \sqrt5}{2}`.
fn defined(reading: &Node) -> Option<Node> {
    let Node::List { open: ' ', items, .. } = reading else { return None };
    let [items @ .., Node::Chain { sides, relations }] = items.as_slice() else { return None };
    let ([name, value], [Relation::Equal]) = (sides.as_slice(), relations.as_slice()) else {
        return None;
    };
    let name =
        name.symbol().filter(|name| items.iter().any(|item| item.names().contains(*name)))?;
    // `y = x` beside `y = -x` defines nothing.
    let labels =
        |item: &Node| matches!(item, Node::Chain { sides, .. } if sides[0].names().contains(name));
    // `r^2, r = 3 + \sqrt2`: a formula and its only letter.
    let formula = matches!(items, [item] if item.plain().is_some());
    let letter = name.starts_with('\\') || formula;
    let value =
        value.plain().filter(|value| !value.holds(name) && (letter || value.has_variable()))?;
    if items.iter().any(labels) || items.len() > 1 && value.has_variable() {
        return None;
    }
    let defined = |item: &Node| item.with(name, value);
    Some(if let [item] = items {
        defined(item)
    } else {
        Node::bare(items.iter().map(defined).collect())
    })
}

/// Returns the ends of `13.2 \pm 1.1` as an interval.
fn ends(folded: &str, reading: &Node) -> Option<Node> {
    let Node::List { open: ' ', items, .. } = reading else { return None };
    let [high, low] = items.as_slice() else { return None };
    let plain = |end: &Node| end.plain().is_some_and(|end| !end.has_variable());
    let centred = pattern!(r"[^\s(=]\s*\\pm").is_match(folded);
    (centred && plain(high) && plain(low)).then(|| Node::tuple(vec![low.clone(), high.clone()]))
}

/// Returns the number that an answer in words says, the value behind a label, what it asserts, "no" of "No, there is none".
fn beside_words(readings: &[Node], folded: &str, in_rows: bool, tokens: &[Token]) -> Vec<Node> {
    let number = |words: &str| words::number(words).map(|number| Expression::Number(number).into());
    let verdict = pattern!(r"^(?:\\text\{)?(\p{Alphabetic}{2,8})[,.;:](?: |\\})");
    let verdict = verdict.captures(folded).and_then(|verdict| words::normalise(&verdict[1]));
    let verdict = verdict.filter(|verdict| lists("yes no true false", verdict));
    // "Yes, the series converges": the statement behind it.
    let behind = verdict.as_ref().and_then(|_| folded.split_once([',', '.', ';', ':']));
    let behind = behind.map(|(_, rest)| rest.trim_start_matches('}'));
    let doubts =
        pattern!(r"(?i), (?:but|except|unless|но|aber|pero|mais|mas) |\bonly (?:if|for|when)\b");
    let verdict = verdict
        .filter(|_| !words::is_conditional(&folded.to_lowercase()) && !doubts.is_match(folded));
    match readings {
        [Node::Words(words)] => {
            if let Some(number) = number(words) {
                return vec![number];
            }
            let labelled = spelling::behind_label(folded).and_then(read);
            let asserted = || assertion::asserted(tokens).filter(|_| !in_rows);
            let value = labelled.filter(|node| !matches!(node, Node::Words(_))).or_else(asserted);
            let counted = words::only_number(words);
            // "All three strips have the same area."
            let of_all = pattern!(r"^(?i:\\text\{)?(?i:all|both|each|every|any|these|those) ")
                .is_match(folded);
            let counted = counted.filter(|_| !of_all && !words::takes_back(&folded.to_lowercase()));
            let counted = counted.map(|number| Expression::Number(number).into());
            let statement = match behind.filter(|_| verdict.is_some()) {
                Some(behind) => words::stated(behind).or_else(|| words::normalise(behind)),
                None => words::stated(folded),
            };
            let statements = verdict.into_iter().chain(statement).map(Node::Words);
            value.or(counted).into_iter().chain(statements).collect()
        }
        // "one hundred and five"
        [Node::List { open: ' ', items, .. }]
            if items.iter().all(|item| matches!(item, Node::Words(_))) =>
        {
            let number =
                |words: String| words::number(&words).or_else(|| words::only_number(&words));
            let number = words::normalise(folded).and_then(number);
            number.map(|number| Expression::Number(number).into()).into_iter().collect()
        }
        // "Yes, $u$ is a constant."
        [Node::List { open: ' ', .. } | Node::Chain { .. }] => {
            verdict.map(Node::Words).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// Returns true if commas may group the digits of a number.
fn has_groups(tokens: &[Token]) -> bool {
    tokens.iter().any(|token| matches!(token.kind, Kind::Number { grouped: true, .. }))
}

/// Returns the plain readings of a text, with commas that group digits and without.
pub(super) fn plain(folded: &str) -> Result<Vec<Node>> {
    let tokens = tokenize(folded, true)?;
    let second = if has_groups(&tokens) { ungrouped(folded) } else { None };
    Ok(std::iter::once(parse(tokens)?).chain(second).collect())
}

/// Returns the plain reading of a text.
pub(super) fn read(folded: &str) -> Option<Node> {
    parse(tokenize(folded, true).ok()?).ok()
}

/// Returns the reading in which commas group no digits.
fn ungrouped(folded: &str) -> Option<Node> {
    parse(tokenize(folded, false).ok()?).ok()
}

fn parse(tokens: Vec<Token>) -> Result<Node> {
    Parser::new(tokens).answer()
}

/// Returns the quantifiers of `\exists x \in A \text{ such that } x \le 0`, each with name and set, and what they state.
pub(super) fn quantified(folded: &str) -> Option<Node> {
    if !folded.contains("forall") && !folded.contains("exist") {
        return None;
    }
    let quantifier = pattern!(
        r"(?x)^(?:\\(forall)(?-u:\b)|\\exists(?-u:\b)|\\text\s*\{\s*[Tt]here\x20exists?(?:\x20an?)?\s*\}) \s*([a-z])\s*
        (?:\\in\s*(\\mathbb\s*\{?[A-Z]\}?(?:\^\{?[+*]\}?)?|[A-Z](?-u:\b)))?
        (?:[\s,:;]|\\[,;:\x20]|\\q?quad|\\mid(?-u:\b)|\\text\s*\{[\s,]*(?:such\x20that|with|s\.t\.|so\x20that)[\s,]*\}|such\x20that\x20)*"
    );
    let (mut rest, mut parts) = (folded, Vec::new());
    while let Some(prefix) = quantifier.captures(rest).filter(|_| parts.len() < MOST_QUANTIFIERS) {
        let sign = if prefix.get(1).is_some() { "all" } else { "some" };
        let set = prefix.get(3).map_or("", |set| set.as_str()).replace(['{', '}', ' '], "");
        parts.push(Node::Words(format!("{sign} {} {set}", &prefix[2])));
        rest = &rest[prefix[0].len()..];
    }
    let rest = unwrapped(pattern!(r"^\(([^()]*(?:\([^()]*\)[^()]*)*)\)$"), rest.trim());
    // `\forall n \ge 1, a_n = 2n`, `\forall x, f(x) = 2x`
    let bounded =
        pattern!(r"^(?:[<>=]|\\(?:[lgn]eq?|in|to)(?-u:\b)|[a-z]\([a-z]\)\s*=)").is_match(rest);
    if parts.is_empty() || rest.is_empty() || bounded {
        return None;
    }
    let words = || Node::Words(spelling::spelling(rest));
    parts.push(read(rest).unwrap_or_else(words));
    Some(Node::tuple(parts))
}
