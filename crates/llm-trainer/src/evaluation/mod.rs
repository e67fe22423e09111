//! Evaluation of a model on sets of questions: its responses are graded, saved as they come, and summarised.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail};
use counter_rng::{Purpose, named_seed};
use decoder::cpu_decoder::CpuDecoder;
use decoder::generation::{
    Finish, Generated, GenerationOptions, Listener, PromptRequest, SamplingKey, Tally,
    generate_each,
};
use decoder::model::Decoder;
use model_files::chat_template::ChatTemplate;
use model_files::stop_strings::StopStrings;
use model_files::text_tokenizer::TextTokenizer;
use question_data::arithmetic::Split;
use question_data::dataset::DataSource;
use question_data::ground_truth::{GroundTruth, RewardKinds};
use question_data::prompt::{OverLongPrompt, Prompt, PromptFormat};
use ranks::device::dtype_name;
use rayon::prelude::*;
use run_report::evaluation::bootstrap::{Bootstrap, Resampled};
use run_report::evaluation::folder::{Results, ResultsFolder};
use run_report::evaluation::identity;
use run_report::evaluation::measures::summarise;
use run_report::evaluation::response::{GradedAnswer, Response, judge};
use run_report::evaluation::settings::{EvaluationFile, EvaluationSet};
use serde_json::{Value, json};

use crate::interruption::Signals;
use crate::progress::Progress;
use crate::training::judge::known_answer;

/// An evaluation that is ready to start: all its inputs were read and checked.
#[derive(Debug)]
pub(crate) struct Evaluation {
    decoder: Decoder,
    tokenizer: TextTokenizer,
    bootstrap: Bootstrap,
    /// All settings that decide what is sampled and how it is graded, as in `settings.json`.
    pub(crate) settings: Value,
    sets: Vec<PreparedSet>,
}

impl Evaluation {
    /// Reads the questions of all sets and turns them into prompts of the model in `directory`.
    ///
    /// `rows` sequences decode together, on the CPU by `cpu_kernels` where that is set.
    pub(crate) fn prepare(
        directory: &Path,
        decoder: Decoder,
        file: &EvaluationFile,
        sets: Vec<EvaluationSet>,
        rows: usize,
        cpu_kernels: bool,
    ) -> anyhow::Result<Self> {
        let tokenizer = TextTokenizer::load(directory)?;
        tokenizer.check_vocabulary(decoder.config().vocab_size)?;
        let prompt = file.prompt.clone().unwrap_or_default();
        let place = Place {
            file,
            decoder: &decoder,
            tokenizer: &tokenizer,
            chat_template: ChatTemplate::load(directory)?,
            eos: tokenizer.eos_ids(directory)?,
            prompt: &prompt,
            rows,
            cpu_kernels,
        };
        let prepare = |set: EvaluationSet| {
            let name = set.name.clone();
            PreparedSet::new(set, &place).with_context(|| format!("set `{name}`"))
        };
        let sets = sets.into_iter().map(prepare).collect::<anyhow::Result<Vec<_>>>()?;
        let settings = json!({
            "program": {
                "llm_trainer": env!("CARGO_PKG_VERSION"),
                "libtorch": torch_ext::libtorch().built_against,
            },
            "model": {
                "path": directory.canonicalize()?,
                "sha256_of_pieces": fingerprint(directory)?,
                "dtype": dtype_name(decoder.kind()),
                "device": if decoder.device().is_cuda() { "cuda" } else { "cpu" },
            },
            "rows": rows,
            "cpu_kernels": cpu_kernels,
            "seed": file.seed,
            "prompt": prompt,
            "grading": file.grading,
            "bootstrap": file.bootstrap,
            "sets": sets.iter().map(PreparedSet::settings).collect::<anyhow::Result<Vec<_>>>()?,
        });
        Ok(Self { decoder, tokenizer, bootstrap: file.bootstrap, settings, sets })
    }

