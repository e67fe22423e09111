//! Cases of KL penalties and of the controller of their coefficient.

use rl_losses::{AdaptiveKl, KlCoefficient, KlController, KlEstimator};
use serde_json::Value;

use super::recorded::{Case, assert_close, numbers};

pub(crate) fn kl_penalty(case: &Case) {
    let log_prob = numbers(case.input("logprob"));
    let reference = numbers(case.input("ref_logprob"));
    for (name, expected) in case.outputs() {
        let estimator: KlEstimator =
            serde_json::from_value(Value::from(name.as_str())).expect("a name of verl's");
        let (values, slopes) = (numbers(&expected["value"]), numbers(&expected["grad"]));
        for (token, (new, old)) in std::iter::zip(&log_prob, &reference).enumerate() {
            let term = estimator.term(new - old);
            assert_close(term.value, values[token], &format!("{name} of token {token}"));
            assert_close(term.d_log_prob, slopes[token], &format!("slope of {name} at {token}"));
        }
    }
    assert_eq!(case.outputs().len(), 13, "names recorded");
}

pub(crate) fn adaptive_kl(case: &Case) {
    let settings = AdaptiveKl {
        initial: case.param_number("init"),
        target: case.param_number("target"),
        horizon: case.param_number("horizon"),
    };
    let mut controller = KlController::new(KlCoefficient::Adaptive(settings)).expect("settings");
    let samples: Vec<usize> =
        serde_json::from_value(case.input("n_steps").clone()).expect("counts");
    let measured = std::iter::zip(numbers(case.input("kls")), samples);
    for ((kl, samples), expected) in measured.zip(numbers(case.output("values"))) {
        controller.update(kl, samples).expect("a finite divergence");
        // Coefficients are of the order of 1e-3.
        assert_close(controller.coefficient() / expected, 1.0, case.name());
        // A checkpoint in between changes nothing.
        let text = serde_json::to_string(&controller).expect("plain numbers");
        controller = serde_json::from_str(&text).expect("what was written");
    }
}
