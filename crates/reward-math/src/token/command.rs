//! Lexer of LaTeX commands: their meaning, and the decoration that is removed.

use std::sync::LazyLock;

use super::{Kind, Lexer, group};
use crate::table::{Table, lists, paired, pattern};
use crate::words;

/// Meanings of commands: what is skipped, text, and one name for commands of equal meaning.
static COMMANDS: LazyLock<Table> = LazyLock::new(|| Table::new(include_str!("commands.txt"), ' '));

impl Lexer<'_> {
    pub(super) fn command(&mut self) {
        let rest = &self.text[self.at + 1..];
        let name_length = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        if name_length == 0 {
            self.control_symbol();
            return;
        }
        let name = &rest[..name_length];
        let length = 1 + name_length;
        if matches!(name, "mu" | "Omega") && self.electrical(name, &rest[name_length..], length) {
            return;
        }
        match COMMANDS.name(name).unwrap_or(name) {
            "(bracket)" => {
                self.at += length;
                // `\left.` and `\right.` are brackets that do not show.
                let invisible = pattern!(r"^\s*\.").find(self.rest());
                self.at += invisible.map_or(0, |point| point.len());
            }
            "(nothing)" => self.at += length,
            "(space)" => {
                self.spaced = true;
                self.at += length;
            }
            "(space and group)" => {
                self.spaced = true;
                self.skip_with_group(length);
            }
            "(group)" => self.skip_with_group(length),
            "(text)" => self.text_group(name, length),
            "(over)" => {
                self.skip_with_group(length);
                // `\stackrel{!}{=}`: the closing brace of the sign is dropped.
                if let Some(sign) = group(self.rest()) {
                    self.dropped.push(self.at + sign.len() + 1);
                    self.at += 1;
                }
            }
            "(set)" => {
                let set = name.chars().next().unwrap_or('R').to_ascii_uppercase();
                let set = if set == 'I' { 'Z' } else { set };
                self.push(Kind::Command("mathbb".to_owned()), 0);
                self.push(Kind::Letter(set), length);
            }
            meaning => {
                let mut characters = meaning.chars();
                let kind = match (characters.next(), characters.next()) {
                    (Some(c), None) if !c.is_alphabetic() && !matches!(c, '\\' | '{' | '}') => {
                        Kind::Symbol(c)
                    }
                    (Some(c @ ('d' | 'e' | 'i' | 'j')), None) => Kind::Letter(c),
                    _ => Kind::Command(meaning.to_owned()),
                };
                self.push(kind, length);
            }
        }
    }

    /// Reads `4.7\,\mu\mathrm{F}` and `2200\,\Omega` behind a number as measures.
    fn electrical(&mut self, name: &str, behind: &str, length: usize) -> bool {
        let value = self.behind_value();
        let unit = pattern!(
            r"^\s*(?:\\(?:mathrm|text)\s*\{\s*([A-Za-z]{1,3})\s*\}|([FCAVWHTmsg])(?:[^A-Za-z(^_]|$))"
        );
        let kilo = matches!(self.last(), Some(Kind::Text(text)) if text == "k");
        match unit.captures(behind) {
            // `5\mu m` is a product.
            Some(unit)
                if value
                    && name == "mu"
                    && (self.spaced || !lists("m s g", &unit[0].trim_start()[..1])) =>
            {
                let name = unit.get(1).or(unit.get(2)).map_or(0..0, |name| name.range());
                let end = if unit.get(1).is_some() { unit[0].len() } else { name.end };
                self.push(Kind::Text(format!("μ{}", &behind[name])), length + end);
            }
            None if name == "Omega" && kilo => {
                self.tokens.pop();
                self.push(Kind::Text("kΩ".to_owned()), length);
            }
            None if name == "Omega" && value && self.spaced => {
                self.push(Kind::Text("ohm".to_owned()), length);
            }
            _ => return false,
        }
        true
    }

    /// Reads a backslash before a character that is no letter.
    fn control_symbol(&mut self) {
        let rest = &self.text[self.at + 1..];
        let c = rest.chars().next();
        let length = 1 + c.map_or(0, char::len_utf8);
        match c {
            Some(c @ ('$' | '&')) => self.push(Kind::Symbol(c), length),
            Some('!' | '(' | ')' | '[' | ']') => self.at += length,
            Some(c @ ('{' | '}' | '%' | '|')) => {
                match c {
                    '{' => self.depth += 1,
                    '}' => self.depth = self.depth.saturating_sub(1),
                    _ => {}
                }
                self.push(Kind::Command(c.to_string()), length);
            }
            // `\\` ends a row, `\\[6pt]` with space below it; `\,` `\;` `\ ` and the like are space.
            Some('\\') => {
                let below = pattern!(r"^\\\[[-.0-9][^\]]*[a-z]\]").find(rest);
                let length = below.map_or(length, |row_end| 1 + row_end.len());
                self.push(Kind::Command("\\".to_owned()), length);
            }
            _ => {
                self.spaced = true;
                self.at += length;
            }
        }
    }

    fn skip_with_group(&mut self, length: usize) {
        self.at += length;
        if self.rest().starts_with('*') {
            self.at += 1;
        }
        if let Some(inner) = group(self.rest()) {
            self.at += inner.len() + 2;
        }
    }

    /// Reads `\text{…}`: plain words become text, other content is read as mathematics.
    fn text_group(&mut self, name: &str, length: usize) {
        let after = &self.text[self.at + length..];
        let skipped = after.len() - after.trim_start().len();
        let after = after.trim_start();
        // `\mathrm N` as `\mathrm{N}`.
        let letter = after.chars().next().filter(|c| c.is_alphabetic() && name != "text");
        let (inner, braces) = match (group(after), letter) {
            (Some(inner), _) => (inner.to_owned(), 2),
            (None, Some(letter)) => (letter.to_string(), 0),
            (None, None) => {
                self.at += length;
                return;
            }
        };
        let total = length + skipped + inner.len() + braces;
        let words = inner.trim();
        let only = words.chars().next().filter(|_| words.chars().count() == 1);
        let bold = lists("mathbf bold boldsymbol bm pmb underline", name);
        let is_formula = is_formula(words, bold);
        match only {
            None if words.is_empty() => {
                self.spaced = true;
                self.at += total;
            }
            // The unit vectors, and the factors of a vector product; another letter in bold is that letter.
            Some(c)
                if bold
                    && (matches!(c, 'i'..='k')
                        || self.text[self.at + total..].trim_start().starts_with("\\times")
                        || self.last().is_some_and(|kind| kind.is_command("times"))) =>
            {
                self.push(Kind::Command("vec".to_owned()), 0);
                self.push(Kind::Letter(c), total);
            }
            // `\mathrm{d}x`
            Some('d')
                if pattern!(r"^ *(?:\\[a-z]|[a-zA-Z])").is_match(&self.text[self.at + total..]) =>
            {
                self.push(Kind::Letter('d'), total);
            }
            Some(c)
                if c.is_alphabetic() && c < '\u{3040}' && (bold || matches!(c, 'i' | 'e'))
                    || c.is_ascii_lowercase() && self.expects_operand()
                    || c.is_ascii_uppercase() && self.text[self.at + total..].starts_with('_') =>
            {
                self.push(Kind::Letter(c), total);
            }
            // `9.8\,\mathrm{m\,s^{-2}}`
            _ if words.contains(['\\', '{']) && !bold && self.measure(words, total) => {}
            // `\mathit{ab}` shows as `ab` does.
            _ if words.chars().any(char::is_alphabetic)
                && !is_formula
                && name != "mathit"
                && !words.contains(['\\', '$', '{', '_']) =>
            {
                self.push_text(words, total);
                // `3\text{ h }20`: the number begins apart from the word.
                self.spaced = inner.ends_with(' ');
            }
            _ => {
                // The content is lexed on; the closing brace of the group is dropped.
                self.dropped.push(self.at + total - 1);
                self.at += length + skipped + 1;
            }
        }
    }

    /// Reads names of measures with spaces, dots and powers between them, after a value, as one text.
    fn measure(&mut self, words: &str, length: usize) -> bool {
        const LONGEST: usize = 64;
        let behind_bracket = self.last().is_some_and(|kind| kind.is_symbol(')'));
        // Texts within texts are not searched repeatedly.
        if !(self.behind_value() || behind_bracket) || words.len() > LONGEST {
            return false;
        }
        let phrase = pattern!(r"\\cdot|\\[,;: ]|~").replace_all(words, " ");
        let phrase = phrase
            .replace("\\Omega", "ohm")
            .replace("\\mu ", "μ")
            .replace("\\mu", "μ")
            .replace(['{', '}'], "");
        let is_measure = !phrase.contains('\\') && words::is_measure(&phrase);
        if is_measure {
            self.push(Kind::Text(phrase), length);
        }
        is_measure
    }

    /// Reads words; "is" and ":" at their end make the words a label.
    fn push_text(&mut self, words: &str, length: usize) {
        // A conjunction, a verb or a colon at the end.
        let ending = pattern!(
            r"(?is)^(.+?)\s*(?:\s(and|or)|\s(?:‹copula›|‹verb of a sentence›)(?:\s(?:exactly|only|just|precisely|simply|therefore|thus))?|:)$"
        );
        let Some(parts) = ending.captures(words) else {
            // `f \text{ is even}`
            let begins = self.tokens.len() == 1 && paired("relation in words", words).is_none();
            let words = match words.strip_prefix("is ").filter(|_| begins) {
                Some(behind) => {
                    self.push(Kind::Word("is".to_owned()), 0);
                    behind
                }
                None => words,
            };
            self.push(Kind::Text(words.to_owned()), length);
            return;
        };
        let joining = parts.get(2).map_or("is".to_owned(), |word| word.as_str().to_lowercase());
        self.push(Kind::Text(parts[1].to_owned()), 0);
        self.push(Kind::Word(joining), length);
    }
}

/// Returns true for a number, `x = 7`, and in bold for `a + b`, too.
fn is_formula(words: &str, bold: bool) -> bool {
    pattern!("^(?:[-+.$€£¥0-9]|[A-Za-z] ?= ?-?[0-9])").is_match(words)
        || bold && words.contains(['+', '-', '=', '<', '>', '^', '('])
}
