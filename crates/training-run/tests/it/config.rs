use std::path::{Path, PathBuf};

use question_data::arithmetic::ArithmeticTask;
use question_data::dataset::{DataSource, QuestionFile};
use question_data::ground_truth::{ExactMatch, Normalisation, RewardKind};
use rl_losses::{
    AdvantageEstimator, Anchor, Base, Cispo, KlCov, PassAtK, Penalty, PolicyLoss,
    ReinforcePlusPlus, Treatment,
};
use serde_json::json;
use training_run::config::{
    ConfigError, Device, Dtype, EngineServers, RewardModelUpdate, Run, RunConfig,
};
use workspace_tests::files::{folder, message};

pub(crate) const SMALL: &str = r#"name = "small"

[model]
path = "model"

[data.train.arithmetic]
digits = [1, 2]

[algorithm.policy_loss.clip-cov]
fraction = 0.002

[training]
steps = 10
"#;

pub(crate) fn parse(text: &str, overrides: &[&str]) -> Result<RunConfig, ConfigError> {
    parse_at("run.toml", text, overrides)
}

fn parse_at(path: &str, text: &str, overrides: &[&str]) -> Result<RunConfig, ConfigError> {
    let overrides: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
    RunConfig::parse(text, Path::new(path), &overrides)
}

fn resolve(overrides: &[&str]) -> Result<Run, ConfigError> {
    parse_at("configs/run.toml", SMALL, overrides).expect("it parses").resolve()
}

pub(crate) fn error(overrides: &[&str]) -> String {
    match parse(SMALL, overrides) {
        Ok(config) => config.resolve().expect_err("this must fail").to_string(),
        Err(error) => error.to_string(),
    }
}

/// Paths of model, training and evaluation questions of a configuration that lies in `configs`.
fn paths(text: &str, overrides: &[&str]) -> [String; 3] {
    let config = parse_at("configs/run.toml", text, overrides).expect("the fields are right");
    let run = config.resolve().expect("the values are right");
    let config = run.config();
    let of_source = |source: Option<&DataSource>| match source {
        Some(DataSource::File(file)) => file.path.display().to_string(),
        other => format!("{other:?}"),
    };
    [
        config.model.path.display().to_string(),
        of_source(Some(&config.data.train)),
        of_source(config.data.evaluation.as_ref()),
    ]
}

const FROM_FILES: &str = r#"name = "files"
model = { path = "model" }
training = { steps = 1 }

[data]
train = "train.jsonl"
evaluation = { file = { path = "/held-out.jsonl", limit = 3 } }
"#;

#[test]
fn paths_of_the_file_are_relative_to_its_folder_and_those_set_to_the_working_directory() {
    let expected = ["configs/model", "configs/train.jsonl", "/held-out.jsonl"];
    assert_eq!(paths(FROM_FILES, &[]), expected);
    assert_eq!(paths(FROM_FILES, &["seed=1", "data.train.file.limit=2"]), expected);
    let each = ["model.path=m", "data.train=t.jsonl", "data.evaluation.file.path=e.jsonl"];
    assert_eq!(paths(FROM_FILES, &each), ["m", "t.jsonl", "e.jsonl"]);
    let tables = ["model={path=\"m\"}", "data.train.file={path=\"t.jsonl\"}"];
    assert_eq!(paths(FROM_FILES, &tables), ["m", "t.jsonl", "/held-out.jsonl"]);
    let run = resolve(&["output_directory=\"out/{name}\""]).unwrap();
    assert_eq!(run.output_directory(), PathBuf::from("out/small"));
}

