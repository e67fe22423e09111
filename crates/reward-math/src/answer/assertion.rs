//! The last statement of a derivation or sentence, where the text as a whole is no value and no relation.

use super::measure::is_copula;
use super::{Node, Relation, list};
use crate::parser::Parser;
use crate::table::{captured, mentions, pattern, phrases, single};
use crate::token::{Kind, Token};
use crate::words::{self, is_conjunction};

/// Longest derivation that is read, in tokens.
const LONGEST: usize = 1024;

/// Returns the statement behind the last sign or word of conclusion. Labels that are no mathematics become words.
///
/// `None` if the text sets a condition, or takes something back.
pub(super) fn asserted(tokens: &[Token]) -> Option<Node> {
    if tokens.len() > LONGEST {
        return None;
    }
    let mut tokens = without_boxes(Parser::aligned(tokens))?;
    without_opening(&mut tokens);
    let tokens = without_remarks(tokens);
    if takes_back(&tokens) {
        return None;
    }
    let mut beside_place = divides(&tokens);
    let conclusion = conclusion(tokens);
    let (label, value, tail) = sentence(&conclusion);
    beside_place |= tail.first().is_some_and(|token| first_word(&token.kind) == Some("at"));
    let answer = Parser::new(value.to_vec()).answer();
    match (answer, label) {
        (Ok(Node::Words(_)) | Err(_), _) => {}
        // What is said beside an equation bounds it, but for the place of a value.
        (Ok(Node::Chain { .. }), _) if tail.iter().any(relates) && !beside_place => return None,
        // "all odd integers n ≥ 3" are not all of these.
        (Ok(Node::Chain { mut sides, relations }), Some(label))
            if matches!(relations.as_slice(), [relation] if *relation != Relation::Equal)
                && pattern!(r"\b(?:‹kind of number›)s?\b").is_match(&label) =>
        {
            let name = sides[0].symbol()?;
            sides[0] = Node::Words([label.trim_end(), " ", name].concat());
            return Some(Node::Chain { sides, relations });
        }
        (Ok(node @ Node::Chain { .. }), _) | (Ok(node), None) => return Some(node),
        (Ok(node), Some(label)) => return Some(Node::equation(Node::Words(label), node)),
    }
    let statements = split(value, separates);
    let several = statements.len() > 1;
    let statements: Option<Vec<Node>> = statements
        .into_iter()
        .filter(|statement| !statement.is_empty())
        .map(|statement| chain(statement).filter(|_| !several || starts_with_formula(statement)))
        .collect();
    statements.filter(|statements| !statements.is_empty()).map(|items| list(' ', ' ', items))
}

/// Removes the source or reason at the beginning: "By the law of cosines, ".
fn without_opening(tokens: &mut [Token]) {
    let opening = pattern!(r"^\s*(?i:by|using|applying|with|since|because|as) [^,]*,\s*(.*)$");
    if let Some(first) = tokens.first_mut()
        && let Some(rest) = first.kind.word().and_then(|words| captured(opening, words))
    {
        first.kind = Kind::Word(rest.as_str().to_owned());
    }
}

/// Returns true if words beside labels set a condition, or take something back.
fn takes_back(tokens: &[Token]) -> bool {
    let divides = divides(tokens);
    let taken_back = |word: &str| {
        let word = words::without_event(&word.to_lowercase());
        // "attained when"
        words::takes_back(&if divides { word.replacen("when", "", 1) } else { word })
    };
    outside_labels(tokens).any(|word| !is_conjunction(word) && taken_back(word))
}

/// Returns true for "7 when N is divided by 11" and "4, attained when x = 1".
fn divides(tokens: &[Token]) -> bool {
    words_of(tokens).any(|text| mentions("before a place", text))
}

/// Removes marks of the end of a proof.
pub(super) fn without_closing_mark(tokens: &mut Vec<Token>) {
    let is_mark =
        |token: &Token| token.kind.is_any("✓✔✅■□∎◼.", "blacksquare square Box checkmark qed");
    while tokens.len() > 1 && tokens.pop_if(|token| is_mark(token)).is_some() {}
}

