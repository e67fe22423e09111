//! A sweep: fixed settings, grids and seeds, and the cells they make.

use serde::{Deserialize, Serialize};
use softmax_sim::sweep::{Plan, PlanError};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Settings {
    rate: f64,
    inner: Inner,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Inner {
    steps: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self { rate: 0.5, inner: Inner { steps: 3 } }
    }
}

fn parse(text: &str) -> Result<Plan<Settings>, PlanError> {
    Plan::parse(
        text,
        |settings: &Settings| {
            if settings.rate > 0.0 { Ok(()) } else { Err("`rate` must be above 0") }
        },
    )
}

fn message(text: &str) -> String {
    parse(text).expect_err("it is refused").to_string()
}

#[test]
fn cells_are_the_product_of_the_lists_and_the_seeds() {
    let plan = parse(
        "seeds = [4, 5]\n[settings]\nrate = 2.0\n[grid]\n\"inner.steps\" = [1, 2]\nrate = [0.1, 0.2]",
    )
    .unwrap();
    let cells: Vec<_> = plan
        .cells
        .iter()
        .map(|cell| (cell.settings.inner.steps, cell.settings.rate.to_string(), cell.seed))
        .collect();
    let expected = [
        (1, "0.1".to_owned(), 4),
        (1, "0.1".to_owned(), 5),
        (1, "0.2".to_owned(), 4),
        (1, "0.2".to_owned(), 5),
    ];
    assert_eq!(cells[..4], expected);
    assert_eq!(cells.len(), 8);
    assert_eq!(plan.grid_keys(), ["inner.steps", "rate"]);
    assert_eq!(plan.cells[0].to_string(), "inner.steps = 1, rate = 0.1, seed 4");
}

#[test]
fn a_key_says_what_runs_and_not_how_it_was_written() {
    let key = |text| parse(text).unwrap().cells[0].key.clone();
    let default = key("");
    assert_eq!(default.len(), 32);
    assert_eq!(default, key("[settings]\nrate = 0.5"));
    assert_eq!(default, key("seeds = [0, 1]\n[grid]\nrate = [0.5, 0.7]"));
    assert_ne!(default, key("seeds = [1]"));
    assert_ne!(default, key("[settings.inner]\nsteps = 4"));
}

#[test]
fn several_grids_are_put_together() {
    let plan = parse("[[grid]]\nrate = [1.0]\n[[grid]]\n\"inner.steps\" = [7, 8]").unwrap();
    assert_eq!(plan.cells.len(), 3);
    assert_eq!(plan.cells[2].choices.len(), 1);
    let twice = message("[[grid]]\nrate = [0.5]\n[[grid]]\n\"inner.steps\" = [3]");
    assert_eq!(twice, "cells `rate = 0.5, seed 0` and `inner.steps = 3, seed 0` are the same run");
}

#[test]
fn mistakes_are_named() {
    for (text, expected) in [
        ("seed = [1]", "unknown key `seed`, expected `seeds`, `settings` or `grid`"),
        ("seeds = [-1]", "`seeds` is [-1], expected a list of whole numbers"),
        ("seeds = 3", "`seeds` is 3, expected a list of whole numbers"),
        ("seeds = [1, 1]", "cells `seed 1` and `seed 1` are the same run"),
        ("settings = 3", "`settings` is 3, expected a table"),
        ("[grid]\nrate = 0.1", "`grid.rate` is 0.1, expected a list of at least one value"),
        ("[grid]\nrate = []", "`grid.rate` is [], expected a list of at least one value"),
        ("[grid]\ninner.steps = [1]", "`grid.inner` is { steps = [1] }, expected a list"),
        (
            "[grid]\ninner = [{}]\n\"inner.steps\" = [1]",
            "grid keys `inner` and `inner.steps` overlap",
        ),
        (
            "[settings]\nrate = 0.5\n[grid]\n\"rate.x\" = [1]",
            "grid key `rate.x` leads through `rate`, which is a float, expected a table",
        ),
        ("[settings]\nrat = 1.0", "cell `seed 0`: unknown field `rat`, expected `rate`"),
        ("[grid]\nrate = [1.0, -1.0]", "cell `rate = -1.0, seed 0`: `rate` must be above 0"),
        ("[settings", "not TOML: "),
    ] {
        let error = message(text);
        assert!(error.starts_with(expected), "{text}: {error}");
    }
}