#[test]
fn questions_are_named_by_a_text_in_the_file_as_by_set() {
    let named = |train: &str, overrides: &[&str]| {
        let text = FROM_FILES.replace("\"train.jsonl\"", train);
        parse(&text, overrides).unwrap().data.train
    };
    let made_up = DataSource::Arithmetic(ArithmeticTask::default());
    let mut file = QuestionFile::new("my.jsonl");
    assert_eq!(named("\"my.jsonl\"", &[]), DataSource::File(file.clone()));
    assert_eq!(named("\"x\"", &["data.train=my.jsonl"]), DataSource::File(file.clone()));
    assert_eq!(named("\"arithmetic\"", &[]), made_up);
    assert_eq!(named("\"x\"", &["data.train=arithmetic"]), made_up);
    file.limit = 5;
    let limited = named("\"my.jsonl\"", &["data.train.file.limit=5"]);
    assert_eq!(limited, DataSource::File(file), "the name stays");
    assert_eq!(named("\"my.jsonl\"", &["data.train.arithmetic={}"]), made_up);
    let text = FROM_FILES.replace("\"train.jsonl\"", "7");
    let refused = parse(&text, &[]).unwrap_err().to_string();
    assert!(
        refused.contains("expected the name of a file, \"arithmetic\", or a table"),
        "{refused}"
    );
}

#[test]
fn a_text_that_is_no_toml_is_taken_as_it_stands_where_a_field_holds_text() {
    let set = [
        "model.path=my models/a (b)",
        "data.train=my questions.jsonl",
        "data.prompt.template={problem} Let's box it.",
        "name=7",
    ];
    let config = parse(FROM_FILES, &set).unwrap();
    assert_eq!(config.model.path, PathBuf::from("my models/a (b)"));
    assert_eq!(config.data.train, DataSource::named("my questions.jsonl"));
    assert_eq!(config.data.prompt.template, "{problem} Let's box it.");
    assert_eq!(config.name, "7");
    for slip in ["model.path=\"my models", "training.steps=1 000", "data.train.file={path=\"a\""] {
        let text = parse(FROM_FILES, &[slip]).unwrap_err().to_string();
        assert!(text.contains(" is not TOML: "), "{text}");
    }
}

#[test]
fn values_are_set_by_path_as_toml_or_bare_words() {
    let config = parse(
        SMALL,
        &[
            "seed=7",
            "model.dtype=bf16",
            "model.device=\"cuda:3\"",
            "optimizer.betas=[0.8, 0.9]",
            "optimizer.learning_rate=1e-5",
            "algorithm.policy_loss.kl-cov.fraction=0.2",
            "name=a-b",
        ],
    )
    .unwrap();
    assert_eq!((config.seed, config.name.as_str()), (7, "a-b"));
    assert_eq!((config.model.dtype, config.model.device), (Dtype::Bf16, Device::Cuda(3)));
    assert_eq!(config.optimizer.betas, (0.8, 0.9));
    assert!((config.optimizer.learning_rate - 1e-5).abs() < 1e-20);
    let expected = PolicyLoss::KlCov(KlCov::new(0.2, KlCov::DEFAULT.coefficient).unwrap());
    assert_eq!(config.algorithm.policy_loss, expected, "the choice in the file is replaced");
}

#[test]
fn a_choice_with_settings_is_a_name_or_a_table() {
    let algorithm = |overrides: &[&str]| parse(SMALL, overrides).unwrap().algorithm;
    let loss = |overrides: &[&str]| algorithm(overrides).policy_loss;
    assert_eq!(loss(&["algorithm.policy_loss=cispo"]), PolicyLoss::Cispo(Cispo::default()));
    let floor = Cispo { clip_ratio_low: 0.1, ..Cispo::default() };
    assert_eq!(
        loss(&["algorithm.policy_loss=gspo", "algorithm.policy_loss.cispo.clip_ratio_low=0.1"]),
        PolicyLoss::Cispo(floor)
    );
    let inner = "algorithm.policy_loss.covariance-control";
    let treatment = format!("{inner}.treatment.penalise.anchor=rollout");
    let base = format!("{inner}.base=unclipped");
    let PolicyLoss::CovarianceControl(control) = loss(&[&treatment, &base]) else {
        panic!("the loss set last")
    };
    let penalty = Penalty { anchor: Anchor::Rollout, ..Penalty::default() };
    assert_eq!((control.treatment, control.base), (Treatment::Penalise(penalty), Base::Unclipped));

    let advantage = |overrides: &[&str]| algorithm(overrides).advantage;
    assert_eq!(advantage(&["algorithm.advantage=opo"]), AdvantageEstimator::Opo);
    let by_name = advantage(&["algorithm.advantage=reinforce-plus-plus"]);
    assert_eq!(by_name, AdvantageEstimator::ReinforcePlusPlus(ReinforcePlusPlus::default()));
    let set = ["algorithm.advantage=rloo", "algorithm.advantage.pass-at-k.k=2"];
    assert_eq!(advantage(&set), AdvantageEstimator::PassAtK(PassAtK { k: 2 }));
}

