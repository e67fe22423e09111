//! `docs/configuration.md`, printed.

use super::algorithm_fields::algorithm_section;
#[cfg(doc)]
use super::fields;
use super::fields::{Field, REQUIRED, own_fields};
use super::verl::verl_table;

/// `docs/configuration.md`, printed from [`fields`].
pub fn configuration_page() -> String {
    let mut page = String::from(INTRODUCTION);
    let section = |field: &Field| {
        field.path.split_once('.').map_or_else(String::new, |(own, _)| own.to_owned())
    };
    let own: Vec<Field> = own_fields().cloned().collect();
    for rows in own.chunk_by(|a, b| section(a) == section(b)) {
        let own = section(&rows[0]);
        let title = if own.is_empty() { "The run".to_owned() } else { format!("`[{own}]`") };
        page.extend(["\n## ", &title, "\n\n", &table(rows)]);
        if own == "algorithm" {
            page.push_str(&algorithm_section());
        }
    }
    page + VERL + &verl_table() + FOOTER
}

const VERL: &str = "
## Keys of verl

A key of verl in `--set` or in a file is refused with its name here. The values are not always the same:
`training.micro_batch_tokens` counts tokens, `training.steps` counts rollout batches, and a share is a fraction.

";

/// Where the page stands in the book, as `docs/README.md` has it.
const FOOTER: &str = "\n---\n\n← [Choosing a method](choosing-a-method.md) · \
                       [Contents](README.md) · [Rollouts](rollout.md) →\n";

/// Rows of a page.
pub(super) fn table(rows: &[Field]) -> String {
    let mut table = String::from("| field | default | meaning |\n|---|---|---|\n");
    for Field { path, default, meaning } in rows {
        let default =
            if *default == REQUIRED { REQUIRED.to_owned() } else { format!("`{default}`") };
        table.extend(["| `", path, "` | ", &default, " | ", meaning, " |\n"]);
    }
    table
}

const INTRODUCTION: &str = "# Configuration of a run

`llm-trainer train CONFIG.toml --set key.path=value …`. A misspelt key, a wrong type and a value out of range stop the
run before it starts, all at once, with field, value and what was expected. `--set` takes TOML. Where a field holds text,
anything else is taken as it stands: `--set model.dtype=bf16`, `--set \"model.path=my models/qwen\"`. Where a field is one of
several (`data.train`, `algorithm.policy_loss`, …), setting another one replaces it: `--set
algorithm.policy_loss.kl-cov.fraction=0.002`. A policy loss or an advantage estimator with the defaults of its settings is its
name: `--set algorithm.policy_loss=cispo`. So are questions: `data.train = \"FILE\"` names a file, and `data.train =
\"arithmetic\"` takes made-up ones; likewise `data.evaluation`.

Paths in the file are relative to the file's folder, paths given by `--set` and `output_directory` to the working directory.

`--preset NAME` in place of CONFIG takes a published run, `qwen2.5-7b-` or `qwen2.5-32b-` with `grpo`, `clip-higher`,
`clip-cov` or `kl-cov`; its values stand with their sources in `configs/presets`, and `--preset` without a name lists them. `--dry-run` prints all values and how
prompts, samples, mini-batches and tokens come together.

Given again, the same command goes on after the latest checkpoint. `--resume never` refuses a folder that holds a run;
`--resume PATH` goes on after the checkpoint PATH (`runs/NAME/checkpoints/step-N`), or after the latest of the run PATH: a
checkpoint of the same run is taken up again there, one of another begins a branch in the folder of its own `name`, where
settings may differ.

A field marked *required* must be given where its section or choice is used. `data.evaluation` may be left out.

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

This page is printed from `fields()` in `crates/trainer-core/src/config/fields.rs`; a test compares the two.
Rewrite it with `UPDATE_DOCS=1 cargo test -p trainer-core --test documents`.
";
