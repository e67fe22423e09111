//! The run of a cell, and its figures.

use rl_losses::{AdvantageEstimator, PolicyLoss};
use softmax_sim::environment::TabularSetting;
use softmax_sim::sweep::{CellResult, Plan};
use softmax_sim::training::{Method, Schedule, train};

fn message(text: &str) -> String {
    Plan::read(text).expect_err("the plan is wrong").to_string()
}

#[test]
fn a_cell_runs_the_engine_with_its_settings() {
    let text = "seeds = [3]\n[settings.training.environment.tabular]\nprompts = 6\npositions = 2\n\
                [settings.training.schedule]\nrollouts = 3\ngroup_size = 4\nlearning_rate = 0.7\n\
                [settings.training.method]\nadvantage = \"rloo\"\nloss.kl-cov.fraction = 0.1";
    let plan = Plan::read(text).unwrap();
    let setting = TabularSetting { prompts: 6, positions: 2, ..TabularSetting::CONTROL };
    let method = Method {
        loss: PolicyLoss::KlCov(rl_losses::KlCov::new(0.1, 1.0).unwrap()),
        advantage: AdvantageEstimator::Rloo,
        ..Method::default()
    };
    let schedule = Schedule { rollouts: 3, group_size: 4, ..Schedule::tabular(0.7) };
    let last = *train(&setting.draw(3), &method, &schedule, 3).last();
    let CellResult::Figures(figures) = plan.cells[0].compute() else { panic!("it runs") };
    assert_eq!(figures["entropy"], Some(last.entropy));
    assert_eq!(figures["greedy_reward"], Some(last.greedy_reward));
}

#[test]
fn settings_that_cannot_run_are_named() {
    for (settings, expected) in [
        (
            "[settings.training.method.thermostat]\naccuracy_edges = [0.5]\n\
             thermostat = { target = { start = 1.0, end = 0.5, steps = 9 }, initial = 0.02, low = 1e-3, high = 0.5 }",
            "cell `seed 0`: `thermostat` of `ppo-clip`: the policy loss has no `fraction` to move",
        ),
        ("[settings.trainig]", "cell `seed 0`: unknown variant `trainig`"),
        (
            "[settings.training.environment.tabular]\nactions = 1",
            "cell `seed 0`: `actions` is 1, expected",
        ),
        (
            "[settings.training.environment.size]\nvisible = 65",
            "cell `seed 0`: `features` is 64, expected",
        ),
        (
            "[settings.training.method]\nentropy_bonus = nan",
            "cell `seed 0`: `entropy_bonus` is NaN",
        ),
        (
            "[settings.training.schedule]\nlearning_rate = 0.0",
            "cell `seed 0`: `learning_rate` is 0",
        ),
        (
            "[settings.training.states]\nmemory = 7",
            "cell `seed 0`: `memory` is 7: 2396745 states of a prompt, expected at most 16384",
        ),
        ("[settings.training.states]\nnoise = 1.5", "cell `seed 0`: `noise` is 1.5, expected 0"),
        (
            "[settings.training.schedule]\ntrust_region.kl = 0.0",
            "cell `seed 0`: `kl` is 0, expected a finite number above 0",
        ),
        ("[settings.training.method]\nloss.kl-cov.fraction = 3", "cell `seed 0`: `fraction` is 3"),
        ("[settings.cart-pole]\nsteps = 0", "cell `seed 0`: `steps` is 0, expected at least 1"),
        ("[settings.cart-pole]\nlearning = 0", "cell `seed 0`: unknown field `learning`"),
    ] {
        let error = message(settings);
        assert!(error.starts_with(expected), "{settings}: {error}");
    }
}