#[test]
fn a_source_has_a_kind_of_reward_of_its_own() {
    let kinds = |overrides: &[&str]| parse(SMALL, overrides).unwrap().reward.kinds();
    assert_eq!(kinds(&[]).of("any"), RewardKind::Math);
    let exact = |normalisation| RewardKind::ExactMatch(ExactMatch { normalisation });
    let named =
        kinds(&["reward.kind=exact-match", "reward.kind_by_source={abc=\"multiple-choice\"}"]);
    assert_eq!(named.of("any"), exact(Normalisation::Whitespace));
    assert_eq!(named.of("abc"), RewardKind::MultipleChoice);
    let table =
        "reward.kind_by_source={a={exact-match={normalisation=\"words\"}}, b=\"exact-match\"}";
    let table = kinds(&[table]);
    assert_eq!(table.of("a"), exact(Normalisation::Words));
    assert_eq!(table.of("b"), exact(Normalisation::Whitespace));
    let misspelt = parse(SMALL, &["reward.kind=maths"]).unwrap_err().to_string();
    assert!(misspelt.contains("math"), "{misspelt}");
}

#[test]
fn a_misspelt_name_of_a_choice_is_answered_with_the_nearest() {
    let text = error(&["algorithm.policy_loss=cipso"]);
    assert!(text.contains("unknown variant `cipso`, expected one of `ppo-clip`"), "{text}");
    assert!(text.contains("(did you mean `cispo`?)"), "{text}");
    let text = error(&["algorithm.advantage=dr_grpo"]);
    assert!(text.contains("(did you mean `dr-grpo`?)"), "{text}");
}

#[test]
fn a_reference_feeds_a_loss_that_is_anchored_at_it() {
    let anchor = "algorithm.policy_loss.covariance-control.treatment.penalise.anchor=reference";
    resolve(&[anchor, "algorithm.reference_kl.estimator=k2"]).unwrap();
}

#[test]
fn an_annealing_that_cannot_be_run_is_named() {
    let kl_cov = "algorithm.policy_loss=kl-cov";
    resolve(&[kl_cov, "algorithm.annealing={}"]).unwrap();
    let named = |overrides: &[&str], problem: &str| {
        let text = error(overrides);
        assert!(text.contains(problem), "{text}");
    };
    named(
        &[kl_cov, "algorithm.annealing={end=-1.0}"],
        "`algorithm.annealing.end` is -1.0, expected a value that the knob may have",
    );
    named(
        &["algorithm.policy_loss=ppo-clip", "algorithm.annealing={}"],
        "`algorithm.annealing.knob` is Coefficient, expected a number that the loss `ppo-clip` has",
    );
    let thermostat = "algorithm.thermostat={knob=\"fraction\", low=0.001, high=0.2, target={start=1.0, end=0.5, steps=9}}";
    named(
        &[kl_cov, "algorithm.annealing={}", thermostat],
        "`algorithm.thermostat` is given, expected absent where algorithm.annealing is given",
    );
    named(&["algorithm.advantage=remax"], "algorithm.advantage");
}

