//! `docs/configuration.md`, printed.

use std::fmt::Write as _;

use training_run::config::{self, Field, fields};

use super::algorithm_page::{algorithm_section, is_setting};
use super::field_lines::{inside, list};

/// Prints `docs/configuration.md` from [`fields`].
pub(super) fn configuration_page() -> String {
    let mut page = String::from(INTRODUCTION);
    for rows in fields().chunk_by(|a, b| section_of(a) == section_of(b)) {
        let section = section_of(&rows[0]);
        let title =
            if section.is_empty() { "The run".to_owned() } else { format!("`[{section}]`") };
        let is_shown = |field: &&Field| !is_setting(field) && twin_of(&field.path).is_none();
        page.extend(["\n## ", &title, "\n\n", &list(rows.iter().filter(is_shown))]);
        for (twin, original) in TWINS {
            if twin.split('.').next() == Some(section) {
                let _ = write!(page, "\n`{twin}` has the fields of `{original}`.\n");
            }
        }
        if section == "algorithm" {
            page.push_str(&algorithm_section());
        }
    }
    page + VERL + &verl_keys() + FOOTER
}

/// The first name of a field's path; empty for a field of the run itself.
fn section_of(field: &Field) -> &str {
    field.path.split_once('.').map_or("", |(section, _)| section)
}

/// Each key of verl, then the field.
fn verl_keys() -> String {
    let width = config::verl_keys().map(|(verl, _)| verl.len()).max().unwrap_or(0);
    let row = |(verl, field): (&str, &str)| format!("{verl:width$}  {field}\n");
    let rows: String = config::verl_keys().map(row).collect();
    format!("```text\n{rows}```\n")
}

/// Tables with the same fields: the page lists those of the second only.
const TWINS: [(&str, &str); 2] =
    [("data.evaluation", "data.train"), ("reward_model.optimizer", "optimizer")];

/// The table whose rows stand for those of `path`.
fn twin_of(path: &str) -> Option<&'static str> {
    TWINS.into_iter().find(|(twin, _)| inside(path, twin)).map(|(_, original)| original)
}

const VERL: &str = "
## Keys of verl

A key of verl in `--set` or in a file is refused with its name here. The values are not always the same:
`training.micro_batch_tokens` counts tokens, `training.steps` counts rollout batches, and a share is a fraction.

";

/// Footer of the page, in the order of `docs/README.md`.
const FOOTER: &str = "\n---\n\n← [Choosing a method](choosing-a-method.md) · \
                       [Contents](README.md) · [Rollouts](rollout.md) →\n";

const INTRODUCTION: &str = "# Configuration of a run

`llm-trainer train CONFIG.toml --set key.path=value …`. Misspelt keys, wrong types and values out of range are all listed, with what
was expected, before the run starts.

`--set` takes TOML. Where a field holds text, anything else is taken as it stands: `--set model.dtype=bf16`, `--set
\"model.path=my models/qwen\"`. Where a field is one of several (`data.train`, `algorithm.policy_loss`, …), another one replaces
it: `--set algorithm.policy_loss.kl-cov.fraction=0.002`. A bare name takes the defaults: `--set algorithm.policy_loss=cispo`.
`data.train = \"FILE\"` names a file, `data.train = \"arithmetic\"` takes made-up questions; likewise `data.evaluation`.

Paths in the file are relative to its folder, paths given by `--set` and `output_directory` to the working directory.

`--preset NAME` in place of CONFIG takes a published run: `qwen2.5-7b-` or `qwen2.5-32b-` with `grpo`, `clip-higher`, `clip-cov`
or `kl-cov`. Without a name it lists them; `configs/presets` has the sources of their values. `--dry-run` prints all values and
how many prompts, samples, mini-batches and tokens a step has.

The same command, given again, continues the run after its newest whole checkpoint. A damaged one, by size or SHA-256 in
`trainer/manifest.json`, is named in a warning, and the one before it is taken. `--resume PATH` takes exactly the checkpoint PATH
(`runs/NAME/checkpoints/step-N`), or the latest of the run PATH, and fails if it is damaged. A checkpoint of the same run continues
it from there. One of another run starts a copy in the folder of its own `name`, whose settings may differ. `--resume never` fails if
the folder holds a run. Exit codes: [first run](first-run.md#exit-codes).

One process trains a run at a time: a second one stops with a line. A run whose `metrics.jsonl` ends before its checkpoint does not
continue; an earlier checkpoint does.

## Changing a run

These fields may change when a run continues in its folder. What changes in the results:

- nothing up to the end that was set before: `training.steps`, if every `schedule` is `\"constant\"`
- nothing: `checkpoint.*`, `training.activation_bytes`, `reward.threads`, `reward.custom_timeout_seconds`, `output_directory`, `parallel.overlap`,
  `parallel.timeout_seconds`, `rollout.environment.timeout_seconds`
- what is measured, and when; the training does not: `metrics.*`, `evaluation.every`
- the last digits of sums: `training.micro_batch_tokens`, `training.repeatable`, `model.threads`, the rest of `[parallel]`. In f64 that is
  at most about 1e-14 of a parameter in an update, in f32 and bf16 more.
- the last digits of log-probabilities while sampling: `rollout.rows`, `rollout.servers`, `rollout.environment.workers`,
  one CUDA device for another

Only the first three promise the same bits, on a CPU or with `training.repeatable`. Other last digits may draw another token; what
follows is then another sample of the same distribution.

`changes.jsonl` in the run's folder lists every change with the step after which it holds. `config.toml` and `resolved.json` hold
the present values. A change of any other field stops with its name, both values, and the way to a copy:
`--set name=COPY --resume runs/NAME`.

## Fields

A required field must be given where its section or choice is used. `data.evaluation` may be left out.

```toml
name = \"example\"

[model]
path = \"../models/smollm2-135m-instruct\"

[data.train.arithmetic]
word_problems = true

[algorithm.policy_loss.kl-cov]
fraction = 0.002

[training]
steps = 100
```

A line has the default, the range, and the first sentence of the meaning; `llm-trainer config KEY` prints what `…` leaves out.
`llm-trainer config --schema` prints the JSON schema, by which editors complete and check a file.
";
