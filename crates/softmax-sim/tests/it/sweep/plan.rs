//! A sweep: fixed settings, grids and seeds, and the cells they make.

use softmax_sim::sweep::{CellSettings, Plan};

/// A plan of runs on the cart and pole.
fn plan(text: &str) -> Plan {
    Plan::read(&text.replace("SETTINGS", "[settings.cart-pole]")).expect("a plan")
}

fn message(text: &str) -> String {
    let text = text.replace("SETTINGS", "[settings.cart-pole]");
    Plan::read(&text).expect_err("it is refused").to_string()
}

#[test]
fn cells_are_the_product_of_the_lists_and_the_seeds() {
    let plan = plan(
        "seeds = [4, 5]\nSETTINGS\nsteps = 9\n[grid]\n\"cart-pole.learning_rate\" = [0.1, 0.2]\n\
         \"cart-pole.steps\" = [1, 2]",
    );
    let cells: Vec<_> = plan
        .cells
        .iter()
        .map(|cell| {
            let CellSettings::CartPole(ppo) = &cell.settings else { panic!("{cell}") };
            (ppo.learning_rate.to_string(), ppo.steps, cell.seed)
        })
        .collect();
    let expected = [(1, 4), (1, 5), (2, 4), (2, 5)];
    assert_eq!(cells[..4], expected.map(|(steps, seed)| ("0.1".to_owned(), steps, seed)));
    assert_eq!(cells.len(), 8);
    assert_eq!(plan.grid_keys(), ["cart-pole.learning_rate", "cart-pole.steps"]);
    let first = "cart-pole.learning_rate = 0.1, cart-pole.steps = 1, seed 4";
    assert_eq!(plan.cells[0].to_string(), first);
}

#[test]
fn a_key_says_what_runs_and_not_how_it_was_written() {
    let key = |text| plan(text).cells[0].key.clone();
    let default = key("SETTINGS");
    assert_eq!(default.len(), 32);
    assert_eq!(default, key("SETTINGS\nsteps = 128"));
    assert_eq!(default, key("seeds = [0, 1]\nSETTINGS\n[grid]\n\"cart-pole.steps\" = [128, 7]"));
    assert_ne!(default, key("seeds = [1]\nSETTINGS"));
    assert_ne!(default, key("SETTINGS\nepochs = 5"));
}

#[test]
fn several_grids_are_put_together() {
    let grids = |rate: &str, steps: &str| {
        format!(
            "SETTINGS\n[[grid]]\n\"cart-pole.learning_rate\" = {rate}\n[[grid]]\n\"cart-pole.steps\" = {steps}"
        )
    };
    let plan = plan(&grids("[1.0]", "[7, 8]"));
    assert_eq!(plan.cells.len(), 3);
    assert_eq!(plan.cells[2].choices.len(), 1);
    assert_eq!(
        message(&grids("[0.001]", "[128]")),
        "cells `cart-pole.learning_rate = 0.001, seed 0` and `cart-pole.steps = 128, seed 0` are the same run"
    );
}

#[test]
fn mistakes_are_named() {
    for (text, expected) in [
        ("seed = [1]", "unknown key `seed`, expected `seeds`, `settings` or `grid`"),
        ("seeds = [-1]", "`seeds` is [-1], expected a list of whole numbers"),
        ("seeds = 3", "`seeds` is 3, expected a list of whole numbers"),
        ("seeds = [1, 1]\nSETTINGS", "cells `seed 1` and `seed 1` are the same run"),
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
        (
            "SETTINGS\n[grid]\n\"cart-pole.steps\" = [1, 0]",
            "cell `cart-pole.steps = 0, seed 0`: `steps` is 0, expected at least 1",
        ),
        ("[settings", "not TOML: "),
    ] {
        let error = message(text);
        assert!(error.starts_with(expected), "{text}: {error}");
    }
}
