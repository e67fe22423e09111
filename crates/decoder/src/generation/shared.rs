//! Requests with their own settings that join a batch while others decode, as a server needs it.

use std::collections::VecDeque;
use std::sync::Arc;

use tch::{Kind, Tensor};

use super::engine::{Engine, Kernels, Prefilled};
use super::error::{GenerationError, check, check_length};
use super::request::{GenerationOptions, PromptRequest, SamplingKey};
use super::response::Finish;
use super::sampler::id_of;
use super::slots::Row;
use crate::model::{Decoder, numbers};

/// A prompt, with `options.samples` responses to draw.
#[derive(Debug, Clone)]
pub struct Ask {
    /// Identifier of its tokens in [`Drawing`].
    pub id: u64,
    /// The prompt's tokens, at least one.
    pub token_ids: Vec<u32>,
    /// Key of the noise.
    pub key: SamplingKey,
    /// Sampling options; `rows` and the kernels are the batch's.
    pub options: Arc<GenerationOptions>,
    /// Number of most likely tokens reported beside each drawn token.
    pub top: usize,
}

/// One drawn token.
#[derive(Debug, Clone, PartialEq)]
pub struct Drawing {
    /// Identifier of the [`Ask`].
    pub id: u64,
    /// Index of the response.
    pub sample: usize,
    /// The token.
    pub token_id: u32,
    /// Log-probability of the token in nats, as [`Generated::log_prob`](super::Generated::log_prob).
    pub log_prob: f64,
    /// Most likely tokens with their log-probabilities in nats, at the sampling temperature (1 for greedy choices) and over the
    /// full vocabulary.
    pub top: Vec<(u32, f64)>,
    /// Reason that the response ends with this token, if it does.
    pub finish: Option<Finish>,
}

/// The responses that decode together.
#[derive(Debug)]
pub struct SharedBatch<'a> {
    decoder: &'a Decoder,
    engine: Engine<'a>,
    rows: Vec<(Arc<Ask>, Row)>,
    slots: usize,
    capacity: usize,
    /// Requests with the index of their next response.
    waiting: VecDeque<(Arc<Ask>, u64)>,
    /// Prompt of an ask, by its id, for its other responses.
    prefilled: Option<Prefilled>,
}

impl<'a> SharedBatch<'a> {
    /// Makes room for `slots` responses at a time of at most `capacity` tokens, prompt included.
    pub fn new(decoder: &'a Decoder, slots: usize, capacity: usize, cpu_kernels: bool) -> Self {
        // Whatever there is room for, a server mostly has a few requests at a time, and lasts.
        let kernels = Kernels { cpu: cpu_kernels, packs: true, cuda: true };
        Self {
            decoder,
            engine: Engine::new(decoder, slots, capacity, kernels, false),
            rows: Vec::new(),
            slots,
            capacity,
            waiting: VecDeque::new(),
            prefilled: None,
        }
    }

    /// Adds an ask; its responses begin as soon as there are slots.
    ///
    /// # Errors
    ///
    /// [`GenerationError`] if an option or the prompt is out of range.
    pub fn push(&mut self, ask: Ask) -> Result<(), GenerationError> {
        let request = PromptRequest { token_ids: &ask.token_ids, key: ask.key };
        check(self.decoder, &[request], &ask.options)?;
        check_length(0, ask.token_ids.len(), ask.options.max_new_tokens, self.capacity)?;
        self.waiting.push_back((Arc::new(ask), 0));
        Ok(())
    }

    /// Returns true if nothing is requested.
    pub fn is_idle(&self) -> bool {
        self.rows.is_empty() && self.waiting.is_empty()
    }

    /// Returns true if another ask would begin with the next step.
    pub fn has_room(&self) -> bool {
        self.rows.len() < self.slots && self.waiting.is_empty()
    }

    /// Returns true if responses of this ask are still to come.
    pub fn holds(&self, id: u64) -> bool {
        self.rows
            .iter()
            .map(|(ask, _)| ask)
            .chain(self.waiting.iter().map(|(ask, _)| ask))
            .any(|ask| ask.id == id)
    }

    /// Draws one token for each response. `tell` returns false if an ask is no longer wanted, which cancels it.
    ///
    /// # Errors
    ///
    /// [`GenerationError::Text`] if drawn tokens have no text, [`GenerationError::Logits`] if logits define no distribution.
    ///
    /// # Panics
    ///
    /// If the device has too little memory.
    pub fn step(&mut self, tell: &mut dyn FnMut(Drawing) -> bool) -> Result<(), GenerationError> {
        let _no_grad = tch::no_grad_guard();
        self.fill();
        if self.rows.is_empty() {
            return Ok(());
        }
        let logits = self.engine.logits();
        let mut given_up = Vec::new();
        for (place, (ask, row)) in (0..).zip(&mut self.rows) {
            if given_up.contains(&ask.id) {
                continue;
            }
            let logits = logits.narrow(0, place, 1);
            let mut drawn = self.engine.draw(&logits, &[row.noise()], &ask.options)?;
            let drawn = drawn.pop().expect("one token a row");
            row.push(&drawn, &ask.options)?;
            let drawing = Drawing {
                id: ask.id,
                sample: usize::try_from(row.sample).expect("counted in usize"),
                token_id: drawn.token_id,
                log_prob: drawn.log_prob,
                top: likeliest(&logits, ask.top, ask.options.sampling.temperature),
                finish: row.finish,
            };
            if !tell(drawing) {
                given_up.push(ask.id);
            }
        }
        self.waiting.retain(|(ask, _)| !given_up.contains(&ask.id));
        // From the last to the first: what moves into the place of a finished row is not finished.
        for place in (0..self.rows.len()).rev() {
            let (ask, row) = &self.rows[place];
            if row.finish.is_some() || given_up.contains(&ask.id) {
                self.engine.swap_remove(place);
                self.rows.swap_remove(place);
            }
        }
        let last: Vec<u32> = self.rows.iter().map(|(_, row)| row.last_token()).collect();
        self.engine.step(&last);
        Ok(())
    }

    fn fill(&mut self) {
        while self.rows.len() < self.slots
            && let Some((ask, sample)) = self.waiting.pop_front()
        {
            let read = self.prefilled.take().filter(|read| read.prompt == ask.id);
            let read = read.unwrap_or_else(|| self.engine.prefill(ask.id, &ask.token_ids));
            self.engine.place(&read);
            self.rows.push((Arc::clone(&ask), Row::new(ask.key, 0, sample, &ask.options)));
            if sample + 1 < ask.options.samples as u64 {
                self.prefilled = Some(read);
                self.waiting.push_front((ask, sample + 1));
            }
        }
    }
}

/// Returns the `count` most likely tokens; `logits` is `[1, vocab]`.
fn likeliest(logits: &Tensor, count: usize, temperature: f64) -> Vec<(u32, f64)> {
    let vocab = logits.size()[1];
    let count = i64::try_from(count).unwrap_or(i64::MAX).min(vocab);
    if count == 0 {
        return Vec::new();
    }
    let temperature = if temperature > 0.0 { temperature } else { 1.0 };
    let log_prob = (logits.to_kind(Kind::Double) / temperature).log_softmax(-1, Kind::Double);
    let (values, indices) = log_prob.view(-1).topk(count, -1, true, true);
    numbers(&indices).into_iter().map(id_of).zip(numbers(&values)).collect()
}
