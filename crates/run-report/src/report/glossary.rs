//! Symbols and units.

use figures::Block;
use figures::html::Table;

/// Builds the table of symbols, from lines `symbol | meaning | unit`.
pub(super) fn blocks() -> Vec<Block> {
    let headings = ["Symbol", "Meaning", "Unit"];
    let mut table = Table::new("Symbols and units of this page.", &headings, |_| false);
    for line in include_str!("glossary.txt").lines() {
        let mut cells: Vec<String> = line.split(" | ").map(str::to_owned).collect();
        cells[1] = format!("<span class=\"wrap\">{}</span>", cells[1]);
        table.html_row(cells);
    }
    vec![Block::Html(table.html())]
}
