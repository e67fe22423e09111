//! Evaluation of a model on sets of questions: its responses are graded, saved as they come, and summarised.

mod prepared;

use std::path::Path;

use anyhow::Context;
use model_files::chat_template::ChatTemplate;
use model_files::text_tokenizer::TextTokenizer;
use run_report::evaluation::bootstrap::{Bootstrap, Resampled};
use run_report::evaluation::folder::{Results, ResultsFolder};
use run_report::evaluation::identity;
use run_report::evaluation::measures::summarise;
use run_report::evaluation::response::Response;
use run_report::evaluation::settings::{EvaluationFile, EvaluationSet};
use serde_json::{Value, json};

use self::prepared::{Client, PreparedSet};
use crate::interruption::Interruption;
use crate::progress::Progress;
use crate::signals::Signals;
use decoder::cpu_decoder::CpuDecoder;
use decoder::model::Decoder;
use ranks::device::dtype_name;

/// An evaluation that is ready to start: all its inputs were read and checked.
#[derive(Debug)]
pub struct Evaluation {
    decoder: Decoder,
    tokenizer: TextTokenizer,
    bootstrap: Bootstrap,
    settings: Value,
    sets: Vec<PreparedSet>,
}

/// How an evaluation ended.
#[derive(Debug)]
pub enum EvaluationOutcome {
    /// All problems are done.
    Finished(Results),
    /// A signal ended the evaluation.
    Interrupted {
        /// The signal.
        by: Interruption,
        /// Problems with all their responses.
        done: usize,
        /// Problems in total.
        problems: usize,
    },
}

impl Evaluation {
    /// Reads the questions of all sets and turns them into prompts of the model in `directory`.
    ///
    /// `rows` sequences decode together, on the CPU by `cpu_kernels` where that is set.
    ///
    /// # Errors
    ///
    /// A file, row, answer, prompt or tokenizer that cannot be used, named.
    pub fn prepare(
        directory: &Path,
        decoder: Decoder,
        file: &EvaluationFile,
        sets: Vec<EvaluationSet>,
        rows: usize,
        cpu_kernels: bool,
    ) -> anyhow::Result<Self> {
        let tokenizer = TextTokenizer::load(directory)?;
        tokenizer.check_vocabulary(decoder.config().vocab_size)?;
        let chat_template = ChatTemplate::load(directory)?;
        let prompt = file.prompt.clone().unwrap_or_default();
        let eos = tokenizer.eos_ids(directory)?;
        let prepare = |set: EvaluationSet| {
            let name = set.name.clone();
            let prompts = prepared::prompts(&set, &prompt, &tokenizer, chat_template.as_ref());
            let prompts = prompts.with_context(|| format!("set `{name}`"))?;
            let positions = decoder.config().max_position_embeddings;
            let rows_are_alone = cpu_kernels && CpuDecoder::serves(&decoder);
            let place =
                prepared::Place { seed: file.seed, rows, cpu_kernels, rows_are_alone, positions };
            PreparedSet::new(set, prompts, &file.grading, &tokenizer, &eos, place)
                .with_context(|| format!("set `{name}`"))
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

    /// Returns all settings that decide what is sampled and how it is graded, as in `settings.json`.
    pub fn settings(&self) -> &Value {
        &self.settings
    }

    /// Samples and grades the missing responses of the folder, and summarises all.
    ///
    /// SIGTERM and SIGINT end it; problems with unfinished responses are given up. The same evaluation in the same folder resumes, on the
    /// CPU to the same bits.
    ///
    /// # Errors
    ///
    /// If generation fails, or a file cannot be read or written.
    ///
    /// # Panics
    ///
    /// If the device has too little memory.
    pub fn run(&self, folder: &ResultsFolder) -> anyhow::Result<EvaluationOutcome> {
        let signals = Signals::listen()?;
        let problems = self.sets.iter().map(PreparedSet::problems).sum();
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
                    return Ok(EvaluationOutcome::Interrupted { by, done, problems });
                }
                let first = problems_in(set, responses.len());
                let (signals, progress, done) = (&signals, &progress, &mut done);
                let mut writer = ResponseWriter { set, folder, signals, progress, done, responses };
                set.answer(first, &self.decoder, &self.tokenizer, &mut writer)?;
            }
        }
        progress.finish();
        let mut sets = Vec::new();
        let mut averages: Vec<Resampled> = Vec::new();
        for (stream, (set, responses)) in (0..).zip(self.sets.iter().zip(&responses)) {
            let (set, average) =
                summarise(set.name(), responses, set.samples(), &self.bootstrap, stream);
            sets.push(set);
            averages.push(average);
        }
        let mean = Resampled::plain_mean(&averages.iter().collect::<Vec<_>>());
        let mean = self.bootstrap.estimate(&mean);
        Ok(EvaluationOutcome::Finished(Results::new(self.settings.clone(), sets, mean)))
    }
}

/// Fingerprint of a model, and of the one below an adapter, as in `settings.json`: hexadecimal digits.
///
/// # Errors
///
/// If a file cannot be read.
pub(crate) fn fingerprint(directory: &Path) -> anyhow::Result<String> {
    let base = Decoder::base_directory(directory)?;
    let directories: Vec<&Path> = std::iter::once(directory).chain(base.as_deref()).collect();
    Ok(identity::of_model(&directories)?)
}

/// Saves responses as they come.
struct ResponseWriter<'a> {
    set: &'a PreparedSet,
    folder: &'a ResultsFolder,
    signals: &'a Signals,
    progress: &'a Progress,
    /// Problems done, over all sets.
    done: &'a mut usize,
    /// Responses to this set.
    responses: &'a mut Vec<Response>,
}

impl Client for ResponseWriter<'_> {
    fn take(&mut self, new: Vec<Response>) -> anyhow::Result<()> {
        self.folder.append(self.set.name(), &new)?;
        *self.done += new.len() / self.set.samples();
        self.responses.extend(new);
        let right = self.responses.iter().filter(|response| response.is_right()).count();
        let share = right as f64 / self.responses.len() as f64;
        self.progress.advance(*self.done as u64, &format!("{}: {share:.3} right", self.set.name()));
        Ok(())
    }

    fn tell(&self, text: &str) {
        self.progress.phase(*self.done as u64, &format!("{}, {text}", self.set.name()));
    }

    fn goes_on(&self) -> bool {
        self.signals.asked_to_end().is_none()
    }
}
