//! Scripts that the questions are written in: a model that reads one may not read another.

use serde::Serialize;

use super::placed::Placed;

/// A script other than Latin and Greek, which mathematics uses in every language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Script {
    /// Chinese characters, of Chinese or Japanese.
    Han,
    /// Hiragana and katakana.
    Kana,
    /// Korean.
    Hangul,
    /// Russian and other languages.
    Cyrillic,
    /// Arabic and Persian.
    Arabic,
    /// Hindi and other languages.
    Devanagari,
    /// Hebrew.
    Hebrew,
    /// Thai.
    Thai,
}

/// Code point ranges of each script. The Han range is the basic block: the others hold rare characters.
const RANGES: [(Script, u32, u32); 9] = [
    (Script::Han, 0x4e00, 0x9fff),
    (Script::Kana, 0x3041, 0x30ff),
    (Script::Hangul, 0xac00, 0xd7a3),
    (Script::Hangul, 0x1100, 0x11ff),
    (Script::Cyrillic, 0x0400, 0x04ff),
    (Script::Arabic, 0x0620, 0x064a),
    (Script::Devanagari, 0x0904, 0x0939),
    (Script::Hebrew, 0x05d0, 0x05ea),
    (Script::Thai, 0x0e01, 0x0e30),
];

/// Rows that hold a letter of a script.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ScriptRows {
    /// The script.
    pub script: Script,
    /// Rows, in order.
    pub rows: Vec<usize>,
}

/// Returns the scripts that occur, most rows first.
pub(super) fn scripts(questions: &[Placed<'_>]) -> Vec<ScriptRows> {
    let mut rows_of_script: Vec<ScriptRows> = Vec::new();
    for placed in questions {
        for script in scripts_of(&placed.text) {
            match rows_of_script.iter_mut().find(|rows| rows.script == script) {
                Some(rows) => rows.rows.push(placed.row),
                None => rows_of_script.push(ScriptRows { script, rows: vec![placed.row] }),
            }
        }
    }
    rows_of_script.sort_by_key(|rows| std::cmp::Reverse(rows.rows.len()));
    rows_of_script
}

fn scripts_of(text: &str) -> Vec<Script> {
    let mut scripts = Vec::new();
    for letter in text.chars().map(u32::from).filter(|&letter| letter >= 0x0400) {
        for (script, first, last) in RANGES {
            if (first..=last).contains(&letter) && !scripts.contains(&script) {
                scripts.push(script);
            }
        }
    }
    scripts
}

/// Returns true if a character is a word of its own, as in scripts written without spaces.
pub(super) fn is_word_by_itself(letter: char) -> bool {
    ('\u{3400}'..='\u{9fff}').contains(&letter)
}