    /// Samples and grades the missing responses of the folder, and summarises all.
    ///
    /// SIGTERM and SIGINT end it; problems with unfinished responses are given up. The same evaluation in the same folder resumes, on the
    /// CPU to the same bits.
    pub(crate) fn run(&self, folder: &ResultsFolder) -> anyhow::Result<Results> {
        let signals = Signals::listen()?;
        let problems: usize = self.sets.iter().map(PreparedSet::problems).sum();
        let mut responses =
            self.sets.iter().map(|set| set.kept(folder)).collect::<anyhow::Result<Vec<_>>>()?;
        let problems_in = |set: &PreparedSet, kept: usize| kept / set.samples();
        let mut done =
            self.sets.iter().zip(&responses).map(|(set, kept)| problems_in(set, kept.len())).sum();
        let progress = Progress::new("eval", problems as u64, done as u64);
        for (set, responses) in self.sets.iter().zip(&mut responses) {
            while problems_in(set, responses.len()) < set.problems() {
                if let Some(by) = signals.asked_to_end() {
                    progress.interrupt();
                    eprintln!(
                        "eval: {by} after {done} of {problems} problems, which are saved; the same command goes on"
                    );
                    return Err(by.into());
                }
                let problems = set.group(problems_in(set, responses.len()));
                let requests = set.requests(problems.clone());
                let total = requests.len() * set.samples();
                let mut waiting = Waiting {
                    set,
                    tokenizer: &self.tokenizer,
                    problems,
                    generated: vec![None; total],
                    total,
                    folder,
                    signals: &signals,
                    progress: &progress,
                    done: &mut done,
                    responses,
                    failed: None,
                };
                generate_each(&self.decoder, &requests, &set.options, &mut waiting)?;
                waiting.failed.map_or(Ok(()), Err)?;
            }
        }
        progress.finish();
        let summaries = (0..).zip(self.sets.iter().zip(&responses)).map(|(stream, (set, kept))| {
            summarise(&set.set.name, kept, set.samples(), &self.bootstrap, stream)
        });
        let (sets, averages): (Vec<_>, Vec<Resampled>) = summaries.unzip();
        let mean = Resampled::plain_mean(&averages.iter().collect::<Vec<_>>());
        let mean = self.bootstrap.estimate(&mean);
        Ok(Results::new(self.settings.clone(), sets, mean))
    }
}

/// Fingerprint of a model, and of the one below an adapter, as in `settings.json`: hexadecimal digits.
pub(crate) fn fingerprint(directory: &Path) -> anyhow::Result<String> {
    let base = Decoder::base_directory(directory)?;
    let directories: Vec<&Path> = std::iter::once(directory).chain(base.as_deref()).collect();
    Ok(identity::of_model(&directories)?)
}

/// Multiple of the decoding slots that problems sampled together fill.
const FILLS: usize = 4;

#[derive(Debug)]
struct PreparedSet {
    set: EvaluationSet,
    prompts: Vec<Prompt>,
    truths: Vec<GroundTruth>,
    options: GenerationOptions,
    /// True if a response is bit-identical whatever decodes beside it.
    rows_are_alone: bool,
    /// Seed of the noise, made of the seed and the set's name: a set draws the same whichever other sets there are.
    seed: u64,
}

/// Model and settings shared by all sets.
struct Place<'a> {
    file: &'a EvaluationFile,
    decoder: &'a Decoder,
    tokenizer: &'a TextTokenizer,
    chat_template: Option<ChatTemplate>,
    eos: Vec<u32>,
    prompt: &'a PromptFormat,
    rows: usize,
    cpu_kernels: bool,
}

