//! The methods of a study.

/// The method that the others are compared with.
pub const GRPO: &str = "GRPO";
/// The paper's methods, at the settings that were chosen on other seeds.
pub const CLIP_COV: &str = "Clip-Cov";
/// See [`CLIP_COV`].
pub const KL_COV: &str = "KL-Cov";

/// Part that a method plays.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Role {
    /// GRPO and the paper's methods, on every model.
    Main,
    /// A loss of the paper with its mechanism off.
    Off,
    /// Another estimator of the advantage.
    Estimator,
    /// A common way to keep entropy.
    Ablation,
    /// A value of a knob, by name.
    Knob(&'static str, f64),
}

/// A method of a study.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Method {
    /// Name of its runs.
    pub name: &'static str,
    /// Part that it plays.
    pub role: Role,
    /// Settings beside those of GRPO, as lines of TOML `KEY = VALUE` with dotted keys.
    pub settings: &'static str,
}

const fn method(name: &'static str, role: Role, settings: &'static str) -> Method {
    Method { name, role, settings }
}

/// Share of the tokens that Clip-Cov drops.
pub(super) const CLIP_SHARE: &str = "r of Clip-Cov";
/// Share of the tokens that KL-Cov penalises.
pub(super) const KL_SHARE: &str = "k of KL-Cov";
/// Weight of KL-Cov's penalty.
pub(super) const KL_WEIGHT: &str = "β of KL-Cov";

/// Settings of Clip-Cov: share of the tokens, and bounds of their covariance.
macro_rules! clip_cov {
    ($share:literal, $low:literal, $high:literal) => {
        concat!(
            "algorithm.policy_loss.clip-cov = { fraction = ",
            $share,
            ", covariance_low = ",
            $low,
            ", covariance_high = ",
            $high,
            ", semantics = \"verl\" }"
        )
    };
}

/// Settings of KL-Cov: share of the tokens, and weight of the penalty.
macro_rules! kl_cov {
    ($share:literal, $weight:literal) => {
        concat!(
            "algorithm.policy_loss.kl-cov = { fraction = ",
            $share,
            ", coefficient = ",
            $weight,
            ", semantics = \"verl\" }"
        )
    };
}

/// Every method.
pub const METHODS: [Method; 19] = [
    method(GRPO, Role::Main, ""),
    method(CLIP_COV, Role::Main, clip_cov!("0.04", "1.0", "5.0")),
    method(KL_COV, Role::Main, kl_cov!("0.5", "1.0")),
    method("Clip-Cov-off", Role::Off, clip_cov!("0.04", "1e8", "1e9")),
    method("KL-Cov-off", Role::Off, kl_cov!("0.5", "0.0")),
    method("RLOO", Role::Estimator, "algorithm.advantage = \"rloo\""),
    method("REINFORCE-plus-plus", Role::Estimator, "algorithm.advantage = \"reinforce-plus-plus\""),
    method(
        "PRIME",
        Role::Estimator,
        "algorithm.advantage.prime = { beta = 0.05, scale = \"largest-return\", process_coefficient = 0.3, outcome_coefficient = 1.0 }\n\
         reward_model.update = \"before\"\n\
         reward_model.optimizer = { learning_rate = 1e-4, max_grad_norm = 10.0 }",
    ),
    method("bonus-0.003", Role::Ablation, "algorithm.entropy_coefficient = 0.003"),
    method("bonus-0.03", Role::Ablation, "algorithm.entropy_coefficient = 0.03"),
    method("reference-KL-0.01", Role::Ablation, "algorithm.reference_kl.coefficient.fixed = 0.01"),
    method("reference-KL-0.1", Role::Ablation, "algorithm.reference_kl.coefficient.fixed = 0.1"),
    method(
        "clip-higher",
        Role::Ablation,
        "algorithm.policy_loss.ppo-clip = { clip_ratio_high = 0.28 }",
    ),
    method("Clip-Cov-r0.02", Role::Knob(CLIP_SHARE, 0.02), clip_cov!("0.02", "1.0", "5.0")),
    method("Clip-Cov-r0.06", Role::Knob(CLIP_SHARE, 0.06), clip_cov!("0.06", "1.0", "5.0")),
    method("KL-Cov-k0.1", Role::Knob(KL_SHARE, 0.1), kl_cov!("0.1", "1.0")),
    method("KL-Cov-k0.25", Role::Knob(KL_SHARE, 0.25), kl_cov!("0.25", "1.0")),
    method("KL-Cov-b0.25", Role::Knob(KL_WEIGHT, 0.25), kl_cov!("0.5", "0.25")),
    method("KL-Cov-b0.5", Role::Knob(KL_WEIGHT, 0.5), kl_cov!("0.5", "0.5")),
];

/// Names of the methods of a role.
pub(super) fn names(role: Role) -> Vec<&'static str> {
    METHODS.iter().filter(|method| method.role == role).map(|method| method.name).collect()
}

/// Methods of a knob with their values, ascending: `(value, name)`.
pub(super) fn knob_values(name: &str) -> Vec<(f64, &'static str)> {
    let of_knob = METHODS.iter().filter_map(|method| match method.role {
        Role::Knob(knob, value) if knob == name => Some((value, method.name)),
        _ => None,
    });
    let main = match name {
        CLIP_SHARE => (0.04, CLIP_COV),
        KL_SHARE => (0.5, KL_COV),
        _ => (1.0, KL_COV),
    };
    let mut values: Vec<_> = of_knob.chain([main]).collect();
    values.sort_by(|one, two| one.0.total_cmp(&two.0));
    values
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique() {
        let names: BTreeSet<&str> = METHODS.iter().map(|method| method.name).collect();
        assert_eq!(names.len(), METHODS.len());
    }

    #[test]
    fn knobs_ascend_and_hold_the_main_setting() {
        for (knob, main) in [(CLIP_SHARE, CLIP_COV), (KL_SHARE, KL_COV), (KL_WEIGHT, KL_COV)] {
            let values = knob_values(knob);
            assert!(values.len() == 3 && values.is_sorted_by(|a, b| a.0 < b.0), "{values:?}");
            assert!(values.iter().any(|(_, name)| *name == main), "{values:?}");
        }
    }
}
