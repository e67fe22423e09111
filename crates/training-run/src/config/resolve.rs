//! Ranges and contradictions: [`RunConfig`] to [`Run`].

use messages::Problem;
use model_files::hub_name::HubName;
use model_files::sampling::RangeCheck;
use question_data::dataset::{DataSource, KINDS_OF_FILE};
use rl_losses::{
    AdvantageEstimator, ControlError, DifficultyThermostat, KlController, Knob, RolloutCorrection,
    Scope, Thermostat,
};

use super::by_name::{unfed_column_of_estimator, unfed_column_of_loss};
use super::error::{Problems, written};
use super::field::out_of_range;
use super::run::Run;
use super::{
    ConfigError, KlPlacement, LoraSection, RatioTo, ReferenceKl, RewardModelSection, RolloutEngine,
    RunConfig,
};
use crate::metrics::METRICS;
use crate::overlong::Overlong;

/// Most responses of one training step.
const MOST_RESPONSES: usize = 1 << 20;

/// Longest name of a run, in bytes; file systems take 255.
const LONGEST_NAME: usize = 128;

impl RunConfig {
    /// How tokens are weighed by importance, if they are: as given, or with servers by the default.
    pub fn correction(&self) -> Option<RolloutCorrection> {
        let is_served = self.rollout.engine != RolloutEngine::Own;
        let by_default = is_served && self.algorithm.ratio_to == RatioTo::Old;
        self.rollout.correction.or_else(|| by_default.then(RolloutCorrection::default))
    }

    /// Checks every value.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] with every problem there is, each naming field, value and what was expected.
    pub fn resolve(self) -> Result<Run, ConfigError> {
        let name = self.name.clone();
        self.checked().map_err(|problems| ConfigError::invalid(name, &problems))
    }

    pub(super) fn checked(mut self) -> Result<Run, Vec<Problem>> {
        let mut problems = Problems::default();
        problems.0.extend(out_of_range(&self));
        self.check_name(&mut problems);
        self.check_data(&mut problems);
        self.check_rollout(&mut problems);
        self.check_algorithm(&mut problems);
        self.check_control(&mut problems);
        if let (AdvantageEstimator::Prime(_), None) =
            (&self.algorithm.advantage, &self.reward_model)
        {
            self.reward_model = Some(RewardModelSection::default());
        }
        let mut optimizers = vec![("optimizer", &self.optimizer)];
        if let Some(reward_model) = &self.reward_model {
            let (prompts, policy) = (self.rollout.prompts_per_step, &self.model.path);
            reward_model.check(&self.algorithm.advantage, policy, prompts, &mut problems);
            optimizers.push(("reward_model.optimizer", &reward_model.optimizer));
        }
        for (section, optimizer) in optimizers {
            let is_offloaded = self.parallel.offload_optimizer;
            optimizer.check(section, self.model.dtype, is_offloaded, &mut problems);
        }
        self.evaluation.check(self.data.evaluation.is_some(), &mut problems);
        self.dynamic_sampling.check(&mut problems);
        problems.0.extend(self.lora.iter().filter_map(LoraSection::problem));
        self.rollout.check_servers(self.lora.is_some(), &mut problems);
        self.check_environment(&mut problems);
        problems.0.extend(self.reward.code.problem(self.reward.kinds().run_programs()));
        if let Some(custom) = &self.reward.custom {
            custom.check(&mut problems);
        }
        if let Some(sink) = &self.metrics.sink {
            problems.require_program("metrics.sink.command", &sink.command);
        }
        self.reward.overlong.check(self.rollout.max_response_tokens, &mut problems);
        let metric = &self.checkpoint.best_metric;
        let known =
            metric.starts_with("val-core/") || METRICS.iter().any(|row| row.name == *metric);
        let expected = "a name of docs/metrics.md or `val-core/…`";
        problems.require(known, "checkpoint.best_metric", metric, expected);
        problems.finish()?;
        if let Some(reward_model) = &mut self.reward_model {
            let mini_batch_prompts = self.algorithm.mini_batch_prompts;
            reward_model.fill_in(&self.model.place(), mini_batch_prompts);
        }
        Ok(Run { config: self, named: None })
    }

