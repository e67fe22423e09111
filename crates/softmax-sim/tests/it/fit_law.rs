//! `softmax-sim fit-law` as it is called from outside.

mod fit;
mod points;
mod rows;

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn fit_law(file: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_softmax-sim"))
        .arg("fit-law")
        .arg(file)
        .args(arguments)
        .output()
        .expect("the binary was built with the tests")
}

/// A run on the exact law R = -0.2 exp(H) + 0.95.
fn run_csv() -> String {
    let rows = (0..50u32).map(|step| {
        let entropy = 1.2 * (-0.08 * f64::from(step)).exp();
        format!("{step},{entropy},{}", 0.95 - 0.2 * entropy.exp())
    });
    std::iter::once("step,entropy,reward".to_owned()).chain(rows).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_law_is_fitted_forecast_and_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let (file, svg) = (folder.path().join("run.csv"), folder.path().join("law.svg"));
    std::fs::write(&file, run_csv()).unwrap();
    let output = fit_law(&file, &["--json", "--prefix", "0.15", "--figure", svg.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let fit: Value = serde_json::from_slice(&output.stdout).unwrap();
    let near =
        |value: &Value, expected: f64| (value.as_f64().expect("a number") - expected).abs() < 1e-9;
    assert!(near(&fit["a"]["value"], 0.2) && near(&fit["b"]["value"], 0.95), "{fit}");
    assert!(near(&fit["ceiling"]["value"], 0.75) && near(&fit["r_squared"], 1.0), "{fit}");
    let forecast = &fit["forecasts"][0];
    assert!(near(&forecast["rmse"], 0.0) && forecast["points"] == 8, "{fit}");
    assert!(forecast["linear_rmse"].as_f64() > Some(0.01), "{fit}");
    let svg = std::fs::read_to_string(svg).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("Entropy (nats)"), "{svg}");
    let refused = fit_law(&file, &["--figure", "law.png"]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
}

#[test]
fn a_bad_row_is_reported_and_the_others_are_used() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.csv");
    std::fs::write(&file, run_csv().replace("\n3,", "\n3,x")).unwrap();
    let output = fit_law(&file, &[]);
    assert_eq!(output.status.code(), Some(1));
    let problems = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(problems.starts_with("line 5: column `entropy` is `x0.9"), "{problems}");
    assert!(
        problems.ends_with("expected a finite number\n1 of 50 rows were not used\n"),
        "{problems}"
    );
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        table.starts_with("R = -a exp(H) + b over 49 points\n  a              0.20000"),
        "{table}"
    );
}

#[test]
fn what_cannot_be_fitted_ends_with_2_and_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.csv");
    for (text, arguments, expected) in [
        (
            "entropy,reward\n1,0.5\n",
            &[][..],
            "error: no fit: a fit of two coefficients needs at least 2 points, found 1",
        ),
        ("entropy,reward\n1,0.5\n1,0.6\n", &[], "error: no fit: entropy is 1 at all 2 points"),
        ("H,reward\n1,0.5\n", &[], "run.csv: line 1: no column `entropy`; expected it among: H, "),
        ("entropy,reward\n1,0.5\n2,0.6\n", &["--prefix", "2"], "prefix 2; expected a share"),
        // Names of columns command no terminal.
        ("\u{1b}[31mH,reward\n1,0.5\n", &[], "expected it among: ·[31mH, "),
    ] {
        std::fs::write(&file, text).unwrap();
        let output = fit_law(&file, arguments);
        assert_eq!(output.status.code(), Some(2), "{text}");
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(errors.contains(expected), "{errors}");
    }
}