#[test]
fn controllers_and_guards_out_of_range_are_named() {
    let thermostat = [
        "algorithm.policy_loss=kl-cov",
        "algorithm.thermostat.knob=fraction",
        "algorithm.thermostat.target={start=1.0, end=0.5, steps=9}",
        "algorithm.thermostat.high=0.2",
    ];
    let with = |more: &str| {
        let mut overrides = thermostat.to_vec();
        overrides.push(more);
        error(&overrides)
    };
    let both = [
        "algorithm.adaptive_entropy.step=1e-3",
        "algorithm.thermostat.low=0.001",
        "algorithm.entropy_coefficient=0.01",
    ];
    let text = {
        let mut overrides = thermostat.to_vec();
        overrides.extend(both);
        error(&overrides)
    };
    assert!(text.contains("`algorithm.entropy_coefficient` is 0.01, expected 0 where algorithm.adaptive_entropy is given"), "{text}");
    assert!(text.contains("`algorithm.thermostat` is given, expected absent where algorithm.adaptive_entropy is given"), "{text}");
    let text = with("algorithm.thermostat.low=0.1");
    assert!(
        text.contains("`algorithm.thermostat.low` is 0.1, expected less than initial"),
        "{text}"
    );
    let text = with(
        "algorithm.thermostat={knob=\"clip-ratio-high\", low=0.1, high=0.3, target={start=1.0, end=0.5, steps=9}}",
    );
    assert!(text.contains("`algorithm.thermostat.knob` is ClipRatioHigh, expected a number that the loss `kl-cov` has"), "{text}");
    let text = error(&["algorithm.reference_kl.coefficient.fixed=-1.0"]);
    assert!(
        text.contains("`algorithm.reference_kl.coefficient.fixed` is -1.0, expected"),
        "{text}"
    );
    let text = error(&["guard.entropy_min=2.0", "guard.entropy_max=1.0"]);
    assert!(
        text.contains("`guard.entropy_max` is 1.0, expected more than guard.entropy_min = 2"),
        "{text}"
    );
}

#[test]
fn master_weights_in_the_memory_of_the_host_are_whole() {
    let offload = "parallel.offload_optimizer=true";
    let text = error(&["model.dtype=bf16", "optimizer.master=split", offload]);
    assert!(
        text.contains(
            "`optimizer.master` is \"split\", expected \"f32\" with parallel.offload_optimizer"
        ),
        "{text}"
    );
    resolve(&["model.dtype=bf16", offload]).expect("f32 is the default");
}

#[test]
fn prime_brings_a_reward_model_that_starts_as_the_policy() {
    assert_eq!(resolve(&[]).unwrap().config().reward_model, None);
    let run = resolve(&["algorithm.advantage=prime", "algorithm.mini_batch_prompts=16"]).unwrap();
    let reward_model = run.config().reward_model.as_ref().expect("filled in");
    let policy = PathBuf::from("configs/model");
    assert_eq!((&reward_model.path, &reward_model.reference), (&policy, &policy));
    assert_eq!(reward_model.update, RewardModelUpdate::Before);
    assert_eq!(reward_model.mini_batch_prompts, 16);
    assert_eq!(run.reward_model_schedule().map(|schedule| schedule.total_steps), Some(20));
    let arithmetic = run.batch_arithmetic();
    let line = "reward model: 2 optimiser steps a step, each over 128 rollouts";
    assert!(arithmetic.iter().any(|other| other == line), "{arithmetic:?}");

    let given = [
        "algorithm.advantage.prime.beta=0.1",
        "reward_model.path=prm",
        "reward_model.update=after",
        "reward_model.mini_batch_prompts=32",
        "reward_model.optimizer.learning_rate=1e-5",
    ];
    let run = resolve(&given).unwrap();
    let reward_model = run.config().reward_model.as_ref().expect("given");
    assert_eq!(reward_model.path, PathBuf::from("prm"));
    assert_eq!(reward_model.update, RewardModelUpdate::After);
    assert!((reward_model.optimizer.learning_rate - 1e-5).abs() < 1e-20);
    assert_eq!(run.reward_model_schedule().map(|schedule| schedule.total_steps), Some(10));
    // As the resolved configuration is written, so it reads back.
    let text = toml::to_string(run.config()).unwrap();
    assert_eq!(&parse(&text, &[]).unwrap(), run.config());
}

