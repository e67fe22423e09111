//! The settings of every policy loss and advantage estimator, read off their defaults in `rl-losses`.

use std::borrow::Cow;
use std::fmt::Write as _;

use rl_losses::{AdvantageEstimator, Column, PolicyLoss, Standing, estimators, registry};
use serde::Serialize;
use toml::{Table, Value};

use super::field::{Field, table};

const POLICY_LOSS: &str = "algorithm.policy_loss";
const ADVANTAGE: &str = "algorithm.advantage";

/// Settings that are one of several shapes: a field as a whole.
const WHOLE: [&str; 3] = ["select", "treatment", "base"];

/// What a setting means: the last names of its path, the more of them the stronger.
const MEANINGS: &[(&str, &str)] = &[
    ("clip_ratio_low", "The ratio may fall to 1 - this."),
    (
        "clip_ratio_high",
        "The ratio may rise to 1 + this; more than `clip_ratio_low` is clip-higher.",
    ),
    ("cispo.clip_ratio_low", "The ratio counts as no less than 1 - this."),
    ("cispo.clip_ratio_high", "The ratio counts as no more than 1 + this."),
    ("gspo.clip_ratio_low", "The ratio of the sequence may fall to 1 - this."),
    ("gspo.clip_ratio_high", "The ratio of the sequence may rise to 1 + this."),
    ("gmpo.clip_ratio_low", "A log-ratio may fall to minus this, in nats."),
    ("gmpo.clip_ratio_high", "A log-ratio may rise to this, in nats."),
    ("dynamic-clip.clip_ratio_low", "`ε_low`, from which each token's own bound follows."),
    ("dynamic-clip.clip_ratio_high", "`ε_high`, from which each token's own bound follows."),
    (
        "clip_ratio_c",
        "Ceiling on the ratio where the advantage is negative (dual clip), above 1, or `\"off\"`.",
    ),
    ("ratio_ceiling", "Largest ratio that counts, above 1."),
    (
        "semantics",
        "Which code is imitated: `\"exact\"` (none), `\"paper\"`, `\"prime\"` or `\"verl\"`.",
    ),
    ("clip-cov.fraction", "Share of the tokens whose gradient is dropped, above 0, at most 1."),
    (
        "kl-cov.fraction",
        "Share of the tokens whose move is penalised, those of highest covariance, above 0, at most 1.",
    ),
    ("covariance-control.fraction", "Share of the tokens that are treated, above 0, at most 1."),
    ("high-entropy.fraction", "Share of the tokens that keep their gradient, above 0, at most 1."),
    ("covariance_low", "Lower end of the covariance band that tokens are drawn from."),
    ("covariance_high", "Upper end of that band."),
    (
        "centering",
        "Means that the covariance is centred by: `\"batch\"` as published, or `\"state\"` as in the theory.",
    ),
    (
        "scope",
        "Tokens that are selected from. `\"micro-batch\"`, as in older codes, is refused here: the algorithm would depend on memory.",
    ),
    ("kl-cov.coefficient", "Weight of the penalty, reward per nat, at least 0."),
    (
        "divergence",
        "The penalty on the log-ratio, `\"abs\"` as in the published code, or a KL estimator (`\"k1\"`, `\"k2\"`, `\"k3\"`).",
    ),
    (
        "select",
        "Which tokens: `\"top\"`, those of highest covariance, or `band = { covariance_low, covariance_high }`, a draw.",
    ),
    (
        "treatment",
        "What becomes of them: `penalise = { divergence, coefficient, anchor }` with `anchor` `\"old\"`, `\"rollout\"` or, where `algorithm.reference_kl` is given, `\"reference\"`, `\"drop\"`, `\"detach\"`, `reweight = { factor }`.",
    ),
    (
        "base",
        "The loss that tokens have otherwise: `\"unclipped\"` or `ppo-clip = { … }` with the settings of PPO clip.",
    ),
    ("temperature_positive", "Temperature of the gate where the advantage is positive, above 0."),
    ("temperature_negative", "Temperature of the gate elsewhere, above 0."),
    ("dppo-tv.divergence_low", "How far a token's probability may fall."),
    ("dppo-tv.divergence_high", "How far a token's probability may rise."),
    ("dppo-kl.divergence_low", "Bound on the divergence of a token that falls, in nats."),
    ("dppo-kl.divergence_high", "Bound on the divergence of a token that rises, in nats."),
    ("dro.beta", "Strength of the pull to the old policy, reward per squared nat."),
    ("smallest_weight", "Weight of the token of largest change, above 0, at most 1."),
    ("beta_low", "What remains of the gradient below the region, where the advantage is negative."),
    ("beta_high", "What remains of it above the region, where the advantage is positive."),
    ("positive", "Factor where the advantage is positive."),
    ("negative", "Factor where the advantage is negative."),
    ("entropy_ratio_low", "Smallest ratio of a token's entropies, now to before, that stays."),
    ("entropy_ratio_high", "Largest ratio of a token's entropies that stays."),
    ("discount", "Factor on what follows one token later, in 0..=1."),
    ("reinforce.baseline", "What is taken off: `\"none\"` or `\"batch-mean\"`."),
    (
        "prime.beta",
        "`β` of the implicit reward, reward per nat, above 0: where it judges and where it learns.",
    ),
    (
        "scale",
        "Unit of the process rewards: `\"none\"`, as they are, or `\"largest-return\"`, the largest sum to the end of a response in the batch, in absolute value; PRIME's scripts have the latter.",
    ),
    ("process_coefficient", "Weight of the process rewards, at least 0."),
    ("outcome_coefficient", "Weight of the outcome, at least 0."),
    (
        "prime.baseline",
        "What is taken off a token's process reward: `\"others\"`, the mean of the group's other samples, or `\"scaled\"`, as the authors' code has it.",
    ),
    (
        "whiten",
        "Whether advantages are brought to mean 0 and deviation 1 over the tokens of the step.",
    ),
    ("quantile", "Level of the quantile of the group, in 0..=1."),
    ("k", "Attempts in a set; at most `rollout.group_size`."),
];