    fn check_name(&self, problems: &mut Problems) {
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        let good = !self.name.starts_with(['.', '-'])
            && !self.name.is_empty()
            && self.name.len() <= LONGEST_NAME
            && self.name.chars().all(plain);
        let expected = "at most 128 letters, digits, `.`, `_` and `-`, starting with a letter, digit or `_`: it names a folder";
        problems.require(good, "name", &self.name, expected);
        let output = &self.output_directory;
        problems.require(!output.is_empty(), "output_directory", output, "a folder");
        let path = &self.model.path;
        problems.require(!path.as_os_str().is_empty(), "model.path", path, "a folder");
        let name = path.to_str().and_then(HubName::parse);
        let revision = &self.model.revision;
        let fits = revision.is_empty() || name.is_some_and(|name| name.revision.is_empty());
        let expected = "\"\" where model.path is no name of the hub, or has a revision of its own";
        problems.require(fits, "model.revision", revision, expected);
        let is_used =
            self.algorithm.reference_kl.is_some() || self.model.reference_path() == path.as_path();
        let reference = self.model.reference.display();
        let expected = "absent unless algorithm.reference_kl is given";
        problems.add_unless(is_used, "model.reference", reference, expected);
    }

    fn check_data(&self, problems: &mut Problems) {
        let data = &self.data;
        let sources =
            [("data.train", Some(&data.train)), ("data.evaluation", data.evaluation.as_ref())];
        for (field, source) in sources {
            match source {
                Some(DataSource::File(file)) => {
                    let given = !file.path.as_os_str().is_empty();
                    let expected = format!("a {KINDS_OF_FILE} file");
                    problems.require(given, &format!("{field}.file.path"), &file.path, &expected);
                }
                Some(DataSource::Arithmetic(task)) => problems.0.extend(task.problems(field)),
                None => {}
            }
        }
        let template = &data.prompt.template;
        let fits = template.contains("{problem}");
        let expected = "a text with {problem} in it";
        problems.require(fits, "data.prompt.template", template, expected);
        let system = &data.prompt.system;
        let fits = system.is_empty() || data.prompt.chat;
        let expected = "\"\" where data.prompt.chat is false";
        problems.require(fits, "data.prompt.system", system, expected);
    }

    fn check_rollout(&self, problems: &mut Problems) {
        let rollout = &self.rollout;
        let most = (MOST_RESPONSES / rollout.prompts_per_step.max(1)).max(1);
        let expected = format!(
            "at most {most} where rollout.prompts_per_step is {}: {MOST_RESPONSES} responses a step",
            rollout.prompts_per_step
        );
        // Each alone is reported as out of range.
        let is_named = rollout.prompts_per_step.max(rollout.group_size) > MOST_RESPONSES;
        let fits = rollout.group_size <= most || is_named;
        problems.require(fits, "rollout.group_size", rollout.group_size, &expected);
        // Of temperatures, training takes none but those that have a gradient.
        let shares = rollout.sampling().checks();
        for RangeCheck { field, value, holds, expected } in &shares[1..] {
            problems.require(*holds, &format!("rollout.{field}"), value, expected);
        }
        let fits = rollout.staleness == 0 || rollout.engine != RolloutEngine::Own;
        let expected = "0 where rollout.engine is \"own\": the trainer samples or updates";
        problems.require(fits, "rollout.staleness", rollout.staleness, expected);
        let unclear = |text: &String| text.is_empty() || text.contains(char::REPLACEMENT_CHARACTER);
        if let Some(text) = rollout.stop.iter().find(|text| unclear(text)) {
            let expected = "texts of at least one character, without U+FFFD";
            problems.require(false, "rollout.stop", text, expected);
        }
        let reward = self.reward.values;
        for (field, value) in [
            ("reward.values.right", reward.right),
            ("reward.values.wrong", reward.wrong),
            ("reward.values.unparsed", reward.unparsed),
        ] {
            problems.require(value.is_finite(), field, value, "a finite number");
        }
        let by_divergence = |kl: &ReferenceKl| kl.placement == KlPlacement::Reward;
        let may_be_equal = self.algorithm.reference_kl.as_ref().is_some_and(by_divergence);
        // Written so that a NaN, reported above, is not reported twice.
        let contradicts =
            reward.right < reward.wrong || (!may_be_equal && reward.right <= reward.wrong);
        let expected = format!(
            "more than reward.values.wrong = {}, or as much with algorithm.reference_kl.placement = \"reward\"",
            reward.wrong
        );
        problems.require(!contradicts, "reward.values.right", reward.right, &expected);
        let fuel = self.reward.grading.fuel;
        problems.require(fuel > 0, "reward.grading.fuel", fuel, "at least 1");
    }

