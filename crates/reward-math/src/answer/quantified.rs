//! Statements with quantifiers, whose order counts: `\forall y\,\exists x\,(x > y)`.

use super::{Node, readings, spelling};
use crate::table::{pattern, unwrapped};

/// Most quantifiers before a statement.
const MOST: usize = 8;

/// Returns the quantifiers of `\exists x \in \mathbb{R} \text{ such that } x^2 \le 0`, each with its name and set, and the
/// statement behind them.
pub(super) fn statement(folded: &str) -> Option<Node> {
    if !folded.contains("forall") && !folded.contains("exist") {
        return None;
    }
    let quantifier = pattern!(
        r"(?x)^(?:\\(forall)(?-u:\b)|\\exists(?-u:\b)|\\text\s*\{\s*[Tt]here\x20exists?(?:\x20an?)?\s*\}) \s*([a-z])\s*
        (?:\\in\s*(\\mathbb\s*\{?[A-Z]\}?(?:\^\{?[+*]\}?)?|[A-Z](?-u:\b)))?
        (?:[\s,:;]|\\[,;:\x20]|\\q?quad|\\mid(?-u:\b)|\\text\s*\{[\s,]*(?:such\x20that|with|s\.t\.|so\x20that)[\s,]*\}|such\x20that\x20)*"
    );
    let (mut rest, mut parts) = (folded, Vec::new());
    while let Some(prefix) = quantifier.captures(rest).filter(|_| parts.len() < MOST) {
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
    parts.push(readings::read(rest).unwrap_or_else(words));
    Some(Node::tuple(parts))
}