/// Removes boxes around a statement or its value; `None` for a box within a calculation.
fn without_boxes(mut tokens: Vec<Token>) -> Option<Vec<Token>> {
    while let Some(start) = tokens.iter().position(|token| token.kind.is_any("", "boxed fbox")) {
        let close = start + 1 + Parser::exactly(&tokens[start + 1..])?.bracket()?.0;
        let before = start.checked_sub(1).map(|last| &tokens[last].kind);
        let begins = before.is_none_or(|kind| kind.word().is_some() || kind.is_symbol('='));
        if !begins || tokens.len() > close + 1 {
            return None;
        }
        tokens.remove(close);
        tokens.drain(start..start + 2);
    }
    Some(tokens)
}

/// Removes remarks in brackets that begin with a word: `x = 3\ (\text{reject } x = -1)`. A condition stays.
fn without_remarks(mut tokens: Vec<Token>) -> Vec<Token> {
    // `2 or 6 (6 is extraneous)`: what the remark rejects is no answer.
    let named = |tokens: &[Token], place: &std::ops::RangeInclusive<usize>| {
        let step = tokens[..*place.start()].iter().rposition(|token| concludes(&token.kind));
        let step = step.map_or(0, |sign| sign + 1);
        let rest = tokens[step..*place.start()].iter().chain(&tokens[*place.end() + 1..]);
        let rest: Vec<&Kind> = rest.map(|token| &token.kind).collect();
        let mut inside = tokens[place.clone()].iter().map(|token| &token.kind);
        inside.any(|kind| matches!(kind, Kind::Number { .. }) && rest.contains(&kind))
    };
    let remark = |tokens: &[Token]| {
        (1..tokens.len()).find_map(|at| {
            let begins = tokens[at].kind.is_symbol('(')
                && tokens
                    .get(at + 1)
                    .is_some_and(|next| next.kind.word().is_some() || relates(next));
            let apart = tokens[at].spaced || tokens[at - 1].kind.word().is_some();
            // `\text{ (the root } t = -1 \text{ is rejected)}`
            let holds =
                |at: usize, sign| tokens[at].kind.word().is_some_and(|text| text.contains(sign));
            let close = if tokens[at].kind.word().is_some_and(|text| text.starts_with('(')) {
                let closes = |at: &usize| holds(*at, ')') || tokens[*at].kind.is_symbol(')');
                (at..tokens.len()).find(closes)?
            } else {
                closing(tokens, at)
                    .filter(|close| apart && (begins || rejects(&tokens[at..=*close])))?
            };
            let keeps = words_of(&tokens[at..=close])
                .any(|word| objects(word) || words::takes_back(&word.to_lowercase()));
            let rejected = rejects(&tokens[at..=close]);
            let drops = if rejected { !named(tokens, &(at..=close)) } else { !keeps };
            drops.then_some(at..=close)
        })
    };
    while let Some(place) = remark(&tokens) {
        tokens.drain(place);
    }
    tokens
}

/// Returns true for a remark against what is said: "(but with replacement, as here, it is".
pub(super) fn objects(remark: &str) -> bool {
    pattern!(r"(?i)^[\s(]*(?:but|however|correction|actually)\b").is_match(remark)
}

fn words_of(tokens: &[Token]) -> impl Iterator<Item = &str> {
    tokens.iter().filter_map(|token| token.kind.word())
}

fn rejects(tokens: &[Token]) -> bool {
    words_of(tokens).any(|text| mentions("rejects a value", &text.to_lowercase()))
}

/// Returns the position of the bracket that closes the one at `open`.
fn closing(tokens: &[Token], open: usize) -> Option<usize> {
    let opens = tokens[open].kind.is_any("([{", "");
    let rest = Parser::exactly(tokens.get(open..).filter(|_| opens)?)?;
    Some(open + rest.bracket()?.0)
}

/// Returns the words but those in the argument or index of a letter: `P(\text{at least one})` is a label.
fn outside_labels(tokens: &[Token]) -> impl Iterator<Item = &str> {
    let mut inside = Vec::new();
    for start in 1..tokens.len() {
        let letter = matches!(tokens[start - 1].kind, Kind::Letter(_)) && !tokens[start].spaced;
        if letter || tokens[start - 1].kind.is_symbol('_') {
            inside.extend(start..closing(tokens, start).unwrap_or(start));
        }
    }
    let words = tokens.iter().enumerate().filter(move |(at, _)| !inside.contains(at));
    words.filter_map(|(_, token)| token.kind.word())
}