    fn check_environment(&self, problems: &mut Problems) {
        let Some(environment) = &self.rollout.environment else { return };
        problems.require_program("rollout.environment.command", &environment.command);
        let engine = self.rollout.engine;
        let expected = "\"own\" with rollout.environment: the trainer records what it draws";
        let is_own = engine == RolloutEngine::Own;
        problems.add_unless(is_own, "rollout.engine", written(&engine), expected);
        let sampling = self.rollout.sampling();
        let expected = "rollout.top_k, top_p and min_p at their defaults with rollout.environment";
        problems.require(!sampling.truncates(), "rollout.top_p", sampling.top_p, expected);
        let expected = "absent with rollout.environment, whose harness rewards";
        let is_absent = self.reward.custom.is_none();
        problems.add_unless(is_absent, "reward.custom", "given", expected);
        let is_plain = !matches!(self.reward.overlong, Overlong::SoftBuffer(_));
        let expected = "\"none\" or \"mask\" with rollout.environment, whose harness rewards";
        problems.require(is_plain, "reward.overlong", "soft-buffer", expected);
        let tensor = self.parallel.tensor;
        let expected = "1 with rollout.environment: each process draws by itself";
        problems.require(tensor == 1, "parallel.tensor", tensor, expected);
        let (budget, longest) = (self.training.micro_batch_tokens, environment.context_tokens);
        let expected = format!("at least rollout.environment.context_tokens = {longest}");
        problems.require(budget >= longest, "training.micro_batch_tokens", budget, &expected);
    }

    fn check_algorithm(&self, problems: &mut Problems) {
        let (algorithm, rollout) = (&self.algorithm, &self.rollout);
        let mini_batch = algorithm.mini_batch_prompts;
        let divides = mini_batch > 0 && rollout.prompts_per_step.is_multiple_of(mini_batch);
        let expected =
            format!("a divisor of rollout.prompts_per_step = {}", rollout.prompts_per_step);
        problems.require(divides, "algorithm.mini_batch_prompts", mini_batch, &expected);
        let coefficient = algorithm.entropy_coefficient;
        let finite = coefficient.is_finite();
        problems.require(finite, "algorithm.entropy_coefficient", coefficient, "a finite number");
        let corrects_twice = algorithm.ratio_to == RatioTo::Rollout && rollout.correction.is_some();
        let expected = "\"old\" where rollout.correction is given: such a ratio corrects";
        problems.require(!corrects_twice, "algorithm.ratio_to", "rollout", expected);
        self.check_estimator(problems);
        self.check_policy_loss(problems);
        let training = &self.training;
        let longest = self.data.max_prompt_tokens.saturating_add(rollout.max_response_tokens);
        let expected = format!(
            "at least {longest}, the longest sequence (data.max_prompt_tokens + rollout.max_response_tokens)"
        );
        let fits = training.micro_batch_tokens >= longest;
        let field = "training.micro_batch_tokens";
        problems.require(fits, field, training.micro_batch_tokens, &expected);
    }

    fn check_estimator(&self, problems: &mut Problems) {
        let (estimator, group_size) = (&self.algorithm.advantage, self.rollout.group_size);
        let name = estimator.name();
        if let Some(column) = unfed_column_of_estimator(estimator) {
            let expected = format!("an estimator without `{column}`, which the trainer lacks");
            problems.add("algorithm.advantage", name, &expected);
        }
        // A group of none is reported on its own.
        let smallest = estimator.smallest_group();
        let fits = group_size == 0 || group_size >= smallest;
        let expected = format!("at least {smallest} where algorithm.advantage is \"{name}\"");
        problems.require(fits, "rollout.group_size", group_size, &expected);
    }

