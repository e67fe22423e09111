//! A sweep: fixed settings, grids and seeds, and the cells they make.

use super::SweepError;
use super::cell::{CellResult, CellSettings};
use messages::plain_words;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::{self, Display};
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
pub struct Plan {
    /// At least one; no two have the same key.
    pub cells: Vec<Cell>,
}

/// One run of a sweep.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Hash of settings and seed: 32 hexadecimal digits.
    pub key: String,
    /// Its value of every grid key of the sweep; a key of another grid is not there.
    pub choices: BTreeMap<String, Value>,
    /// Its seed.
    pub seed: u64,
    /// Fixed settings and choices together.
    pub settings: CellSettings,
}

impl Cell {
    /// Runs the cell.
    pub fn compute(&self) -> CellResult {
        self.settings.compute(self.seed)
    }
}

impl Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&name_of(&self.choices, self.seed))
    }
}

fn name_of(choices: &BTreeMap<String, Value>, seed: u64) -> String {
    let choices = choices.iter().map(|(key, value)| format!("{key} = {value}, "));
    choices.chain([format!("seed {seed}")]).collect()
}

impl Plan {
    /// Reads a sweep, and checks the settings of every cell.
    ///
    /// # Errors
    ///
    /// [`SweepError`], naming key or cell.
    pub fn read(text: &str) -> Result<Self, SweepError> {
        let not_toml = |error: toml::de::Error| SweepError(format!("not TOML: {error}"));
        let sweep: Table = text.parse().map_err(not_toml)?;
        let known = ["seeds", "settings", "grid"];
        if let Some(key) = sweep.keys().find(|key| !known.contains(&key.as_str())) {
            let message = format!("unknown key `{key}`, expected `seeds`, `settings` or `grid`");
            return Err(SweepError(message));
        }
        let seeds = seeds(sweep.get("seeds"))?;
        let settings = match sweep.get("settings") {
            None => Table::new(),
            Some(settings) => table(settings, "settings")?.clone(),
        };
        let mut cells: Vec<Cell> = Vec::new();
        let mut places = BTreeMap::new();
        for grid in grids(sweep.get("grid"))? {
            for choices in choices(&grid) {
                let settings = with(settings.clone(), &choices)?;
                for &seed in &seeds {
                    let cell = cell(settings.clone(), &choices, seed)?;
                    if let Some(place) = places.insert(cell.key.clone(), cells.len()) {
                        let first = &cells[place];
                        let message = format!("cells `{first}` and `{cell}` are the same run");
                        return Err(SweepError(message));
                    }
                    cells.push(cell);
                }
            }
        }
        Ok(Self { cells })
    }

    /// All keys that any grid varies, in alphabetical order.
    pub fn grid_keys(&self) -> Vec<&str> {
        let keys = self.cells.iter().flat_map(|cell| cell.choices.keys());
        let distinct: std::collections::BTreeSet<&str> = keys.map(String::as_str).collect();
        distinct.into_iter().collect()
    }
}

/// The lists of a grid by key, in alphabetical order.
type Grid = BTreeMap<String, Vec<Value>>;

fn seeds(value: Option<&Value>) -> Result<Vec<u64>, SweepError> {
    let Some(value) = value else { return Ok(vec![0]) };
    let expected = "a list of whole numbers, each once, none below 0";
    let refuse = || wrong_type("seeds", value, expected);
    let seeds = value.as_array().ok_or_else(refuse)?;
    let seed = |seed: &Value| seed.as_integer().and_then(|seed| u64::try_from(seed).ok());
    let seeds: Vec<u64> = seeds.iter().map(seed).collect::<Option<_>>().ok_or_else(refuse)?;
    if seeds.is_empty() { Err(refuse()) } else { Ok(seeds) }
}

/// Reads the grids; without any, one grid with a single cell.
fn grids(value: Option<&Value>) -> Result<Vec<Grid>, SweepError> {
    match value {
        None => Ok(vec![Grid::new()]),
        Some(Value::Array(grids)) if !grids.is_empty() => grids.iter().map(grid).collect(),
        Some(value) => Ok(vec![grid(value)?]),
    }
}

fn grid(value: &Value) -> Result<Grid, SweepError> {
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
            let expected = "overlap: expected one of them";
            return Err(SweepError(format!("grid keys `{outer}` and `{inner}` {expected}")));
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
fn with(mut settings: Table, choices: &BTreeMap<String, Value>) -> Result<Table, SweepError> {
    for (key, value) in choices {
        let parts: Vec<&str> = key.split('.').collect();
        let (last, outer) = parts.split_last().expect("a split has a part");
        let mut place = &mut settings;
        for (depth, part) in outer.iter().enumerate() {
            let inner = place.entry(*part).or_insert_with(|| Value::Table(Table::new()));
            let (kind, through) = (inner.type_str(), parts[..=depth].join("."));
            let article = if kind.starts_with(['a', 'e', 'i', 'o']) { "an" } else { "a" };
            place = inner.as_table_mut().ok_or_else(|| {
                let what = format!("which is {article} {kind}, expected a table");
                SweepError(format!("grid key `{key}` leads through `{through}`, {what}"))
            })?;
        }
        place.insert((*last).to_owned(), value.clone());
    }
    Ok(settings)
}

fn cell(settings: Table, choices: &BTreeMap<String, Value>, seed: u64) -> Result<Cell, SweepError> {
    let refused = |reason: &str| SweepError(format!("cell `{}`: {reason}", name_of(choices, seed)));
    let settings: CellSettings = settings.try_into().map_err(|error: toml::de::Error| {
        refused(&plain_words(&error.to_string().trim_end().replace('\n', " ")))
    })?;
    settings.check().map_err(|error| refused(&error.to_string()))?;
    // As the settings were understood, defaults included: another default is another run.
    let canonical = serde_json::to_vec(&(&settings, seed)).expect("settings go into JSON");
    let key = format!("{:.32x}", Sha256::digest(canonical));
    Ok(Cell { key, choices: choices.clone(), seed, settings })
}

fn table<'a>(value: &'a Value, key: &str) -> Result<&'a Table, SweepError> {
    value.as_table().ok_or_else(|| wrong_type(key, value, "a table"))
}

fn wrong_type(key: &str, value: &Value, expected: &str) -> SweepError {
    SweepError(format!("`{key}` is {value}, expected {expected}"))
}