#[test]
fn a_reward_model_that_cannot_be_meant_is_refused_by_field() {
    let text = error(&["reward_model.update=after"]);
    assert!(
        text.contains(
            "`reward_model` is given, expected absent unless algorithm.advantage is \"prime\""
        ),
        "{text}"
    );
    let prime = |more: &str| error(&["algorithm.advantage=prime", more]);
    for (argument, expected) in [
        (
            "reward_model.mini_batch_prompts=5",
            "`reward_model.mini_batch_prompts` is 5, expected 0 or a divisor of rollout.prompts_per_step = 32",
        ),
        (
            "reward_model.optimizer.learning_rate=0.0",
            "`reward_model.optimizer.learning_rate` is 0.0, expected a finite number above 0",
        ),
        (
            "reward_model.optimizer.betas=[0.9, 1.0]",
            "`reward_model.optimizer.betas` is [0.9, 1], expected two numbers",
        ),
        (
            "reward_model.update=none",
            "`reward_model.path` is \"model\", expected another than reward_model.reference where reward_model.update is",
        ),
        ("rollout.group_size=1", "`rollout.group_size` is 1, expected at least 2"),
        (
            "reward_model.update=later",
            "unknown variant `later`, expected one of `none`, `before`, `after`",
        ),
        ("reward_model.lr=1", "unknown key `reward_model.lr`"),
        (
            "algorithm.advantage.prime.beta=-1.0",
            "`beta` is -1, expected a finite number, 0 or above",
        ),
        (
            "algorithm.advantage.prime.beta=0.0",
            "`algorithm.advantage.prime.beta` is 0.0, expected above 0",
        ),
    ] {
        let text = prime(argument);
        assert!(text.contains(expected), "{argument}: {text}");
    }
}

#[test]
fn what_the_trainer_cannot_feed_is_refused_before_the_run() {
    let cases = [
        (
            "algorithm.advantage=gae",
            "`algorithm.advantage` is gae, expected an estimator without `values`, which the trainer lacks",
        ),
        ("algorithm.advantage=remax", "an estimator without `greedy_rewards`"),
        (
            "algorithm.policy_loss.covariance-control.treatment.penalise.anchor=reference",
            "`algorithm.policy_loss` is covariance-control, expected a loss without `reference_log_prob`, unless algorithm.reference_kl is given",
        ),
        (
            "algorithm.policy_loss.high-entropy.scope=micro-batch",
            "`algorithm.policy_loss.high-entropy.scope` is micro-batch, expected \"mini-batch\": micro-batches only fit the work into memory",
        ),
    ];
    for (argument, expected) in cases {
        let text = error(&[argument]);
        assert!(text.contains(expected), "{argument}: {text}");
    }
}

#[test]
fn a_value_set_can_supply_what_the_file_lacks() {
    let text = SMALL.replace("steps = 10", "");
    assert!(parse(&text, &[]).unwrap_err().to_string().contains("missing field `steps`"));
    assert_eq!(parse(&text, &["training.steps=3"]).unwrap().training.steps, 3);
}

#[test]
fn a_configuration_written_out_reads_back_the_same() {
    let config = parse(SMALL, &["data.evaluation.arithmetic.count=9"]).unwrap();
    let text = toml::to_string(&config).unwrap();
    assert_eq!(parse(&text, &[]).unwrap(), config);
    serde_json::to_string(&config.resolve().unwrap()).unwrap();
}