impl PreparedSet {
    /// Reads the questions of a set and turns them into prompts.
    fn new(set: EvaluationSet, place: &Place<'_>) -> anyhow::Result<Self> {
        let &Place { file, decoder, tokenizer, rows, cpu_kernels, .. } = place;
        let positions = decoder.config().max_position_embeddings;
        let kinds = RewardKinds { otherwise: set.kind, ..RewardKinds::default() };
        let questions = set.questions.load(Split::HeldOut, &kinds)?.questions;
        // Whether they fit the model is a question of the longest response, too.
        let (template, any_length) = (place.chat_template.as_ref(), usize::MAX);
        let too_long = OverLongPrompt::Error;
        let prompts = place.prompt.prompts(questions, tokenizer, template, any_length, too_long)?;
        let prompts = prompts.prompts;
        let read = |prompt: &Prompt| known_answer(set.kind, &prompt.question, &file.grading);
        let longest = set.sampling.max_response_tokens;
        let fits = |prompt: &&Prompt| prompt.tokens.len().saturating_add(longest) <= positions;
        if let Some(prompt) = prompts.iter().find(|prompt| !fits(prompt)) {
            let (id, tokens) = (&prompt.question.id, prompt.tokens.len());
            bail!(
                "question {id}: {tokens} tokens and max_response_tokens = {longest}, expected at most \
                 max_position_embeddings = {positions} in all"
            );
        }
        let truths = prompts.iter().map(read).collect::<anyhow::Result<Vec<_>>>()?;
        let sampling = &set.sampling;
        let (special, stop_strings) = StopStrings::split(tokenizer, &sampling.stop)?;
        let options = GenerationOptions {
            samples: sampling.samples,
            max_new_tokens: sampling.max_response_tokens,
            sampling: sampling.sampling(),
            stop_ids: place.eos.iter().copied().chain(special).collect(),
            stop_strings: stop_strings.map(Arc::new),
            rows,
            cpu_kernels,
            cuda_kernels: true,
            band: sampling.band()?,
            measure_entropy: true,
            record_routes: false,
        };
        let seed = named_seed(file.seed, Purpose::Evaluation, &set.name);
        let rows_are_alone = cpu_kernels && CpuDecoder::serves(decoder);
        Ok(Self { set, prompts, truths, options, rows_are_alone, seed })
    }

    fn problems(&self) -> usize {
        self.prompts.len()
    }

    fn samples(&self) -> usize {
        self.options.samples
    }

    /// Returns all settings that decide what is asked and how.
    fn settings(&self) -> anyhow::Result<Value> {
        let mut settings = serde_json::to_value(&self.set)?;
        if let DataSource::File(file) = &self.set.questions
            && file.located.is_empty()
        {
            let path = serde_json::to_value(file.path.canonicalize()?)?;
            settings["questions"]["file"]["path"] = path;
        }
        settings["problems"] = self.problems().into();
        settings["sha256_of_prompts"] = identity::of_prompts(&self.prompts).into();
        settings["surprise_of"] = self.options.distribution().into();
        Ok(settings)
    }

    /// Problems sampled together, from `first` on: all, if a response does not depend on what decodes beside it.
    fn group(&self, first: usize) -> Range<usize> {
        let group = if self.rows_are_alone { usize::MAX } else { self.unit() };
        first..first.saturating_add(group).min(self.problems())
    }

    /// Number of problems written together. An interrupted evaluation resumes after the last complete unit, with the same results.
    fn unit(&self) -> usize {
        if self.rows_are_alone { 1 } else { (FILLS * self.options.rows).div_ceil(self.samples()) }
    }

    fn kept(&self, folder: &ResultsFolder) -> anyhow::Result<Vec<Response>> {
        let kept =
            folder.responses(&self.set.name, self.samples(), self.unit(), self.problems())?;
        let place = |response: &Response| &self.prompts[response.problem].question;
        let known = |response: &Response| response.problem < self.problems();
        if let Some(other) = kept.iter().find(|one| !known(one) || place(one).id != one.id) {
            let root = folder.root().display();
            bail!("{root}: set `{}`: `{}` is no problem of it", self.set.name, other.id);
        }
        Ok(kept)
    }