/// Returns the value of `\text{the minimum is } 4 \text{ at } x = 1` behind its verb, its circumstances, other words as a label.
fn sentence(tokens: &[Token]) -> (Option<String>, &[Token], &[Token]) {
    let places = outside_brackets(tokens);
    let word = |at: usize| tokens.get(at).and_then(|token| token.kind.word());
    let circumstance = |at: usize| {
        let word = first_word(&tokens[at].kind).map(str::to_lowercase);
        word.is_some_and(|word| phrases("circumstance").contains(&word.as_str()))
    };
    let verb = places.iter().rposition(|&at| {
        let labels = |verb| is_copula(verb) && at > 0 && word(at - 1).is_some();
        let states = word(at).is_some_and(|verb| {
            let verbs = phrases("verb of a sentence");
            verbs.contains(&verb) || labels(verb) || verb.trim_end().ends_with(['为', '是'])
        });
        states && at + 1 < tokens.len() && word(at + 1).is_none()
    });
    // What comes before is one statement, or circumstances.
    let verb = verb.filter(|verb| {
        let several = places[..*verb].iter().any(|&at| separates(&tokens[at].kind));
        !several || circumstance(0)
    });
    let verb = verb.map(|verb| places[verb]).or_else(|| only_formula(tokens));
    let start = verb.map_or(0, |verb| verb + 1);
    let copula = places.iter().rfind(|at| word(**at).is_some_and(is_copula)).copied();
    let head = start.max(copula.unwrap_or(0));
    let end = places.iter().copied().find(|at| *at > head && circumstance(*at));
    let end = end.unwrap_or(tokens.len());
    let (head, value, tail) = (&tokens[..start], &tokens[start..end], &tokens[end..]);
    // "where k is any real constant" says nothing but the kind of a letter.
    let introduces =
        !tail.is_empty() && first_word(&tail[0].kind) == Some("where") && !tail.iter().any(relates);
    let others = head.iter().chain(if introduces { &[] } else { tail });
    let others = others.filter(|token| !token.kind.word().is_some_and(words::takes_back));
    let words: Vec<String> = others.map(|token| token.kind.describe().replace('`', "")).collect();
    let label = (!words.is_empty()).then(|| format!("value {}", words.join(" ").to_lowercase()));
    (label, value, tail)
}

/// Returns the last word before the only formula of a sentence: "The car runs 20 miles", "it wins with probability 1/3".
fn only_formula(tokens: &[Token]) -> Option<usize> {
    let word = |at: usize| tokens.get(at).and_then(|token| token.kind.word());
    let opens = (1..tokens.len()).filter(|at| word(*at).is_none() && word(at - 1).is_some());
    let only = single(opens)? - 1;
    let label: String = (0..=only).map_while(word).collect::<Vec<_>>().join(" ");
    let names = pattern!(r"(?i)\b(?:‹before a bare value›)(?: ‹approximates›)?\s*$");
    let rest = label.trim_end();
    let last = rest.rsplit(' ').next().unwrap_or_default().to_lowercase();
    let sentence = (0..=only).all(|at| word(at).is_some()) && rest.split_whitespace().count() > 2;
    let value = names.is_match(&label) || !phrases("before no value").contains(&last.as_str());
    (sentence && value).then_some(only)
}

fn relates(token: &Token) -> bool {
    token.kind.is_any("=<>", "le ge leq geq ne neq in")
}

/// Returns the tokens behind the last sign or word of conclusion, and before a reason.
fn conclusion(mut tokens: Vec<Token>) -> Vec<Token> {
    let reason = tokens.iter().position(|token| {
        token.kind.is_any("", "because Leftarrow")
            || token.kind.word().is_some_and(|text| {
                text.split_whitespace().any(|word| matches!(word, "because" | "since"))
            })
    });
    if let Some(reason) = reason.filter(|reason| *reason > 0) {
        // "24 orders; since it is a circle, $3! = 6$": the reason of what follows.
        let leads = tokens[reason].kind.word().is_some_and(|text| text.trim_end().ends_with(','));
        if leads && reason + 1 < tokens.len() {
            tokens.drain(..=reason);
        } else {
            tokens.truncate(reason);
        }
    }
    split(&tokens, concludes).pop().unwrap_or_default().to_vec()
}

