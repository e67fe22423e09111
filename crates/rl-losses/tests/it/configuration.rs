//! Configuration files that are accepted, and the errors of those that are not.

use insta::assert_snapshot;
use rl_losses::{Aggregation, PolicyLoss, PpoClip, presets, registry};
use serde::{Deserialize, Serialize};

use crate::batches::token_weights;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Config<T> {
    value: T,
}

fn policy_loss(toml: &str) -> Result<PolicyLoss, toml::de::Error> {
    toml::from_str::<Config<PolicyLoss>>(toml).map(|config| config.value)
}

/// The part of an error that says what is wrong, without the excerpt of the file.
fn complaint(toml: &str) -> String {
    let error = policy_loss(toml).expect_err("an invalid configuration");
    error.message().to_owned()
}

#[test]
fn an_empty_table_has_the_defaults() {
    for method in registry() {
        let loss = policy_loss(&format!("[value.{}]\n", method.name)).unwrap();
        assert_eq!(loss, method.default);
    }
}

#[test]
fn every_preset_survives_toml_and_json() {
    let presets = presets().iter().map(|preset| preset.loss);
    for loss in presets.chain(registry().iter().map(|method| method.default)) {
        let config = Config { value: loss };
        let text = toml::to_string(&config).unwrap();
        assert_eq!(toml::from_str::<Config<PolicyLoss>>(&text).unwrap(), config, "{text}");
        let text = serde_json::to_string(&config).unwrap();
        assert_eq!(serde_json::from_str::<Config<PolicyLoss>>(&text).unwrap(), config, "{text}");
    }
}

#[test]
fn aggregations_have_the_names_of_verl() {
    let parse = |toml: &str| toml::from_str::<Config<Aggregation>>(toml).map(|config| config.value);
    assert_eq!(parse("value = 'token-mean'").unwrap(), Aggregation::TokenMean);
    assert_eq!(parse("value = 'seq-mean-token-mean'").unwrap(), Aggregation::SeqMeanTokenMean);
    assert_eq!(parse("value = 'seq-mean-token-sum'").unwrap(), Aggregation::SeqMeanTokenSum);
    let norm = parse("value.seq-mean-token-sum-norm = { divisor = 8192.0 }").unwrap();
    assert_eq!(token_weights(&norm, &[1, 1]), [1.0 / 16384.0; 2]);
    let error = parse("value.seq-mean-token-sum-norm = { divisor = -1.0 }").unwrap_err();
    assert_eq!(error.message(), "`divisor` is -1, expected a finite number above 0");
}

#[test]
fn a_misspelt_key_is_shown_where_it_stands() {
    let error = policy_loss("[value.kl-cov]\nfraction = 2e-4\ncoeficient = 1.0\n").unwrap_err();
    assert_snapshot!(error.to_string());
}

#[test]
fn a_misspelt_loss_lists_the_losses() {
    let names: Vec<String> = registry().iter().map(|method| format!("`{}`", method.name)).collect();
    assert_eq!(
        complaint("[value.kl_cov]\n"),
        format!("unknown variant `kl_cov`, expected one of {}", names.join(", "))
    );
}

#[test]
fn numbers_out_of_range_are_refused_with_field_and_value() {
    let cases = [
        "kl-cov: fraction = 0.0",
        "kl-cov: fraction = 1.5",
        "kl-cov: fraction = nan",
        "kl-cov: coefficient = -1.0",
        "clip-cov: fraction = -0.1",
        "clip-cov: covariance_low = 5.0",
        "clip-cov: covariance_high = inf",
        "clip-cov: clip_ratio_low = -0.2",
        "ppo-clip: clip_ratio_high = nan",
        "ppo-clip: clip_ratio_c = 1",
        "ppo-clip: clip_ratio_c = 'none'",
        "kl-cov: scope = 'batch'",
        "covariance-control: fraction = 0",
        "covariance-control: select.band = { covariance_low = 2.0, covariance_high = 1.0 }",
        "covariance-control: treatment.penalise = { coefficient = -1.0 }",
        "covariance-control: treatment.reweight = { factor = -1.0 }",
        "covariance-control: base.ppo-clip = { clip_ratio_low = -1.0 }",
        "cispo: clip_ratio_high = -1.0",
        "gspo: clip_ratio_low = inf",
        "gmpo: clip_ratio_low = nan",
        "sapo: temperature_negative = 0.0",
        "dppo-tv: divergence_low = -0.2",
        "dppo-kl: ratio_ceiling = 1.0",
        "reinforce: beta = 1.0",
        "dro: beta = -0.1",
        "high-entropy: fraction = 20.0",
        "steer: smallest_weight = 0.0",
        "ce-gppo: beta_low = -1.0",
        "sign-weight: positive = -1.0",
        "entropy-ratio-clip: entropy_ratio_low = 1.1",
        "dynamic-clip: ratio_ceiling = 0.5",
        "dppo-tv: pull = -1.0",
        "sequence-mask: divergence = nan",
        "vespo: decay_positive = -1.0",
        "topr: negative = inf",
        "bapo: ratio_low_end = 0.5",
    ];
    let answers = cases.map(|case| {
        let (loss, line) = case.split_once(": ").expect("a loss and a line");
        format!("{case}\n  {}", complaint(&format!("[value.{loss}]\n{line}\n")))
    });
    assert_snapshot!(answers.join("\n"));
}

#[test]
fn dual_clip_can_be_set_and_switched_off() {
    let with = |value: &str| policy_loss(&format!("[value.ppo-clip]\nclip_ratio_c = {value}\n"));
    assert_eq!(with("'off'").unwrap(), PolicyLoss::preset("grpo").unwrap());
    assert_eq!(with("3").unwrap(), PolicyLoss::PpoClip(PpoClip::default()));
}