/// The settings as fields. Those of estimators that need what the trainer does not have are left out.
pub(super) fn algorithm_fields() -> Vec<Field> {
    let losses = registry().iter().flat_map(|method| settings(POLICY_LOSS, &method.default));
    let estimators =
        feedable().flat_map(|entry| settings(ADVANTAGE, &entry.default)).collect::<Vec<_>>();
    losses.chain(estimators).collect()
}

/// The estimators that a trainer can feed.
fn feedable() -> impl Iterator<Item = rl_losses::EstimatorEntry> {
    estimators().into_iter().filter(|entry| unfed_column_of_estimator(&entry.default).is_none())
}

/// What an estimator needs and the trainer cannot give it.
pub(super) fn unfed_column_of_estimator(estimator: &AdvantageEstimator) -> Option<&'static str> {
    // That of an implicit reward model the trainer has.
    estimator.required_column().filter(|column| *column != "process_log_ratio")
}

/// What a loss needs and the trainer cannot give it.
pub(super) fn unfed_column_of_loss(loss: &PolicyLoss, has_reference: bool) -> Option<Column> {
    let unfed = |column: &Column| *column == Column::ReferenceLogProb && !has_reference;
    loss.requirements().into_iter().find(unfed)
}

/// One field for each setting; one for the whole where there is none. A bare name is no field.
fn settings(prefix: &str, choice: &impl Serialize) -> Vec<Field> {
    let written = Value::try_from(choice).expect("settings are TOML");
    let Value::Table(table) = written else { return Vec::new() };
    let mut found = Vec::new();
    for (name, value) in table {
        match value {
            Value::Table(settings) if settings.is_empty() => found.push(Field {
                path: Cow::Owned(format!("{prefix}.{name}")),
                default: Cow::Borrowed("{}"),
                meaning: "It has no settings.",
            }),
            Value::Table(settings) => found.extend(settings_of(prefix, &name, settings)),
            _ => {}
        }
    }
    found
}

