//! Finds problems in the samples of a run, and the settings that solve them.

use reward_math::Options;
use training_run::config::RunConfig;

use super::samples::{Finding, Preflight};

/// Facts about a model's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelFacts {
    /// True if there is a chat template.
    pub has_chat_template: bool,
    /// True if the template ends where the answer begins.
    pub has_generation_prompt: bool,
    /// Tokens of the vocabulary.
    pub vocabulary: usize,
}

/// Fraction from which on something happens to most responses.
pub const MOST: f64 = 0.5;

/// Fraction of responses cut at the length limit from which on a warning is given.
const MANY_CUT: f64 = 0.2;

/// Mean entropy below which sampling repeats itself, in nats a token.
const FROZEN_NATS: f64 = 0.01;

/// Fraction of the largest possible entropy from which on tokens are drawn about evenly.
const NOISE_FRACTION: f64 = 0.8;

#[derive(Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn add(&mut self, fatal: bool, seen: &str, settings: &[&'static str], advice: &str) {
        let (seen, settings, advice) = (seen.to_owned(), settings.to_vec(), advice.to_owned());
        self.0.push(Finding { fatal, seen, settings, advice });
    }

    fn warn(&mut self, seen: &str, settings: &[&'static str], advice: &str) {
        self.add(false, seen, settings, advice);
    }
}

pub(super) fn findings(seen: &Preflight, run: &RunConfig, model: ModelFacts) -> Vec<Finding> {
    let mut findings = Findings::default();
    prompts(seen, run, model, &mut findings);
    endings(seen, run, &mut findings);
    answers(seen, &run.reward.grading, &mut findings);
    groups(seen, run, &mut findings);
    entropy(seen, run.rollout.temperature, model.vocabulary, &mut findings);
    findings.0.sort_by_key(|finding| !finding.fatal);
    findings.0
}

fn prompts(seen: &Preflight, run: &RunConfig, model: ModelFacts, findings: &mut Findings) {
    let data = &run.data;
    if data.prompt.chat && !model.has_generation_prompt {
        findings.warn(
            "the chat template does not open the assistant's turn: it ignores add_generation_prompt",
            &["data.prompt.chat", "model.path"],
            "mend chat_template in the model's directory, or write the turns in data.prompt.template with \
             data.prompt.chat = false",
        );
    }
    if !data.prompt.chat && model.has_chat_template {
        findings.warn(
            "the model has a chat template that is not used",
            &["data.prompt.chat"],
            "true asks as the model was taught to be asked; right as it is for a base model",
        );
    }
    if seen.longest_prompt_tokens >= data.max_prompt_tokens {
        findings.warn(
            &format!("a prompt has all of the {} tokens that it may have", data.max_prompt_tokens),
            &["data.max_prompt_tokens"],
            "longer ones are left out or shortened: raise it",
        );
    }
}

fn endings(seen: &Preflight, run: &RunConfig, findings: &mut Findings) {
    let rollout = &run.rollout;
    let longest = rollout.max_response_tokens;
    let has_stops = !(rollout.stop.is_empty() && rollout.stop_token_ids.is_empty());
    let no_token_ends = seen.ended_by_token_fraction <= 0.0;
    if seen.truncated_fraction >= 1.0 {
        let fatal = seen.right_fraction <= 0.0;
        let mut names = vec!["rollout.max_response_tokens"];
        let mut advice = "raise it until responses end by themselves".to_owned();
        if no_token_ends {
            names.extend(["data.prompt.chat", "rollout.stop"]);
            advice.push_str(
                "; the end-of-sequence token is never drawn: a base model needs a text that stops it, an instructed one its \
                 chat template",
            );
        }
        let cut = format!("every response was cut at {longest} tokens");
        findings.add(fatal, &cut, &names, &advice);
    } else if seen.truncated_fraction >= MANY_CUT {
        findings.warn(
            &format!("{:.2} of the responses were cut at {longest} tokens", seen.truncated_fraction),
            &["rollout.max_response_tokens", "reward.overlong"],
            "raise it until most responses end by themselves, or choose what becomes of those that are cut",
        );
    } else if no_token_ends && !has_stops {
        findings.warn(
            "no response ended by an end-of-sequence token",
            &["data.prompt.chat", "rollout.stop"],
            "a base model needs a text that stops it, an instructed one its chat template",
        );
    }
    if seen.length_quantiles[2] <= 2.0 && longest > 8 {
        findings.warn(
            &format!("half of the responses have at most {} tokens", seen.length_quantiles[2]),
            &["data.prompt.chat", "data.prompt.template"],
            "the prompt may end the turn itself: look at it above",
        );
    }
}

