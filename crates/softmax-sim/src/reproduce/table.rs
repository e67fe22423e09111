//! A table of an experiment.

use super::seeds::number;
use figures::number_format::significant;
use serde::{Deserialize, Serialize};

/// Rows under headings; the first cell of a row names it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Caption, a sentence of plain text.
    pub heading: String,
    /// Headings with their units: `Entropy at the end (nat)`.
    pub columns: Vec<String>,
    /// Each as long as there are columns.
    pub rows: Vec<Vec<Cell>>,
    /// True of a table that stands in `docs/reproduce.md` too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub on_page: bool,
}

/// A cell of a [`Table`]; numbers are set with three significant digits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Cell {
    /// Plain text.
    Text(String),
    /// A number; a dash if it is not finite.
    Number(#[serde(deserialize_with = "number")] f64),
}

impl Cell {
    /// Formats the cell for display.
    pub fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Number(value) => significant(*value, 3),
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<f64> for Cell {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}

impl Table {
    /// An empty table.
    pub fn new(heading: &str, columns: &[&str]) -> Self {
        let columns = columns.iter().map(|column| (*column).to_owned()).collect();
        Self { heading: heading.to_owned(), columns, rows: vec![], on_page: false }
    }

    /// Puts the table into `docs/reproduce.md` too.
    #[must_use]
    pub fn on_page(self) -> Self {
        Self { on_page: true, ..self }
    }

    /// Adds a row.
    ///
    /// # Panics
    ///
    /// If it has not one cell a column.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        let cells: Vec<Cell> = cells.into_iter().collect();
        assert_eq!(cells.len(), self.columns.len(), "one cell a column of `{}`", self.heading);
        self.rows.push(cells);
    }
}
