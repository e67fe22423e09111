//! The first responses of a run, without the run.

use std::sync::Arc;

use anyhow::ensure;
use model_files::chat_template::{ChatTemplate, Message};
use model_files::stop_strings::StopStrings;
use model_files::text_tokenizer::TextTokenizer;
use question_data::prompt::Prompt;
use question_data::question_order::{DataCursor, QuestionOrder};
use reward_math::Verdict;
use run_plan::preflight::{GroupSeen, ModelFacts, Outcome, Preflight, SampleSeen};
use training_run::config::Run;

use super::policy_pass;
use super::questions::Asked;
use super::start::start_sandbox;
use crate::generation::GenerationOptions;
use crate::model::Decoder;
use crate::training::policy_pass::Sequence;
use crate::training::rollout::{Judge, Sample, roll_out};

/// Asks the first `prompts` questions of a run, `group_size` responses each, and says what they show.
///
/// The responses are those that its first step draws, where it is not given another group size. `tell` hears how many of the two
/// parts of the work are done, responses and entropies, and what goes on.
///
/// # Errors
///
/// If the model, the data or a setting cannot be used, as the run itself would say.
///
/// # Panics
///
/// If the device has too little memory.
pub fn preflight(
    run: &Run,
    prompts: usize,
    group_size: usize,
    tell: &dyn Fn(u64, &str),
) -> anyhow::Result<Preflight> {
    ensure!(prompts > 0 && group_size > 0, "a preflight of no response, expected at least one");
    let config = run.config();
    crate::device::set_threads(config.model.threads)?;
    let (device, kind) = crate::device::place(&config.model, (0, 1))?;
    let tokenizer = TextTokenizer::load(&config.model.path)?;
    let end_ids = tokenizer.eos_ids(&config.model.path)?;
    let (special, stops) = StopStrings::split(&tokenizer, &config.rollout.stop)?;
    let stop_strings = stops.map(Arc::new);
    let asked = Asked::load(config, &tokenizer)?;
    let model = Decoder::load(&config.model.path, device, kind)?;
    let vocabulary = model.config().vocab_size;
    tokenizer.check_vocabulary(vocabulary)?;

    let all = &asked.questions.prompts;
    let mut order = QuestionOrder::new(config.seed, all.len(), DataCursor::default());
    let chosen: Vec<&Prompt> =
        order.next_batch(prompts.min(all.len())).into_iter().map(|index| &all[index]).collect();
    let section = &config.rollout;
    let mut stop_ids = end_ids.clone();
    stop_ids.extend(section.stop_token_ids.iter().chain(&special));
    let options = GenerationOptions {
        samples: group_size,
        max_new_tokens: section.max_response_tokens,
        temperature: section.temperature,
        top_k: section.top_k,
        top_p: section.top_p,
        min_p: section.min_p,
        stop_ids,
        stop_strings: stop_strings.clone(),
        rows: section.rows,
        cpu_kernels: section.cpu_kernels,
        cuda_kernels: true,
        band: None,
        measure_entropy: false,
    };
    let kinds = config.reward.kinds();
    let sandbox = start_sandbox(config)?;
    let judge = Judge {
        tokenizer: &tokenizer,
        stop_strings: stop_strings.as_deref(),
        options: &config.reward.grading,
        kinds: &kinds,
        sandbox: sandbox.as_ref(),
        pool: None,
        reward: config.reward.values,
        own: None,
        overlong: config.reward.overlong.penalty(section.max_response_tokens)?,
    };
    let rollout =
        roll_out(&model, &chosen, &options, judge, (config.seed, 1), 0, &|what| tell(0, what))?;
    tell(1, "entropies");
    let sequences: Vec<&Sequence> = rollout.samples.iter().map(|s| &s.sequence).collect();
    let mut entropy = policy_pass(&model, config).statistics(&sequences).entropy.into_iter();
    let mut groups = Vec::with_capacity(chosen.len());
    for (prompt, samples) in chosen.iter().zip(rollout.samples.chunks(group_size)) {
        let seen = |sample: &Sample| {
            let of_sample = entropy.by_ref().take(sample.sequence.response.len());
            sample_seen(sample, &end_ids, of_sample.sum())
        };
        groups.push(GroupSeen {
            question: prompt.question.id.clone(),
            problem: prompt.question.problem.clone(),
            answer: prompt.question.answer.clone(),
            prompt_tokens: prompt.tokens.len(),
            samples: samples.iter().map(seen).collect(),
        });
    }
    let template = ChatTemplate::load(&config.model.path)?;
    let facts = ModelFacts {
        has_chat_template: template.is_some(),
        has_generation_prompt: template.as_ref().is_some_and(opens_a_turn),
        vocabulary,
    };
    let rendered = match chosen.first() {
        // As the model reads it, whatever was cut off.
        Some(prompt) => config.data.prompt.question_text(&prompt.question, template.as_ref())?,
        None => String::new(),
    };
    Ok(Preflight::new(rendered, groups, run, facts))
}

/// Whether a prompt that asks for an answer is another than one that does not.
fn opens_a_turn(template: &ChatTemplate) -> bool {
    let question = [Message::new("user", "1 + 1?")];
    let rendered = |asks| template.render(&question, asks).ok();
    rendered(true) != rendered(false)
}

fn sample_seen(sample: &Sample, end_ids: &[u32], entropy_sum: f64) -> SampleSeen {
    let (outcome, reason) = match &sample.verdict {
        Verdict::Right { how } => (Outcome::Right, format!("decided by {:?}", how.rung)),
        Verdict::Wrong { how } => (Outcome::Wrong, format!("decided by {:?}", how.rung)),
        Verdict::Unparsed { why, .. } => (Outcome::Unparsed, why.to_string()),
    };
    let response = &sample.sequence.response;
    SampleSeen {
        text: sample.text.clone(),
        tokens: response.len(),
        truncated: sample.truncated,
        ended_by_token: response.last().is_some_and(|token| end_ids.contains(token)),
        outcome,
        reason,
        reward: sample.reward,
        entropy_sum,
    }
}
