//! Continuous batching: a fixed number of slots decode together, and as one sequence ends the next takes its place.

use tch::Tensor;
use trainer_core::counter_rng::{NoiseKey, uniform};

use super::kv_cache::KvCache;
use super::sampler::{Drawn, draw};
use super::{
    Finish, Generated, GenerationError, GenerationOptions, Listener, PromptRequest, Tally,
};
use crate::kept_tokens::KeptTokens;
use crate::model::{Decoder, causal_attention};

/// A sequence in a slot.
#[derive(Debug)]
struct Row<'a> {
    prompt: PromptRequest<'a>,
    /// Its place among all responses.
    index: usize,
    sample: u64,
    token_ids: Vec<u32>,
    log_prob: Vec<f64>,
    kept: Option<KeptTokens>,
    finish: Option<Finish>,
}

/// What reading a prompt leaves; shared by its samples.
#[derive(Debug)]
struct Prefilled {
    prompt: usize,
    /// Final-normed hidden state of the last token, `[1, hidden]`.
    last_hidden: Tensor,
    /// Keys and values of each block, `[1, kv_heads, len, head_dim]`.
    cache: Vec<(Tensor, Tensor)>,
}

/// Generates all responses and tells `listener` of each as it ends.
///
/// # Errors
///
/// [`GenerationError::Text`] if drawn tokens have no text.
pub(super) fn run(
    decoder: &Decoder,
    prompts: &[PromptRequest<'_>],
    options: &GenerationOptions,
    listener: &mut dyn Listener,
) -> Result<(), GenerationError> {
    let total = prompts.len() * options.samples;
    let longest = prompts.iter().map(|prompt| prompt.token_ids.len()).max().unwrap_or(0);
    let slots = options.rows.min(total);
    let mut cache = KvCache::new(decoder, slots, longest + options.max_new_tokens);
    let mut prefilled: Option<Prefilled> = None;
    let mut rows: Vec<Row<'_>> = Vec::with_capacity(slots);
    // Final-normed hidden states that predict the next token of each row, one tensor or several.
    let mut hidden: Vec<Tensor> = Vec::new();
    let mut tally = Tally { total, ..Tally::default() };
    let mut next = 0;
    loop {
        while rows.len() < slots && next < total {
            let (prompt, sample) = (next / options.samples, next % options.samples);
            let read = match prefilled.take().filter(|prefilled| prefilled.prompt == prompt) {
                Some(read) => read,
                None => prefill(decoder, prompt, prompts[prompt].token_ids),
            };
            cache.place(rows.len(), &read.cache);
            hidden.push(read.last_hidden.shallow_clone());
            rows.push(Row::new(prompts[prompt], next, sample as u64, options));
            prefilled = Some(read);
            next += 1;
        }
        if rows.is_empty() {
            return Ok(());
        }
        let logits = Tensor::cat(&hidden, 0).linear(decoder.head(), None::<&Tensor>);
        let noise: Vec<f64> = rows.iter().map(Row::noise).collect();
        for (row, drawn) in rows.iter_mut().zip(draw(&logits, &noise, options)) {
            row.push(&drawn, options)?;
        }
        tally.tokens += rows.len();
        // From the last to the first: what moves into the place of a finished row is not finished.
        for place in (0..rows.len()).rev() {
            if rows[place].finish.is_some() {
                cache.move_last_to(place);
                let (index, response) = rows.swap_remove(place).into_generated();
                tally.finished += 1;
                tally.truncated += usize::from(response.finish == Finish::Length);
                listener.finished(index, response);
            }
        }
        listener.progress(&tally);
        hidden.clear();
        if !rows.is_empty() {
            let last: Vec<i64> = rows.iter().map(Row::last_token).collect();
            hidden.push(decode_step(decoder, &mut cache, &last));
        }
    }
}

impl<'a> Row<'a> {
    fn new(
        prompt: PromptRequest<'a>,
        index: usize,
        sample: u64,
        options: &GenerationOptions,
    ) -> Self {
        let kept = options.truncates().then(KeptTokens::default);
        Self {
            prompt,
            index,
            sample,
            token_ids: Vec::new(),
            log_prob: Vec::new(),
            kept,
            finish: None,
        }
    }

    fn noise(&self) -> f64 {
        let key = self.prompt.key;
        uniform(NoiseKey {
            seed: key.seed,
            step: key.step,
            prompt: key.prompt,
            sample: self.sample,
            position: self.token_ids.len() as u64,
        })
    }

    fn push(&mut self, drawn: &Drawn, options: &GenerationOptions) -> Result<(), GenerationError> {
        self.token_ids.push(drawn.token_id);
        self.log_prob.push(drawn.log_prob);
        if let Some(kept) = &mut self.kept {
            kept.push(&drawn.kept);
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

    fn last_token(&self) -> i64 {
        i64::from(*self.token_ids.last().expect("every row drew a token before"))
    }

    fn into_generated(self) -> (usize, Generated) {
        let Self { index, token_ids, log_prob, kept, finish, .. } = self;
        let finish = finish.expect("only finished rows leave their slot");
        (index, Generated { token_ids, log_prob, kept, finish })
    }
}

/// Reads one prompt. Always one at a time, so that what it leaves does not depend on what else is asked.
fn prefill(decoder: &Decoder, prompt: usize, token_ids: &[u32]) -> Prefilled {
    let ids: Vec<i64> = token_ids.iter().map(|&id| i64::from(id)).collect();
    let ids = Tensor::from_slice(&ids).unsqueeze(0).to_device(decoder.device());
    let length = ids.size()[1];
    let angles = decoder.angles(&decoder.positions(length));
    let mut cache = Vec::with_capacity(decoder.block_count());
    let mut x = decoder.embed(&ids);
    for index in 0..decoder.block_count() {
        x = decoder.block(index, &x, &angles, |query, key, value| {
            cache.push((key.shallow_clone(), value.shallow_clone()));
            causal_attention(query, key, value)
        });
    }
    let last_hidden = decoder.final_norm(&x.select(1, length - 1));
    Prefilled { prompt, last_hidden, cache }
}

/// Reads one token a row and answers with its final-normed hidden states, `[rows, hidden]`.
fn decode_step(decoder: &Decoder, cache: &mut KvCache, token_ids: &[i64]) -> Tensor {
    let step = cache.advance();
    let token_ids = Tensor::from_slice(token_ids).unsqueeze(1).to_device(decoder.device());
    let angles = decoder.angles(&step.positions());
    let mut x = decoder.embed(&token_ids);
    for index in 0..decoder.block_count() {
        x = decoder.block(index, &x, &angles, |query, key, value| {
            cache.attend(index, &step, query, key, value)
        });
    }
    decoder.final_norm(&x.squeeze_dim(1))
}