    fn check_policy_loss(&self, problems: &mut Problems) {
        let loss = &self.algorithm.policy_loss;
        let has_reference = self.algorithm.reference_kl.is_some();
        if let Some(column) = unfed_column_of_loss(loss, has_reference) {
            let expected =
                format!("a loss without `{column}`, unless algorithm.reference_kl is given");
            problems.add("algorithm.policy_loss", loss.name(), &expected);
        }
        if loss.scope() == Some(Scope::MicroBatch) {
            let field = format!("algorithm.policy_loss.{}.scope", loss.name());
            let expected = "\"mini-batch\": micro-batches only fit the work into memory";
            problems.add(&field, "micro-batch", expected);
        }
    }

    fn check_control(&self, problems: &mut Problems) {
        let algorithm = &self.algorithm;
        if let Some(kl) = &algorithm.reference_kl
            && let Err(error) = KlController::new(kl.coefficient)
        {
            problems.add_parameter("algorithm.reference_kl.coefficient", &error);
        }
        if let Some(thermostat) = &algorithm.thermostat {
            let loss = &algorithm.policy_loss;
            if let (Ok(settings), Ok(by_difficulty)) =
                (thermostat.settings(loss), thermostat.by_difficulty(loss))
            {
                let one = Thermostat::new(settings).map(drop);
                let each = by_difficulty.as_ref().map(DifficultyThermostat::new).transpose();
                if let Err(error) = one.and(each) {
                    problems.add_parameter("algorithm.thermostat", &error);
                }
                let has_share =
                    thermostat.knob == Knob::Fraction && loss.scope() == Some(Scope::MiniBatch);
                if by_difficulty.is_some() && !has_share {
                    let expected = "absent unless `knob` is \"fraction\", of a loss that selects over the mini-batch";
                    let field = "algorithm.thermostat.accuracy_edges";
                    problems.add(field, "given", expected);
                }
            } else {
                let expected = format!("a number that the loss `{}` has", loss.name());
                let knob = format!("{:?}", thermostat.knob);
                problems.add("algorithm.thermostat.knob", knob, &expected);
            }
        }
        self.check_annealing(problems);
        if algorithm.adaptive_entropy.is_some() {
            let fixed = algorithm.entropy_coefficient;
            let expected = "0 where algorithm.adaptive_entropy is given, which sets it";
            problems.require(fixed.abs() <= 0.0, "algorithm.entropy_coefficient", fixed, expected);
            let expected =
                "absent where algorithm.adaptive_entropy is given: one of them holds the entropy";
            let alone = algorithm.thermostat.is_none();
            problems.add_unless(alone, "algorithm.thermostat", "given", expected);
        }
        let (low, high) = (self.guard.entropy_min, self.guard.entropy_max);
        let expected = format!("more than guard.entropy_min = {low}");
        problems.require(high > low, "guard.entropy_max", high, &expected);
    }

    fn check_annealing(&self, problems: &mut Problems) {
        let algorithm = &self.algorithm;
        let Some(annealing) = &algorithm.annealing else { return };
        let loss = &algorithm.policy_loss;
        match annealing.at(loss, 1.0) {
            Ok(_) => {}
            Err(ControlError::Parameter(_)) => {
                let value = format!("{:?}", annealing.end);
                problems.add("algorithm.annealing.end", value, "a value that the knob may have");
            }
            Err(_) => {
                let expected = format!("a number that the loss `{}` has", loss.name());
                let knob = format!("{:?}", annealing.knob);
                problems.add("algorithm.annealing.knob", knob, &expected);
            }
        }
        let expected = "absent where algorithm.annealing is given: one of them moves the loss";
        let alone = algorithm.thermostat.is_none();
        problems.add_unless(alone, "algorithm.thermostat", "given", expected);
    }
}
