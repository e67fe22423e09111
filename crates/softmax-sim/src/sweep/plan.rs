//! A sweep: fixed settings, grids and seeds, and the cells they make.

use messages::plain_words;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::{self, Display, Write as _};
use thiserror::Error;
use toml::{Table, Value};

/// The cells of a sweep, in the order of the grid: the last key of a grid varies fastest, seeds
/// faster still.
///
/// ```toml
/// seeds = [0, 1, 2]              # default [0]
/// [settings]                     # what all cells have in common
/// [grid]                         # or several [[grid]], whose cells are put together
/// "training.method.entropy_bonus" = [0.0, 0.01]
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Plan<C> {
    /// At least one; no two have the same key.
    pub cells: Vec<Cell<C>>,
}

/// One run of a sweep.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell<C> {
    /// Hash of settings and seed: 32 hexadecimal digits.
    pub key: String,
    /// Its value of every grid key of the sweep; a key of another grid is not there.
    pub choices: BTreeMap<String, Value>,
    /// Its seed.
    pub seed: u64,
    /// Fixed settings and choices together.
    pub settings: C,
}

impl<C> Display for Cell<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (key, value) in &self.choices {
            write!(f, "{key} = {value}, ")?;
        }
        write!(f, "seed {}", self.seed)
    }
}

/// Why a configuration is no sweep.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum PlanError {
    /// Not TOML.
    #[error("not TOML: {0}")]
    Syntax(String),
    /// An unknown key at the top level.
    #[error("unknown key `{0}`, expected `seeds`, `settings` or `grid`")]
    UnknownKey(String),
    /// A key holds something else than it should.
    #[error("`{key}` is {found}, expected {expected}")]
    Type {
        /// The key.
        key: String,
        /// Value found, in words.
        found: String,
        /// Value expected, in words.
        expected: &'static str,
    },
    /// Two keys of a grid set the same setting.
    #[error("grid keys `{outer}` and `{inner}` overlap: expected one of them")]
    Overlap {
        /// The shorter key.
        outer: String,
        /// The key within it.
        inner: String,
    },
    /// A grid key leads through a value that is not a table.
    #[error("grid key `{key}` leads through `{through}`, which is {found}, expected a table")]
    NoTable {
        /// The key.
        key: String,
        /// The part of it that is no table.
        through: String,
        /// Type of that part, with its article.
        found: String,
    },
    /// The settings of a cell are not those of a run.
    #[error("cell `{cell}`: {reason}")]
    Settings {
        /// Its choices and seed.
        cell: String,
        /// Reason, in words.
        reason: String,
    },
    /// Two cells are the same run.
    #[error("cells `{first}` and `{second}` are the same run")]
    Twice {
        /// One of them.
        first: String,
        /// The other.
        second: String,
    },
}

impl<C: Serialize + DeserializeOwned> Plan<C> {
    /// Reads a sweep, and checks the settings of every cell with `check`.
    ///
    /// # Errors
    ///
    /// [`PlanError`], naming key or cell.
    pub fn parse<E: Display>(
        text: &str,
        check: impl Fn(&C) -> Result<(), E>,
    ) -> Result<Self, PlanError> {
        let sweep: Table =
            text.parse().map_err(|error: toml::de::Error| PlanError::Syntax(error.to_string()))?;
        let known = ["seeds", "settings", "grid"];
        if let Some(key) = sweep.keys().find(|key| !known.contains(&key.as_str())) {
            return Err(PlanError::UnknownKey(key.clone()));
        }
        let seeds = seeds(sweep.get("seeds"))?;
        let settings = match sweep.get("settings") {
            None => Table::new(),
            Some(settings) => table(settings, "settings")?.clone(),
        };
        let mut cells: Vec<Cell<C>> = Vec::new();
        let mut places = BTreeMap::new();
        for grid in grids(sweep.get("grid"))? {
            for choices in choices(&grid) {
                let settings = with(settings.clone(), &choices)?;
                for &seed in &seeds {
                    let cell = cell(settings.clone(), &choices, seed, &check)?;
                    if let Some(place) = places.insert(cell.key.clone(), cells.len()) {
                        let (first, second) = (cells[place].to_string(), cell.to_string());
                        return Err(PlanError::Twice { first, second });
                    }
                    cells.push(cell);
                }
            }
        }
        Ok(Self { cells })
    }
}

impl<C> Plan<C> {
    /// All keys that any grid varies, in alphabetical order.
    pub fn grid_keys(&self) -> Vec<&str> {
        let keys = self.cells.iter().flat_map(|cell| cell.choices.keys());
        let distinct: std::collections::BTreeSet<&str> = keys.map(String::as_str).collect();
        distinct.into_iter().collect()
    }
}

