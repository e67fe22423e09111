//! `softmax-sim train` as it is called from outside.

use std::path::Path;
use std::process::{Command, Output};

use softmax_sim::environment::TabularSetting;
use softmax_sim::training::{Method, Schedule, Trainer, prompt_information, train};

fn softmax_sim(arguments: &[&str], folder: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_softmax-sim"));
    command
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("the binary was built with the tests")
}

#[test]
fn a_curve_is_that_of_the_library_and_fits_the_law() {
    let folder = tempfile::tempdir().unwrap();
    let config = "environment.tabular = { prompts = 24, positions = 2, actions = 4 }\n\
                  schedule = { rollouts = 12, evaluate_every = 4 }\nmethod.entropy_bonus = 0.01";
    std::fs::write(folder.path().join("run.toml"), config).unwrap();
    let output =
        softmax_sim(&["train", "run.toml", "--seed", "3", "--out", "curve.csv"], folder.path());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let table = String::from_utf8(output.stdout).unwrap();
    assert_eq!(table.lines().count(), 6, "{table}");
    assert!(table.lines().last().unwrap().starts_with("R = -a exp(H) + b: a "), "{table}");

    let environment =
        TabularSetting { prompts: 24, positions: 2, actions: 4, ..TabularSetting::CONTROL }.draw(3);
    let schedule = Schedule { rollouts: 12, evaluate_every: 4, ..Schedule::tabular(0.5) };
    let method = Method::default().with_entropy_bonus(0.01);
    let curve = train(&environment, &method, &schedule, 3);
    let mut trainer = Trainer::new(&environment, method.clone(), schedule, 3).with_entropy_split();
    let written = std::fs::read_to_string(folder.path().join("curve.csv")).unwrap();
    let rows: Vec<&str> = written.lines().collect();
    assert_eq!(
        rows[0],
        "rollouts,entropy,reward,cool_reward,greedy_reward,within_states,visitation,prompt_information"
    );
    let (mut within_states, mut visitation) = (0.0, 0.0);
    for (row, point) in std::iter::zip(&rows[1..], &curve.points) {
        let numbers: Vec<f64> = row.split(',').map(|field| field.parse().unwrap()).collect();
        let expected = [point.entropy, point.reward, point.cool_reward, point.greedy_reward];
        assert_eq!((numbers[0], &numbers[1..5]), (point.rollouts as f64, &expected[..]));
        let information = prompt_information(environment.training(), trainer.parameters());
        assert_eq!(numbers[5..], [within_states, visitation, information.unwrap()], "{row}");
        for _ in 0..schedule.evaluate_every {
            let change = trainer.step().and_then(|report| report.entropy_change);
            let change = change.unwrap_or_default();
            within_states += change.within_states;
            visitation += change.visitation;
        }
    }
    assert!(within_states.abs() > 1e-3, "{within_states}");
    let fit = softmax_sim(&["fit-law", "curve.csv"], folder.path());
    assert_eq!(fit.status.code(), Some(0), "{fit:?}");
}

#[test]
fn a_setting_that_cannot_run_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    for (config, message) in [
        (
            "schedule.rollouts = 0",
            "error: run.toml: `rollouts` is 0, expected a finite number of at least 1\n",
        ),
        ("shedule.rollouts = 3", "unknown field `shedule`"),
        ("schedule.critic_rate = 2.0", "error: run.toml: `critic_rate` is 2, expected 0 to 1\n"),
        (
            "network = { hidden = 0 }",
            "error: run.toml: `hidden` is 0, expected a finite number of at least 1",
        ),
    ] {
        std::fs::write(folder.path().join("run.toml"), config).unwrap();
        let output = softmax_sim(&["train", "run.toml"], folder.path());
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && text.contains(message), "{text}");
    }
    let output = softmax_sim(&["train", "none.toml"], folder.path());
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.starts_with("error: none.toml: cannot read: "), "{text}");
}
