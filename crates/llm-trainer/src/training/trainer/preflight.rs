//! Samples the first responses of a run, without the run.

use anyhow::ensure;
use model_files::chat_template::{ChatTemplate, Message};
use question_data::prompt::Prompt;
use question_data::question_order::{DataCursor, QuestionOrder};
use reward_math::Verdict;
use run_plan::preflight::{ModelFacts, Preflight, PreflightGroup, PreflightSample, SampleGrade};
use training_run::config::Run;

use super::questions::RunQuestions;
use crate::training::judge::{Judge, ResponseText};
use crate::training::policy_pass::{PolicyPass, Sequence};
use crate::training::rollout::{Engine, SamplingPass};
use crate::training::sample::Sample;
use crate::training::sequence::TokenLayout;
use decoder::generation::SamplingKey;
use decoder::model::Decoder;
use ranks::DeviceMesh;

/// Asks the first `prompts` questions of a run, `group_size` responses each, and reports on the responses.
///
/// The responses are those that the run's first step samples, unless its group size differs, and the errors are the run's. `tell`
/// receives the number of finished parts (responses, then entropies) and the current activity.
pub(crate) fn preflight(
    run: &Run,
    prompts: usize,
    group_size: usize,
    tell: &dyn Fn(u64, &str),
) -> anyhow::Result<Preflight> {
    ensure!(prompts > 0 && group_size > 0, "a preflight of no response, expected at least one");
    let config = run.config();
    ranks::device::set_threads(config.model.threads)?;
    let device = ranks::device::resolve(config.model.device)?;
    let kind = ranks::device::kind_of(config.model.dtype);
    let text = ResponseText::load(config)?;
    let questions = RunQuestions::load(config, &text.tokenizer)?;
    let model = Decoder::load(&config.model.path, device, kind)?;
    let vocabulary = model.config().vocab_size;
    text.tokenizer.check_vocabulary(vocabulary)?;

    let all = &questions.questions.prompts;
    let mut order = QuestionOrder::new(config.seed, all.len(), DataCursor::default());
    let chosen: Vec<&Prompt> =
        order.next_batch(prompts.min(all.len())).into_iter().map(|index| &all[index]).collect();
    let judge = Judge::start(config, text)?;
    let pass = SamplingPass {
        engine: Engine::Own(&model),
        options: &judge.text.options(&config.rollout, group_size, config.rollout.sampling()),
        judge: &judge,
    };
    let first = SamplingKey { seed: config.seed, step: 1, prompt: 0 };
    let rollout = pass.roll_out(&DeviceMesh::single(), &chosen, first, &|what| tell(0, what))?;
    tell(1, "entropies");
    let sequences: Vec<&Sequence> = rollout.samples.iter().map(|s| &s.sequence).collect();
    let entropy = PolicyPass::of_run(&model, config).statistics(&sequences).entropy;
    let layout = TokenLayout::of(sequences.iter().copied());
    let mut entropies = layout.sums(&entropy).into_iter();
    let mut groups = Vec::with_capacity(chosen.len());
    for (prompt, samples) in chosen.iter().zip(rollout.samples.chunks(group_size)) {
        let seen = |(sample, entropy_sum): (&Sample, f64)| {
            preflight_sample(sample, &judge.text.end_ids, entropy_sum)
        };
        groups.push(PreflightGroup {
            question: prompt.question.id.clone(),
            problem: prompt.question.problem.clone(),
            answer: prompt.question.answer.clone(),
            prompt_tokens: prompt.tokens.len(),
            samples: samples.iter().zip(entropies.by_ref()).map(seen).collect(),
        });
    }
    let template = ChatTemplate::load(&config.model.path)?;
    let facts = ModelFacts {
        has_chat_template: template.is_some(),
        // A prompt with a generation prompt is rendered otherwise than one without.
        has_generation_prompt: template.as_ref().is_some_and(|template| {
            let question = [Message::new("user", "1 + 1?")];
            let [with, without] = [true, false].map(|asks| template.render(&question, asks).ok());
            with != without
        }),
        vocabulary,
    };
    let rendered = match chosen.first() {
        // Rendered for the model, before truncation.
        Some(prompt) => config.data.prompt.question_text(&prompt.question, template.as_ref())?,
        None => String::new(),
    };
    Ok(Preflight::new(rendered, groups, run, facts))
}

fn preflight_sample(sample: &Sample, end_ids: &[u32], entropy_sum: f64) -> PreflightSample {
    let (outcome, reason) = match &sample.verdict {
        Verdict::Right { how } => (SampleGrade::Right, format!("decided by {}", how.rung)),
        Verdict::Wrong { how } => (SampleGrade::Wrong, format!("decided by {}", how.rung)),
        Verdict::Unparsed { why, .. } => (SampleGrade::Unparsed, why.to_string()),
    };
    let response = &sample.sequence.response;
    PreflightSample {
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