/// The lists of a grid by key, in alphabetical order.
type Grid = BTreeMap<String, Vec<Value>>;

fn seeds(value: Option<&Value>) -> Result<Vec<u64>, PlanError> {
    let Some(value) = value else { return Ok(vec![0]) };
    let expected = "a list of whole numbers, each once, none below 0";
    let refuse = || wrong_type("seeds", value, expected);
    let seeds = value.as_array().ok_or_else(refuse)?;
    let seed = |seed: &Value| seed.as_integer().and_then(|seed| u64::try_from(seed).ok());
    let seeds: Vec<u64> = seeds.iter().map(seed).collect::<Option<_>>().ok_or_else(refuse)?;
    if seeds.is_empty() { Err(refuse()) } else { Ok(seeds) }
}

/// Reads the grids; without any, one grid with a single cell.
fn grids(value: Option<&Value>) -> Result<Vec<Grid>, PlanError> {
    match value {
        None => Ok(vec![Grid::new()]),
        Some(Value::Array(grids)) if !grids.is_empty() => grids.iter().map(grid).collect(),
        Some(value) => Ok(vec![grid(value)?]),
    }
}

fn grid(value: &Value) -> Result<Grid, PlanError> {
    let mut lists = Grid::new();
    for (key, list) in table(value, "grid")? {
        let expected = "a list of at least one value (write a dotted key in quotes)";
        match list.as_array() {
            Some(list) if !list.is_empty() => lists.insert(key.clone(), list.clone()),
            _ => return Err(wrong_type(&format!("grid.{key}"), list, expected)),
        };
    }
    for outer in lists.keys() {
        let within = format!("{outer}.");
        if let Some(inner) = lists.keys().find(|key| key.starts_with(&within)) {
            return Err(PlanError::Overlap { outer: outer.clone(), inner: inner.clone() });
        }
    }
    Ok(lists)
}

/// Every combination of the lists; the last key varies fastest.
fn choices(grid: &Grid) -> Vec<BTreeMap<String, Value>> {
    let mut all = vec![BTreeMap::new()];
    for (key, list) in grid {
        let with_each = |choices: BTreeMap<String, Value>| {
            list.iter().map(move |value| {
                let mut choices = choices.clone();
                choices.insert(key.clone(), value.clone());
                choices
            })
        };
        all = all.into_iter().flat_map(with_each).collect();
    }
    all
}

/// The settings with the choices put in their places.
fn with(mut settings: Table, choices: &BTreeMap<String, Value>) -> Result<Table, PlanError> {
    for (key, value) in choices {
        let mut parts: Vec<&str> = key.split('.').collect();
        let last = parts.pop().expect("a split has a part");
        let mut place = &mut settings;
        let mut through = String::new();
        for part in parts {
            let _ = write!(through, "{}{part}", if through.is_empty() { "" } else { "." });
            let inner = place.entry(part).or_insert_with(|| Value::Table(Table::new()));
            let type_name = inner.type_str();
            place = inner.as_table_mut().ok_or_else(|| PlanError::NoTable {
                key: key.clone(),
                through: through.clone(),
                found: with_article(type_name),
            })?;
        }
        place.insert(last.to_owned(), value.clone());
    }
    Ok(settings)
}

fn cell<C: Serialize + DeserializeOwned, E: Display>(
    settings: Table,
    choices: &BTreeMap<String, Value>,
    seed: u64,
    check: &impl Fn(&C) -> Result<(), E>,
) -> Result<Cell<C>, PlanError> {
    let named = |reason: String| PlanError::Settings {
        cell: Cell { key: String::new(), choices: choices.clone(), seed, settings: () }.to_string(),
        reason,
    };
    let settings: C = settings.try_into().map_err(|error: toml::de::Error| {
        named(plain_words(&error.to_string().trim_end().replace('\n', " ")))
    })?;
    check(&settings).map_err(|reason| named(reason.to_string()))?;
    // As the settings were understood, defaults included: another default is another run.
    let canonical =
        serde_json::to_vec(&(&settings, seed)).map_err(|error| named(error.to_string()))?;
    let key = format!("{:.32x}", Sha256::digest(canonical));
    Ok(Cell { key, choices: choices.clone(), seed, settings })
}

fn table<'a>(value: &'a Value, key: &str) -> Result<&'a Table, PlanError> {
    value.as_table().ok_or_else(|| wrong_type(key, value, "a table"))
}

fn wrong_type(key: &str, value: &Value, expected: &'static str) -> PlanError {
    PlanError::Type { key: key.to_owned(), found: value.to_string(), expected }
}

fn with_article(kind: &str) -> String {
    let article = if kind.starts_with(['a', 'e', 'i', 'o']) { "an" } else { "a" };
    format!("{article} {kind}")
}