#[test]
fn contradictions_between_fields_are_named() {
    let text = error(&["algorithm.advantage=rloo", "rollout.group_size=1"]);
    assert!(text.contains("`rollout.group_size` is 1, expected at least 2"), "{text}");
    let text = error(&["algorithm.advantage.pass-at-k.k=9"]);
    let expected =
        "`rollout.group_size` is 8, expected at least 9 where algorithm.advantage is \"pass-at-k\"";
    assert!(text.contains(expected), "{text}");
    let text = error(&["data.prompt.system=\"s\"", "data.prompt.chat=false"]);
    assert!(text.contains("`data.prompt.system` is \"s\", expected \"\""), "{text}");
}

#[test]
fn all_problems_are_reported_at_once_under_the_name_of_the_file() {
    let text = SMALL.replace("steps = 10", "steps = 0\n[rollout]\nrows = 0");
    let folder = folder(&[("run.toml", &text)]);
    let overrides = ["optimizer.learning_rate=-1".to_owned()];
    assert_eq!(
        message(Run::load(&folder.path().join("run.toml"), &overrides), folder.path()),
        "DIR/run.toml: `rollout.rows` is 0, expected 1 to 65536\n  \
         `optimizer.learning_rate` is -1.0, expected a finite number above 0\n  \
         `training.steps` is 0, expected 1 to 1000000000"
    );
}

#[test]
fn device_names_are_checked() {
    let run = resolve(&["model.device=cuda"]).unwrap();
    assert_eq!(run.config().model.device, Device::CudaOfRank);
    assert_eq!(String::from(Device::CudaOfRank), "cuda");
    for name in ["gpu", "cuda:", "cuda:x", "cuda:-1"] {
        let text = error(&[&format!("model.device=\"{name}\"")]);
        let expected =
            format!("device is \"{name}\", expected \"auto\", \"cpu\", \"cuda\" or \"cuda:N\"");
        assert!(text.contains(&expected), "{text}");
    }
}

#[test]
fn files_that_are_not_there_are_named_all_at_once() {
    let prime = ["algorithm.advantage=prime", "reward_model.path=prm"];
    let run = resolve(&[&prime[..], &["data.evaluation.file.path=none.jsonl"]].concat()).unwrap();
    assert_eq!(
        run.check_files().unwrap_err().to_string(),
        "small: `model.path` is configs/model, expected a Hugging Face directory with config.json\n  \
         `reward_model.path` is prm, expected a Hugging Face directory with config.json\n  \
         `data.evaluation.file.path` is none.jsonl, expected a .jsonl, .jsonl.zst, .json, .csv or .parquet file"
    );
}

#[test]
fn steps_are_counted_in_rollout_batches_and_mini_batches() {
    let run = resolve(&["algorithm.epochs=3", "optimizer.warmup_steps=4"]).unwrap();
    assert_eq!(run.optimizer_steps_per_step(), 12, "32 / 8 mini-batches, 3 epochs");
    let schedule = run.schedule();
    assert_eq!((schedule.warmup_steps, schedule.total_steps), (4, 120));
}

#[test]
fn evaluation_and_checkpoints_come_when_due_and_at_the_end() {
    let run =
        resolve(&["evaluation.every=4", "data.evaluation.arithmetic.seed=1", "checkpoint.every=3"])
            .unwrap();
    let due = |at: &dyn Fn(u64) -> bool| (0..=10).filter(|&step| at(step)).collect::<Vec<_>>();
    assert_eq!(due(&|step| run.evaluates_at(step)), [0, 4, 8, 10]);
    assert_eq!(due(&|step| run.saves_at(step)), [3, 6, 9, 10]);
    let run = resolve(&[]).unwrap();
    assert_eq!(due(&|step| run.evaluates_at(step)), [0; 0]);
    assert_eq!(due(&|step| run.saves_at(step)), [10]);
}

/// A quote at the end of the name made a body that is no JSON, and an empty request.
#[test]
fn a_directory_is_quoted_in_the_body_of_a_reload() {
    for directory in ["/w", "/a \"b\"", "c\\"] {
        let body = EngineServers::default().reload_request(directory);
        assert_eq!(body, Some(json!({ "path": directory })));
    }
}