    fn requests(&self, problems: Range<usize>) -> Vec<PromptRequest<'_>> {
        let request = |problem: usize| PromptRequest {
            token_ids: &self.prompts[problem].tokens,
            key: SamplingKey { seed: self.seed, step: 0, prompt: problem as u64 },
        };
        problems.map(request).collect()
    }

    fn response(
        &self,
        problem: usize,
        sample: usize,
        generated: &Generated,
        tokenizer: &TextTokenizer,
    ) -> anyhow::Result<Response> {
        let decoded = tokenizer.decode(&generated.token_ids)?;
        let stops = self.options.stop_strings.as_ref();
        let text = stops.map_or(decoded.as_str(), |stops| stops.cut(&decoded)).to_owned();
        let GradedAnswer { verdict, answer, normal_form } = judge(&self.truths[problem], &text);
        let question = &self.prompts[problem].question;
        let tokens = generated.token_ids.len();
        let entropy = generated.entropy.iter().map(|token| token.drawn_from).sum::<f64>();
        let surprise = -generated.log_prob.iter().sum::<f64>();
        Ok(Response {
            problem,
            id: question.id.clone(),
            sample,
            ground_truth: question.answer.clone(),
            answer,
            normal_form,
            verdict,
            truncated: generated.finish == Finish::Length,
            tokens,
            entropy: entropy / tokens as f64,
            surprise: surprise / tokens as f64,
            text,
        })
    }
}

/// Finished responses that wait for those before them. Sampling ends when a signal asks for it; problems that are written together
/// are always completed.
struct Waiting<'a> {
    set: &'a PreparedSet,
    tokenizer: &'a TextTokenizer,
    /// Problems of `generated`, not yet passed on.
    problems: Range<usize>,
    generated: Vec<Option<Generated>>,
    total: usize,
    folder: &'a ResultsFolder,
    signals: &'a Signals,
    progress: &'a Progress,
    /// Problems done, over all sets.
    done: &'a mut usize,
    responses: &'a mut Vec<Response>,
    failed: Option<anyhow::Error>,
}

impl Waiting<'_> {
    /// Grades the problems at the front whose responses have all ended, and writes them.
    fn hand_over(&mut self) -> anyhow::Result<()> {
        let samples = self.set.samples();
        let ended = self.generated.iter().take_while(|generated| generated.is_some()).count();
        let unit = self.set.unit().min(self.problems.len()).max(1);
        let count = ended / samples / unit * unit;
        if count == 0 {
            return Ok(());
        }
        let first = self.problems.start;
        let ended: Vec<_> = self.generated.drain(..count * samples).flatten().enumerate().collect();
        self.problems.start += count;
        let judged = ended.into_par_iter().map(|(place, generated)| {
            let (problem, sample) = (first + place / samples, place % samples);
            self.set.response(problem, sample, &generated, self.tokenizer)
        });
        let judged = judged.collect::<anyhow::Result<Vec<Response>>>()?;
        self.folder.append(&self.set.set.name, &judged)?;
        *self.done += count;
        self.responses.extend(judged);
        let right = self.responses.iter().filter(|response| response.is_right()).count();
        let share = right as f64 / self.responses.len() as f64;
        self.progress
            .advance(*self.done as u64, &format!("{}: {share:.3} right", self.set.set.name));
        Ok(())
    }
}

impl Listener for Waiting<'_> {
    fn finished(&mut self, index: usize, response: Generated) {
        // Indices count from the first problem, and some responses have already been passed on.
        let gone = self.total - self.generated.len();
        self.generated[index - gone] = Some(response);
        if self.failed.is_none() {
            self.failed = self.hand_over().err();
        }
    }

    fn progress(&mut self, Tally { total, finished, truncated, .. }: &Tally) {
        let name = &self.set.set.name;
        let text = format!("{name}, {finished} of {total} responses, {truncated} truncated");
        self.progress.phase(*self.done as u64, &text);
    }

    fn goes_on(&self) -> bool {
        self.failed.is_none() && self.signals.asked_to_end().is_none()
    }
}
