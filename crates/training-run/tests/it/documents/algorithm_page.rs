//! The policy losses and advantage estimators on `docs/configuration.md`.

use std::fmt::Write as _;

use rl_losses::{EstimatorEntry, Standing, estimators, registry};
use training_run::config::{Field, fields, schema};

use super::field_lines::{first_sentence, inside, list, short_meaning};

/// True for a setting of a policy loss or an advantage estimator.
pub(super) fn is_setting(field: &Field) -> bool {
    [POLICY_LOSS, ADVANTAGE].iter().any(|choice| inside(&field.path, choice))
}

const POLICY_LOSS: &str = "algorithm.policy_loss";
const ADVANTAGE: &str = "algorithm.advantage";

/// The settings of one choice.
fn settings(choice: String) -> impl Iterator<Item = &'static Field> {
    fields().iter().filter(move |field| field.path == choice || inside(&field.path, &choice))
}

/// The estimators that a configuration takes.
fn feedable() -> impl Iterator<Item = EstimatorEntry> {
    let field = "/$defs/AlgorithmSection/properties/advantage/anyOf/1/enum";
    let names =
        schema().pointer(field).and_then(|names| names.as_array()).expect("a list of names");
    estimators().into_iter().filter(|entry| names.iter().any(|name| name == entry.name))
}

/// Prints the losses and estimators, below the fields of `[algorithm]`.
pub(super) fn algorithm_section() -> String {
    let mut page = String::from(LOSSES);
    page.push_str("| loss | entropy | source |\n|---|---|---|\n");
    for method in registry() {
        let standing = match method.standing {
            Standing::Established => "",
            Standing::SingleLab => "; one laboratory",
            Standing::Ours => "; ours",
        };
        let (name, effect, source) = (method.name, method.effect, linked(method.source));
        let is_name = method.title.eq_ignore_ascii_case(name);
        let title = if is_name { String::new() } else { format!(" ({})", method.title) };
        let _ = writeln!(page, "| `{name}`{title} | {effect} | {source}{standing} |");
    }
    page.push_str(&loss_settings());
    page.push_str(ESTIMATORS);
    page.push_str("| name | advantage | source |\n|---|---|---|\n");
    for entry in feedable() {
        let source = linked(entry.source);
        let _ = writeln!(page, "| `{}` | {} | {source} |", entry.name, entry.effect);
    }
    page.push_str("\nSettings:\n\n");
    let rows = feedable().flat_map(|entry| settings(format!("{ADVANTAGE}.{}", entry.name)));
    page.push_str(&list(rows));
    page
}

/// The settings of the losses: those that several have, once each with its defaults, and the others.
fn loss_settings() -> String {
    let all: Vec<Setting> = fields().iter().filter_map(Setting::of).collect();
    let mut page = String::from("\nSettings of several losses, with the default of each:\n\n");
    for (index, setting) in all.iter().enumerate() {
        let holders = alike(&all, setting);
        if holders.len() == 1 || all[..index].iter().any(|earlier| earlier.is_like(setting)) {
            continue;
        }
        let defaults: Vec<String> = holders
            .iter()
            .map(|other| {
                let default = other.field.default.as_deref().unwrap_or("required");
                format!("`{}` {default}", other.loss)
            })
            .collect();
        let meaning = short_meaning(&setting.field.meaning);
        let _ = writeln!(page, "- `{}` ({}): {meaning}", setting.name, defaults.join(", "));
    }
    page.push_str("\nSettings of one loss:\n\n");
    let single = all.iter().filter(|setting| alike(&all, setting).len() == 1);
    page.push_str(&list(single.map(|setting| setting.field)));
    page
}

/// The settings that are like one of them, itself included.
fn alike<'a>(all: &'a [Setting], setting: &Setting) -> Vec<&'a Setting> {
    all.iter().filter(|other| other.is_like(setting)).collect()
}

/// A setting of a policy loss.
struct Setting {
    field: &'static Field,
    loss: &'static str,
    name: &'static str,
}

impl Setting {
    /// The setting that a field is; `None` for a field of something else.
    fn of(field: &'static Field) -> Option<Self> {
        let path = field.path.strip_prefix(POLICY_LOSS)?.strip_prefix('.')?;
        let (loss, name) = path.split_once('.')?;
        Some(Self { field, loss, name })
    }

    /// True for settings of one name whose meanings begin alike.
    fn is_like(&self, other: &Self) -> bool {
        self.name == other.name
            && first_sentence(&self.field.meaning) == first_sentence(&other.field.meaning)
    }
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

`algorithm.policy_loss` is one of these, `ppo-clip` if left out. Ratios compare the policy with that before the step's first
update. Shares are of the mini-batch's tokens. `llm-trainer config LOSS` prints all settings of one.

";

const ESTIMATORS: &str = "
### Advantage estimators

`algorithm.advantage` is one of these; `prime` comes with a [reward model](#reward_model). The trainer refuses `remax` and `gae`
of `rl-losses`: it has neither greedy responses nor a critic.

";

#[test]
fn numbers_of_papers_are_links() {
    assert_eq!(
        linked("Williams 1992; arXiv:2504.02546, 2510.13786"),
        "Williams 1992; [arXiv:2504.02546](https://arxiv.org/abs/2504.02546), \
         [2510.13786](https://arxiv.org/abs/2510.13786)"
    );
}