fn answers(seen: &Preflight, grading: &Options, findings: &mut Findings) {
    let form = if grading.strict {
        "ask for \\boxed{} in data.prompt.template, or set reward.grading.strict = false, and reward.grading.last_number = true \
         where a bare number is the answer"
    } else if grading.last_number {
        "ask for an answer in data.prompt.template; the responses hold no number at all"
    } else {
        "ask for \\boxed{} in data.prompt.template, or set reward.grading.last_number = true"
    };
    let setting =
        if grading.strict { "reward.grading.strict" } else { "reward.grading.last_number" };
    let (names, share) = (["data.prompt.template", setting], seen.unparsed_fraction);
    if share >= 1.0 {
        findings.add(true, "no answer was found in any response", &names, form);
        return;
    }
    if share > MOST {
        let seen = format!("no answer was found in {share:.2} of the responses");
        findings.warn(&seen, &names, form);
    }
    if seen.right_fraction <= 0.0 {
        findings.add(
            true,
            &format!("not one of {} responses is right", seen.prompts * seen.group_size),
            &["data.train", "model.path", "reward.kind"],
            "take easier questions or a model that is right now and then; see above whether right answers are judged wrong",
        );
    }
    if seen.right_fraction >= 1.0 {
        let advice = "take harder questions: there is nothing to learn from these";
        findings.add(true, "every response is right", &["data.train", "reward.kind"], advice);
    }
}

fn groups(seen: &Preflight, run: &RunConfig, findings: &mut Findings) {
    if run.algorithm.advantage.smallest_group() <= 1 {
        return;
    }
    let share = seen.teaching_group_fraction;
    let mixed = seen.right_fraction > 0.0 && seen.right_fraction < 1.0;
    if share <= 0.0 && mixed {
        findings.add(
            seen.group_size >= run.rollout.group_size,
            "the rewards of each group are all the same: no comparison teaches anything",
            &["rollout.group_size", "rollout.temperature", "data.train"],
            "take larger groups, a higher temperature, or questions that are neither too easy nor too hard",
        );
    } else if share < 0.2 && mixed {
        let prompts = run.rollout.prompts_per_step;
        let of_step = share * prompts as f64;
        findings.warn(
            &format!("{share:.2} of the groups have rewards that differ, about {of_step:.1} of the {prompts} of a step"),
            &["dynamic_sampling.enabled", "rollout.group_size", "data.train"],
            "the rest of a step is sampled in vain: choose questions by pass rate, or sample until enough teach",
        );
    }
    if seen.repeated_group_fraction > MOST {
        let share = seen.repeated_group_fraction;
        findings.warn(
            &format!("the responses of {share:.2} of the groups are all the same text"),
            &["rollout.temperature", "rollout.top_p", "rollout.top_k"],
            "sampling leaves nothing to choose from: raise the temperature or keep more tokens",
        );
    }
}

fn entropy(seen: &Preflight, temperature: f64, vocabulary: usize, findings: &mut Findings) {
    let (nats, most) = (seen.mean_entropy, (vocabulary.max(2) as f64).ln());
    if nats < FROZEN_NATS {
        findings.warn(
            &format!("the entropy is {nats:.4} nats a token: there is hardly any left to spend"),
            &["rollout.temperature", "model.path"],
            &format!("raise the temperature above {temperature}, or begin from an earlier model"),
        );
    } else if nats > NOISE_FRACTION * most {
        findings.warn(
            &format!(
                "the entropy is {nats:.2} nats a token of at most {most:.2}: the text is noise"
            ),
            &["model.path", "rollout.temperature"],
            "the weights may be random, or of another tokenizer",
        );
    }
}