fn first_word(kind: &Kind) -> Option<&str> {
    kind.word()?.trim_start_matches([',', ';', ' ']).split_whitespace().next()
}

/// Returns true for `\Rightarrow`, "so" and the like.
fn concludes(kind: &Kind) -> bool {
    const SIGNS: &str = "implies Rightarrow Longrightarrow rightarrow longrightarrow to rightsquigarrow iff Leftrightarrow \
                         Longleftrightarrow longleftrightarrow leftrightarrow therefore";
    kind.is_any("", SIGNS) || kind.word().is_some_and(words::concludes)
}

fn separates(kind: &Kind) -> bool {
    kind.is_any(",;", "") || kind.word().is_some_and(is_conjunction)
}

/// Splits at tokens outside of all brackets and environments.
fn split(tokens: &[Token], splits: fn(&Kind) -> bool) -> Vec<&[Token]> {
    let mut parts = Vec::new();
    let mut start = 0;
    for position in outside_brackets(tokens) {
        if splits(&tokens[position].kind) {
            parts.push(&tokens[start..position]);
            start = position + 1;
        }
    }
    parts.push(&tokens[start..]);
    parts
}

/// Returns the positions of the tokens outside of all brackets and environments, the outermost brackets included.
fn outside_brackets(tokens: &[Token]) -> Vec<usize> {
    let mut positions = Vec::new();
    let Some(mut parser) = Parser::exactly(tokens) else { return positions };
    while parser.peek().is_some() {
        positions.push(parser.position);
        parser.skip();
    }
    positions
}

fn starts_with_formula(statement: &[Token]) -> bool {
    statement[0].kind.word().is_none()
}

/// Reads sides joined by relations. Only the first may hold words, and none of them may be the last.
fn chain(statement: &[Token]) -> Option<Node> {
    let mut parser = Parser::exactly(statement)?;
    let (mut sides, mut relations) = (Vec::new(), Vec::new());
    let mut start = 0;
    loop {
        let end = parser.position;
        let relation = parser.eat_relation();
        if relation.is_none() && end < statement.len() {
            parser.skip();
            continue;
        }
        let side = &statement[start..end];
        let first = sides.is_empty();
        match Parser::new(side.to_vec()).answer() {
            Ok(node) if first || !matches!(node, Node::Words(_)) => sides.push(node),
            _ if relation.is_some() && !side.is_empty() && (first || starts_with_formula(side)) => {
                sides.push(Node::Words(label(side)?));
            }
            _ => return None,
        }
        let Some(relation) = relation else { break };
        relations.push(relation);
        start = parser.position;
    }
    (!relations.is_empty()).then_some(Node::Chain { sides, relations })
}

/// Returns the text of a label; `None` if a sign outside of its brackets makes the statement another.
fn label(side: &[Token]) -> Option<String> {
    const SIGNS: &str =
        "mid nmid not notin subset subseteq parallel perp mapsto forall cong sim propto";
    let foreign = |kind: &Kind| {
        kind.is_any("?", SIGNS) || matches!(kind, Kind::Command(name) if name.ends_with("arrow"))
    };
    let outside = outside_brackets(side);
    if outside.iter().any(|position| foreign(&side[*position].kind)) {
        return None;
    }
    // `P(\text{at least one})`
    let is_name = |(at, token): &(usize, &Token)| {
        outside.contains(at) || !token.kind.word().is_some_and(words::takes_back)
    };
    let names = side.iter().enumerate().filter(is_name);
    let name = |token: &Token| match token.kind.word() {
        Some(word) => word.to_lowercase(),
        None => token.kind.describe().replace('`', ""),
    };
    Some(names.map(|(_, token)| name(token)).collect::<Vec<_>>().join(" "))
}
