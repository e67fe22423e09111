//! `docs/metrics.md`, printed.

use training_run::metrics::{METRICS, Metric, Validation};

/// Prints `docs/metrics.md` from [`METRICS`].
pub(super) fn metrics_page() -> String {
    let mut page = String::from(
        "# Metrics\n\n\
         One JSON object a training step in `runs/NAME/metrics.jsonl`, `step` first. Names follow verl's where the\n\
         meaning is the same. A key whose value would not be finite (the mean of nothing) is absent. Values are of the\n\
         step; `timing_s` is wall time. \"Correction\" needs [`rollout.correction`](rollout.md#other-engines). This page is printed from\n\
         `METRICS`: `UPDATE_DOCS=1 cargo test -p training-run --test it documents`.\n\n\
         | name | unit | definition |\n|---|---|---|\n",
    );
    for Metric { name, unit, definition } in METRICS.iter() {
        page.extend(["| `", name, "` | ", unit, " | ", definition, " |\n"]);
    }
    for family in FAMILIES {
        let name = family.name_on("<source>").replace("@0", "@<n>");
        page.extend(["| `", &name, "` | fraction | ", definition(family), " |\n"]);
    }
    page + FOOTER
}

/// Links at the end of the page, in the order of `docs/README.md`.
const FOOTER: &str = "\n---\n\n← [Reading results](reading-results.md) · \
                      [Contents](README.md) · [Evaluation](evaluation.md) →\n";

/// Every family once.
const FAMILIES: [Validation; 8] = [
    Validation::Mean(0),
    Validation::Reward(0),
    Validation::Low(0),
    Validation::High(0),
    Validation::Pass(0),
    Validation::Majority(0),
    Validation::Extracted,
    Validation::Truncated,
];

/// Definition of a family.
fn definition(family: Validation) -> &'static str {
    match family {
        Validation::Mean(_) => {
            "Right answers, mean over `n` responses to each question, then over the source's questions."
        }
        Validation::Reward(_) => {
            "With `[rollout.environment]`: reward of the harness, mean over `n` rollouts of each question, then over the source's questions."
        }
        Validation::Low(_) => {
            "Lower end of its 0.95 interval, by bootstrap over questions (docs/evaluation.md)."
        }
        Validation::High(_) => "Upper end of that interval.",
        Validation::Pass(_) => {
            "Chance that at least one of `n` responses is right, unbiased; `n` runs over powers of two and the number of samples, if there are several."
        }
        Validation::Majority(_) => {
            "Chance that the most frequent answer of `n` responses is right, ties drawn."
        }
        Validation::Extracted => "Responses with a readable answer.",
        Validation::Truncated => "Responses cut at max_response_tokens.",
    }
}
