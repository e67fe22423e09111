//! Error messages for invalid configurations.

use std::collections::BTreeSet;

use training_run::config::{Run, fields};

use crate::config::{SMALL, error, parse};
use workspace_tests::files::{folder, message};

#[test]
fn a_misspelt_key_is_named_with_its_place_and_the_nearest_one() {
    let cases = [
        ("steps = 10", "setps = 10", "run.toml:13:1: unknown field `setps`"),
        ("digits =", "digit =", "run.toml:7:1: unknown field `digit`"),
        ("fraction =", "fracton =", "unknown field `fracton`"),
        ("[training]", "[trainin]", "unknown field `trainin`"),
    ];
    for (right, wrong, expected) in cases {
        let text = parse(&SMALL.replace(right, wrong), &[]).unwrap_err().to_string();
        assert!(text.contains(expected), "{text}");
        assert!(text.contains("(did you mean `"), "{text}");
        assert!(!text.contains('\n'), "{text}");
    }
}

#[test]
fn a_misspelt_choice_and_a_wrong_type_are_named_with_their_place() {
    let text = parse(&SMALL.replace("clip-cov", "clip-conv"), &[]).unwrap_err().to_string();
    assert!(text.contains("unknown variant `clip-conv`"), "{text}");
    assert!(text.contains("did you mean `clip-cov`"), "{text}");
    let text = parse(&SMALL.replace("10", "\"ten\""), &[]).unwrap_err().to_string();
    assert!(
        text.starts_with(
            "run.toml:13:9: invalid type: string \"ten\", expected a whole number of at least 0"
        ),
        "{text}"
    );
}

#[test]
fn a_section_that_is_no_table_is_told_in_plain_words() {
    let cases = [
        ("rollout = 3", "11: invalid type: integer `3`, expected a table"),
        ("rollout.stop = 3", "16: invalid type: integer `3`, expected an array"),
        ("checkpoint = true", "14: invalid type: boolean `true`, expected a table"),
    ];
    for (line, expected) in cases {
        let text = format!(
            "name = \"x\"\nmodel = {{ path = \"m\" }}\ndata = {{ train = \"arithmetic\" }}\n\
             training = {{ steps = 1 }}\n{line}\n"
        );
        let text = parse(&text, &[]).unwrap_err().to_string();
        assert!(text.starts_with(&format!("run.toml:5:{expected}")), "{text}");
    }
}

/// Every section and field as values of several types: whatever is refused, no message names a type of Rust.
#[test]
fn a_wrong_type_is_told_without_names_of_rust() {
    let mut paths = BTreeSet::new();
    for field in fields() {
        let keys: Vec<&str> = field.path.split('.').collect();
        paths.extend((1..=keys.len()).map(|length| keys[..length].join(".")));
    }
    let mut refusals = 0;
    for path in paths {
        for value in ["3", "true", "\"three\"", "[[1]]", "{ three = 3 }"] {
            let argument = format!("{path}={value}");
            let Err(error) = parse(SMALL, &[argument.as_str()]) else { continue };
            refusals += 1;
            let text = error.to_string();
            let mut words = text.split(|c: char| !c.is_alphanumeric());
            let names_a_type = words.any(is_camel_case)
                || ["struct ", "enum ", "unit variant", "newtype"].iter().any(|w| text.contains(w));
            assert!(!names_a_type, "{argument}: {text}");
        }
    }
    assert!(refusals > 200, "the values are of the wrong type: {refusals}");
}

/// True for two capitalised parts, as in `RolloutSection`.
fn is_camel_case(word: &str) -> bool {
    let letters: Vec<char> = word.chars().collect();
    let starts_part = |pair: &[char]| pair[0].is_uppercase() && pair[1].is_lowercase();
    word.starts_with(char::is_uppercase)
        && letters.windows(2).filter(|pair| starts_part(pair)).count() > 1
}

