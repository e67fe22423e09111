//! The policy losses and advantage estimators on `docs/configuration.md`.

use std::fmt::Write as _;

use rl_losses::{Standing, registry};

use super::feedable::feedable;
use super::field::{Field, fields, inside, table};

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

/// Prints the losses and estimators, below the table of `[algorithm]`.
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
        page.push_str(&table(settings(format!("{POLICY_LOSS}.{name}"))));
    }
    page.push_str(ESTIMATORS);
    page.push_str("| name | advantage | source |\n|---|---|---|\n");
    for entry in feedable() {
        let source = linked(entry.source);
        let _ = writeln!(page, "| `{}` | {} | {source} |", entry.name, entry.effect);
    }
    page.push_str("\nWith settings:\n\n");
    let rows = feedable().flat_map(|entry| settings(format!("{ADVANTAGE}.{}", entry.name)));
    page.push_str(&table(rows));
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
    fn numbers_of_papers_are_links() {
        assert_eq!(
            linked("Williams 1992; arXiv:2504.02546, 2510.13786"),
            "Williams 1992; [arXiv:2504.02546](https://arxiv.org/abs/2504.02546), \
             [2510.13786](https://arxiv.org/abs/2510.13786)"
        );
    }
}
