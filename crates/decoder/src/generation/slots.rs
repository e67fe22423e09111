//! Continuous batching: a fixed number of slots decode together, and as one sequence ends the next takes its place.

use counter_rng::{NoiseKey, uniform};

use super::engine::{Engine, Kernels, Prefilled};
use super::error::GenerationError;
use super::request::{GenerationOptions, PromptRequest, SamplingKey};
use super::response::{Finish, Generated, Listener, Tally, TokenEntropy};
use super::sampler::Drawn;
use crate::cpu_decoder::packing_pays;
use crate::model::Decoder;
use crate::routes::Routes;
use crate::sampling_mask::SamplingMask;

/// A sequence in a slot.
#[derive(Debug, Default)]
pub(super) struct Row {
    key: SamplingKey,
    /// Its place among all responses.
    index: usize,
    pub(super) sample: u64,
    pub(super) token_ids: Vec<u32>,
    log_prob: Vec<f64>,
    entropy: Vec<TokenEntropy>,
    mask: Option<SamplingMask>,
    /// Experts of the tokens read so far, if they are recorded.
    routes: Option<Routes>,
    pub(super) finish: Option<Finish>,
}

/// Generates all responses, or as many as `listener` wants, and tells it of each as it ends.
pub(super) fn run(
    decoder: &Decoder,
    prompts: &[PromptRequest<'_>],
    options: &GenerationOptions,
    listener: &mut dyn Listener,
) -> Result<(), GenerationError> {
    let total = prompts.len() * options.samples;
    let slots = options.rows.min(total);
    let mut engine = engine(decoder, prompts, options, slots);
    let mut prefilled: Option<Prefilled> = None;
    let mut rows: Vec<Row> = Vec::with_capacity(slots);
    let mut tally = Tally { total, ..Tally::default() };
    let mut next = 0;
    loop {
        while rows.len() < slots && next < total {
            let (prompt, sample) = (next / options.samples, next % options.samples);
            let read = prefilled.take().filter(|read| read.prompt == prompt as u64);
            let read =
                read.unwrap_or_else(|| engine.prefill(prompt as u64, prompts[prompt].token_ids));
            engine.place(&read);
            let row = Row::new(prompts[prompt].key, next, sample as u64, options);
            rows.push(Row { routes: read.routes.clone(), ..row });
            prefilled = Some(read);
            next += 1;
        }
        if rows.is_empty() {
            return Ok(());
        }
        let noise: Vec<f64> = rows.iter().map(Row::noise).collect();
        let logits = engine.logits();
        let drawn = engine.draw(&logits, &noise, options)?;
        decoder.check_blocks()?;
        for (row, drawn) in rows.iter_mut().zip(drawn) {
            row.push(&drawn, options)?;
        }
        tally.tokens += rows.len();
        // From the last to the first: what moves into the place of a finished row is not finished.
        for place in (0..rows.len()).rev() {
            if rows[place].finish.is_some() {
                engine.swap_remove(place);
                let (index, response) = rows.swap_remove(place).into_generated();
                tally.finished += 1;
                tally.truncated += usize::from(response.finish == Finish::Length);
                listener.finished(index, response);
            }
        }
        listener.progress(&tally);
        if !listener.goes_on() {
            return Ok(());
        }
        let last: Vec<u32> = rows.iter().map(Row::last_token).collect();
        if let Some(read) = engine.step(&last) {
            for (row, read) in rows.iter_mut().zip(read.split(&vec![1; last.len()])) {
                row.routes.get_or_insert_default().extend(&read);
            }
        }
    }
}

/// An engine with room for so many of the responses at a time.
fn engine<'a>(
    decoder: &'a Decoder,
    prompts: &[PromptRequest<'_>],
    options: &GenerationOptions,
    slots: usize,
) -> Engine<'a> {
    let total = prompts.len() * options.samples;
    let longest = prompts.iter().map(|prompt| prompt.token_ids.len()).max().unwrap_or(0);
    let steps = total.div_ceil(slots.max(1)) * options.max_new_tokens;
    let (cpu, cuda) = (options.cpu_kernels, options.cuda_kernels);
    let kernels = Kernels { cpu, packs: packing_pays(slots, steps), cuda };
    let capacity = longest + options.max_new_tokens;
    Engine::new(decoder, slots, capacity, kernels, options.record_routes)
}

impl Row {
    pub(super) fn new(
        key: SamplingKey,
        index: usize,
        sample: u64,
        options: &GenerationOptions,
    ) -> Self {
        let mask = options.truncates().then(SamplingMask::default);
        Self { key, index, sample, mask, ..Self::default() }
    }

    pub(super) fn noise(&self) -> f64 {
        let key = self.key;
        uniform(NoiseKey {
            seed: key.seed,
            step: key.step,
            prompt: key.prompt,
            sample: self.sample,
            position: self.token_ids.len() as u64,
        })
    }

    pub(super) fn push(
        &mut self,
        drawn: &Drawn,
        options: &GenerationOptions,
    ) -> Result<(), GenerationError> {
        self.token_ids.push(drawn.token_id);
        self.log_prob.push(drawn.log_prob);
        self.entropy.extend(drawn.entropy);
        if let Some(mask) = &mut self.mask {
            mask.push(&drawn.mask);
        }
        let completes_stop_string = || match &options.stop_strings {
            Some(strings) => strings.completed_by_last(&self.token_ids),
            None => Ok(false),
        };
        self.finish = if options.stop_ids.contains(&drawn.token_id) {
            Some(Finish::Stop)
        } else if completes_stop_string()? {
            Some(Finish::StopString)
        } else {
            (self.token_ids.len() == options.max_new_tokens).then_some(Finish::Length)
        };
        Ok(())
    }

    pub(super) fn last_token(&self) -> u32 {
        *self.token_ids.last().expect("every row drew a token before")
    }

    fn into_generated(self) -> (usize, Generated) {
        let Self { index, token_ids, log_prob, entropy, mask, routes, finish, .. } = self;
        let finish = finish.expect("only finished rows leave their slot");
        (index, Generated { token_ids, log_prob, entropy, mask, routes, finish })
    }
}