#[test]
fn a_syntax_error_has_file_line_and_column() {
    let text = parse("name = \"é\" x\n", &[]).unwrap_err().to_string();
    assert!(text.starts_with("run.toml:1:12: "), "{text}");
    let text = parse("name = \"a\"\nseed = = 3\n", &["seed=3"]).unwrap_err().to_string();
    assert!(text.starts_with("run.toml:2:8: "), "{text}");
}

#[test]
fn a_missing_file_is_named() {
    let folder = folder(&[]);
    let text = message(Run::load(&folder.path().join("no.toml"), &[]), folder.path());
    assert!(text.starts_with("DIR/no.toml: cannot read: "), "{text}");
}

#[test]
fn unknown_keys_set_are_answered_with_the_nearest() {
    let cases = [
        ("optimizer.learningrate=1", "did you mean `optimizer.learning_rate`"),
        ("training.step=1", "did you mean `training.steps`"),
        ("optimizer.lr=1", "did you mean `optimizer.learning_rate`?"),
        ("optimizer.wd=1", "did you mean `optimizer.weight_decay`?"),
        ("optimizr.epsilon=1", "did you mean `optimizer.epsilon`"),
        ("rollout.epochs=1", "did you mean `algorithm.epochs`?"),
        ("optimizer.qqqqqqqqq=1", "expected one of docs/configuration.md"),
        (
            "learning_rate=1",
            "did you mean `optimizer.learning_rate` or `reward_model.optimizer.learning_rate`?",
        ),
        ("qqqqqqqqq=1", "expected one of docs/configuration.md"),
    ];
    for (argument, expected) in cases {
        let text = error(&[argument]);
        assert!(text.starts_with(&format!("--set {argument}: unknown key `")), "{text}");
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn keys_of_verl_are_answered_with_the_field_here() {
    let cases = [
        ("actor_rollout_ref.rollout.n=8", "rollout.group_size"),
        ("+algorithm.adv_estimator=grpo", "algorithm.advantage"),
        ("data.train_batch_size=256", "rollout.prompts_per_step"),
    ];
    for (argument, field) in cases {
        let (key, _) = argument.trim_start_matches('+').split_once('=').unwrap();
        let expected =
            format!("--set {argument}: `{key}` is a key of verl, here it is `{field}` (docs/");
        let text = error(&[argument]);
        assert!(text.starts_with(&expected), "{text}");
    }
    let file = format!("{SMALL}\n[actor_rollout_ref]\nrollout.n = 8\nactor.optim.lr = 1e-6\n");
    let text = parse(&file, &[]).unwrap_err().to_string();
    assert!(text.contains("unknown field `actor_rollout_ref`"), "{text}");
    assert!(text.contains("`actor_rollout_ref.rollout.n` is `rollout.group_size`"), "{text}");
    assert!(
        text.contains("`actor_rollout_ref.actor.optim.lr` is `optimizer.learning_rate`"),
        "{text}"
    );
    let file = SMALL.replace("steps = 10", "steps = 10\nlr = 1");
    assert!(!parse(&file, &[]).unwrap_err().to_string().contains("verl"), "no key of verl");
}

#[test]
fn a_file_in_yaml_is_answered_with_what_is_expected() {
    let folder = folder(&[("run.yaml", "data:\n  train_batch_size: 8\n")]);
    let text = message(Run::load(&folder.path().join("run.yaml"), &[]), folder.path());
    assert!(text.starts_with("DIR/run.yaml: is YAML, expected TOML; "), "{text}");
}

#[test]
fn values_set_that_cannot_be_read_are_named() {
    let cases = [
        ("training.steps", "has no `=`, expected key.path=value"),
        ("training.steps=[1", "value \"[1\" is not TOML"),
        ("training.steps=1\nseed = 2", "holds more than one value, expected one"),
        (
            "training.steps=ten",
            "invalid type: string \"ten\", expected a whole number of at least 0",
        ),
        ("algorithm.policy_loss.kl-cov.fraction=2", "fraction"),
    ];
    for (argument, expected) in cases {
        let text = error(&[argument]);
        assert!(text.starts_with("--set "), "{text}");
        assert!(text.contains(expected), "{text}");
    }
}

/// Each row has one invalid value: the message names the field, the value and what was expected.
#[test]
#[expect(clippy::too_many_lines, reason = "one table of cases")]
fn values_out_of_range_are_named_with_what_was_expected() {
    let cases = [
        ("name=\"a/b\"", "`name` is \"a/b\", expected at most 128 letters"),
        ("name=\"..\"", "`name` is \"..\", expected at most 128 letters"),
        (
            "optimizer.learning_rate=-1e-6",
            "`optimizer.learning_rate` is -1e-6, expected a finite number above 0",
        ),
        ("optimizer.learning_rate=0.0", "`optimizer.learning_rate` is 0.0, expected"),
        ("optimizer.learning_rate=inf", "`optimizer.learning_rate` is inf, expected"),
        ("optimizer.learning_rate=nan", "`optimizer.learning_rate` is NaN, expected"),
        ("optimizer.weight_decay=-0.1", "`optimizer.weight_decay` is -0.1, expected"),
        ("optimizer.betas=[0.9, 1.0]", "`optimizer.betas` is [0.9, 1], expected two numbers"),
        ("optimizer.epsilon=0.0", "`optimizer.epsilon` is 0.0, expected"),
        ("optimizer.max_grad_norm=0.0", "`optimizer.max_grad_norm` is 0.0, expected"),
        (
            "rollout.temperature=0.0",
            "`rollout.temperature` is 0.0, expected a finite number of at least 0.000001",
        ),
        ("rollout.group_size=0", "`rollout.group_size` is 0, expected 1 to 1048576"),
        ("rollout.rows=0", "`rollout.rows` is 0, expected 1 to 65536"),
        (
            "rollout.max_response_tokens=0",
            "`rollout.max_response_tokens` is 0, expected 1 to 16777216",
        ),
        (
            "algorithm.mini_batch_prompts=5",
            "`algorithm.mini_batch_prompts` is 5, expected a divisor of rollout.prompts_per_step = 32",
        ),
        (
            "algorithm.mini_batch_prompts=0",
            "`algorithm.mini_batch_prompts` is 0, expected a divisor",
        ),
        ("algorithm.epochs=0", "`algorithm.epochs` is 0, expected 1 to 65536"),
        (
            "algorithm.entropy_coefficient=nan",
            "`algorithm.entropy_coefficient` is NaN, expected a finite number",
        ),
        // Once a panic: the product with the width of a projection wraps.
        (
            "lora.rank=4611686018427387904",
            "`lora.rank` is 4611686018427387904, expected 1 to 65536",
        ),
        ("training.steps=0", "`training.steps` is 0, expected 1 to 1000000000"),
        (
            "training.micro_batch_tokens=2047",
            "`training.micro_batch_tokens` is 2047, expected at least 2048",
        ),
        ("data.max_prompt_tokens=0", "`data.max_prompt_tokens` is 0, expected 1 to 16777216"),
        (
            "data.prompt.template=\"x\"",
            "`data.prompt.template` is \"x\", expected a text with {problem} in it",
        ),
        (
            "data.train.arithmetic.digits=[0, 2]",
            "`data.train.arithmetic.digits` is [0, 2], expected",
        ),
        (
            "data.train.arithmetic.operations=[]",
            "`data.train.arithmetic.operations` is [], expected at least one",
        ),
        ("data.train.file={path=\"\"}", "`data.train.file.path` is \"\", expected"),
        (
            "reward.values.right=0.0",
            "`reward.values.right` is 0.0, expected more than reward.values.wrong = 0",
        ),
        ("reward.values.unparsed=inf", "`reward.values.unparsed` is inf, expected a finite number"),
        ("rollout.top_p=0", "`rollout.top_p` is 0.0, expected above 0 and at most 1"),
        ("rollout.min_p=1", "`rollout.min_p` is 1.0, expected at least 0 and below 1"),
        ("rollout.stop=[\"a\", \"\"]", "`rollout.stop` is \"\", expected texts of at least one"),
        ("reward.grading.fuel=0", "`reward.grading.fuel` is 0, expected at least 1"),
        (
            "evaluation.every=5",
            "`evaluation.every` is 5, expected 0 where data.evaluation is absent",
        ),
        (
            "evaluation.samples=2",
            "`evaluation.samples` is 2, expected 1 where evaluation.temperature is 0",
        ),
        ("evaluation.temperature=-1.0", "`evaluation.temperature` is -1.0, expected"),
    ];
    for (argument, expected) in cases {
        let text = error(&[argument]);
        assert!(text.contains(expected), "{argument}: {text}");
    }
}

/// Products of these overflowed, and what they sized was more than any machine has.
#[test]
fn absurd_sizes_are_refused_by_the_dry_run_already() {
    let name = "x".repeat(129);
    let named = format!("name={name}");
    for (arguments, expected) in [
        (
            &["rollout.group_size=1152921504606846976"][..],
            "is 1152921504606846976, expected 1 to 1048576",
        ),
        (
            &["rollout.group_size=10000000"],
            "`rollout.group_size` is 10000000, expected 1 to 1048576",
        ),
        (
            &["rollout.prompts_per_step=4611686018427387904"],
            "`rollout.prompts_per_step` is 4611686018427387904, expected 1 to 1048576",
        ),
        (
            &["rollout.group_size=40000"],
            "`rollout.group_size` is 40000, expected at most 32768 where rollout.prompts_per_step is 32: 1048576 responses",
        ),
        (
            &["rollout.max_response_tokens=1000000000000"],
            "`rollout.max_response_tokens` is 1000000000000",
        ),
        (&["training.micro_batch_tokens=9223372036854775807"], "expected at most 1073741824"),
        (&["model.threads=100000"], "`model.threads` is 100000, expected at most 1024"),
        (&["reward.threads=100000"], "`reward.threads` is 100000, expected at most 1024"),
        (
            &["evaluation.samples=1000000000000"],
            "`evaluation.samples` is 1000000000000, expected 1 to 65536",
        ),
        (
            &["dynamic_sampling.oversampling=1e300"],
            "`dynamic_sampling.oversampling` is 1e300, expected",
        ),
        (&[named.as_str()], "expected at most 128 letters, digits"),
    ] {
        let text = error(arguments);
        assert!(text.contains(expected), "{arguments:?}: {text}");
    }
    parse(SMALL, &["rollout.group_size=32768"]).unwrap().resolve().expect("2^20 responses");
}

#[test]
fn values_out_of_range_of_sampling_and_checkpoints_are_named() {
    let cases = [
        (
            "dynamic_sampling.accuracy_low=1.5",
            "`dynamic_sampling.accuracy_low` is 1.5, expected a number in 0..=1",
        ),
        (
            "dynamic_sampling.accuracy_high=-0.5",
            "`dynamic_sampling.accuracy_high` is -0.5, expected a number in 0..=1",
        ),
        ("dynamic_sampling.oversampling=0.5", "`dynamic_sampling.oversampling` is 0.5, expected"),
        ("dynamic_sampling.oversampling=nan", "`dynamic_sampling.oversampling` is NaN, expected"),
        (
            "dynamic_sampling.max_batches=0",
            "`dynamic_sampling.max_batches` is 0, expected 1 to 10000",
        ),
        (
            "reward.overlong.soft-buffer.buffer_tokens=1025",
            "`reward.overlong.soft-buffer.buffer_tokens` is 1025, expected at most rollout.max_response_tokens = 1024",
        ),
        (
            "reward.overlong.soft-buffer={buffer_tokens=9, penalty_factor=-1.0}",
            "`reward.overlong.soft-buffer.penalty_factor` is -1.0, expected a finite number of at least 0",
        ),
        (
            "checkpoint.best_metric=\"actor/fun\"",
            "`checkpoint.best_metric` is \"actor/fun\", expected a name of docs/metrics.md or `val-core/…`",
        ),
    ];
    for (argument, expected) in cases {
        let text = error(&[argument]);
        assert!(text.contains(expected), "{argument}: {text}");
    }
}
