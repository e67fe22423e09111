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
use run_report::evaluation::settings::{EvaluationFile, EvaluationSet};
use serde_json::{Value, json};

use self::prepared::{Place, PreparedSet, ResponseWriter};
use crate::progress::Progress;
use crate::signals::Signals;
use decoder::cpu_decoder::CpuDecoder;
use decoder::model::Decoder;
use ranks::device::dtype_name;

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
            tokenizer: &tokenizer,
            chat_template: ChatTemplate::load(directory)?,
            eos: tokenizer.eos_ids(directory)?,
            prompt: &prompt,
            grading: &file.grading,
            seed: file.seed,
            rows,
            cpu_kernels,
            rows_are_alone: cpu_kernels && CpuDecoder::serves(&decoder),
            positions: decoder.config().max_position_embeddings,
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
                let first = problems_in(set, responses.len());
                let (signals, progress, done) = (&signals, &progress, &mut done);
                let mut writer = ResponseWriter { folder, signals, progress, done, responses };
                set.answer(first, &self.decoder, &self.tokenizer, &mut writer)?;
            }
        }
        progress.finish();
        let summaries = (0..).zip(self.sets.iter().zip(&responses)).map(|(stream, (set, kept))| {
            summarise(set.name(), kept, set.samples(), &self.bootstrap, stream)
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