fn settings_of(prefix: &str, name: &str, settings: Table) -> Vec<Field> {
    let field = |(key, value): (String, Value)| {
        debug_assert!(!value.is_table() || WHOLE.contains(&key.as_str()), "{name}.{key}");
        Field {
            path: Cow::Owned(format!("{prefix}.{name}.{key}")),
            default: Cow::Owned(value.to_string()),
            meaning: meaning(name, &key),
        }
    };
    settings.into_iter().map(field).collect()
}

fn meaning(name: &str, key: &str) -> &'static str {
    let full = format!("{name}.{key}");
    let of = |wanted: &str| {
        MEANINGS.iter().find(|(path, _)| *path == wanted).map(|(_, meaning)| *meaning)
    };
    of(&full).or_else(|| of(key)).unwrap_or_default()
}

/// What follows the table of `[algorithm]` on the page.
pub(super) fn algorithm_section() -> String {
    let mut page = String::from(LOSSES);
    for method in registry() {
        let standing = match method.standing {
            Standing::Established => "",
            Standing::SingleLab => " One laboratory's code.",
            Standing::Ours => " This project's own.",
        };
        let (title, name, effect) = (method.title, method.name, method.effect);
        let source = linked(method.source);
        let _ = write!(page, "\n#### `{name}`: {title}\n\n");
        let _ = writeln!(page, "Entropy: {effect}. Source: {source}.{standing}\n");
        page.push_str(&table(&settings(POLICY_LOSS, &method.default)));
    }
    page.push_str(ESTIMATORS);
    page.push_str("| name | advantage | source |\n|---|---|---|\n");
    for entry in feedable() {
        let source = linked(entry.source);
        let _ = writeln!(page, "| `{}` | {} | {source} |", entry.name, entry.effect);
    }
    page.push_str("\nWith settings:\n\n");
    let rows: Vec<Field> = feedable().flat_map(|e| settings(ADVANTAGE, &e.default)).collect();
    page.push_str(&table(&rows));
    page
}

/// `arXiv:` numbers as links.
fn linked(source: &str) -> String {
    let link = |word: &str| {
        let (number, rest) = word.split_at(word.find([',', ';']).unwrap_or(word.len()));
        let bare = number.strip_prefix("arXiv:").unwrap_or(number);
        let is_number = bare.len() == 10 && bare.as_bytes()[4] == b'.';
        if is_number {
            format!("[{number}](https://arxiv.org/abs/{bare}){rest}")
        } else {
            word.to_owned()
        }
    };
    source.split(' ').map(link).collect::<Vec<_>>().join(" ")
}

const LOSSES: &str = "
### Policy losses

`algorithm.policy_loss` is one of these, PPO clip if left out. Ratios are between the policy and the one before the
step's first update; shares are of the tokens of the mini-batch, whatever the micro-batches.
";

const ESTIMATORS: &str = "
### Advantage estimators

`algorithm.advantage` is one of these; `prime` comes with a [reward model](#reward_model) of its own. `remax` and `gae` of
`rl-losses` need greedy responses or a critic, which the trainer does not have: it refuses them.

";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_has_a_meaning_and_every_meaning_a_setting() {
        let fields = algorithm_fields();
        for field in &fields {
            assert!(!field.meaning.is_empty(), "{} has no meaning", field.path);
        }
        for (path, meaning) in MEANINGS {
            let used = fields.iter().any(|field| field.meaning == *meaning);
            assert!(used, "nothing is called {path}");
        }
    }

    #[test]
    fn numbers_of_papers_are_links() {
        assert_eq!(
            linked("Williams 1992; arXiv:2504.02546, 2510.13786"),
            "Williams 1992; [arXiv:2504.02546](https://arxiv.org/abs/2504.02546), \
             [2510.13786](https://arxiv.org/abs/2510.13786)"
        );
    }
}
