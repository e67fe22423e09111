//! One wave: the sequences that decode together, from prefill to the last stop token.

use tch::{Kind, Tensor};
use trainer_core::counter_rng::{NoiseKey, uniform};

use super::kv_cache::KvCache;
use super::sampler::draw;
use super::{Finish, Generated, GenerationOptions, PromptRequest};
use crate::model::{Decoder, causal_attention};

/// A sequence of the wave.
#[derive(Debug)]
struct Sequence {
    /// Index among the prompts.
    prompt: usize,
    sample: u64,
    /// Index of its prompt among the distinct ones of the wave.
    source: i64,
    token_ids: Vec<u32>,
    log_prob: Vec<f64>,
    finish: Option<Finish>,
}

/// What prefilling leaves: final-normed hidden states of the last tokens `[prompts, hidden]`, and keys and values.
struct Prefilled {
    last_hidden: Tensor,
    cache: Vec<(Tensor, Tensor)>,
}

/// Generates the sequences (prompt, sample) of `wave` and answers in their order.
pub(super) fn run(
    decoder: &Decoder,
    prompts: &[PromptRequest<'_>],
    wave: &[(usize, u64)],
    options: &GenerationOptions,
) -> Vec<Generated> {
    // The queue goes prompt by prompt, so equal prompts stand together.
    let mut distinct: Vec<usize> = wave.iter().map(|&(prompt, _)| prompt).collect();
    distinct.dedup();
    let mut sequences: Vec<Sequence> = wave
        .iter()
        .map(|&(prompt, sample)| Sequence {
            prompt,
            sample,
            source: (0..).zip(&distinct).find(|(_, at)| **at == prompt).expect("listed above").0,
            token_ids: Vec::new(),
            log_prob: Vec::new(),
            finish: None,
        })
        .collect();
    let token_ids: Vec<&[u32]> = distinct.iter().map(|&prompt| prompts[prompt].token_ids).collect();
    let Prefilled { last_hidden, cache } = prefill(decoder, &token_ids);
    let sources: Vec<i64> = sequences.iter().map(|sequence| sequence.source).collect();
    let lengths: Vec<i64> =
        wave.iter().map(|&(prompt, _)| length(prompts[prompt].token_ids)).collect();
    let capacity = lengths.iter().max().copied().unwrap_or(0) + whole(options.max_new_tokens);
    let mut cache = KvCache::replicate(&cache, &sources, lengths, capacity);
    let mut hidden =
        last_hidden.index_select(0, &Tensor::from_slice(&sources).to_device(decoder.device()));
    // Index of the sequence that each row of the cache holds; finished ones are dropped from time to time.
    let mut rows: Vec<usize> = (0..sequences.len()).collect();
    loop {
        let logits = hidden.linear(decoder.head(), None::<&Tensor>);
        let noise: Vec<f64> = rows.iter().map(|&row| sequences[row].noise(prompts)).collect();
        for (&row, drawn) in rows.iter().zip(draw(&logits, &noise, options)) {
            sequences[row].push(drawn.token_id, drawn.log_prob, options);
        }
        let live: Vec<i64> = (0..)
            .zip(&rows)
            .filter(|(_, row)| sequences[**row].finish.is_none())
            .map(|(place, _)| place)
            .collect();
        if live.is_empty() {
            break;
        }
        // Copying the cache costs about as much as a step or two, so a few finished rows are dragged along.
        if live.len() * 8 <= rows.len() * 7 {
            cache.keep(&live);
            rows.retain(|&row| sequences[row].finish.is_none());
        }
        let last: Vec<i64> = rows.iter().map(|&row| sequences[row].last_token()).collect();
        hidden = decode_step(decoder, &mut cache, &last);
    }
    sequences.into_iter().map(Sequence::into_generated).collect()
}

impl Sequence {
    fn noise(&self, prompts: &[PromptRequest<'_>]) -> f64 {
        let key = prompts[self.prompt].key;
        uniform(NoiseKey {
            seed: key.seed,
            step: key.step,
            prompt: key.prompt,
            sample: self.sample,
            position: self.token_ids.len() as u64,
        })
    }

    /// Adds a token; what a finished sequence draws, dragged along in its row, is dropped.
    fn push(&mut self, token_id: u32, log_prob: f64, options: &GenerationOptions) {
        if self.finish.is_some() {
            return;
        }
        self.token_ids.push(token_id);
        self.log_prob.push(log_prob);
        if options.stop_ids.contains(&token_id) {
            self.finish = Some(Finish::Stop);
        } else if self.token_ids.len() == options.max_new_tokens {
            self.finish = Some(Finish::Length);
        }
    }

    fn last_token(&self) -> i64 {
        i64::from(*self.token_ids.last().expect("every row drew a token before"))
    }

    fn into_generated(self) -> Generated {
        let finish = self.finish.expect("a wave runs until every sequence is finished");
        Generated { token_ids: self.token_ids, log_prob: self.log_prob, finish }
    }
}

/// Reads each distinct prompt once, filled up on the right.
fn prefill(decoder: &Decoder, prompts: &[&[u32]]) -> Prefilled {
    let longest = prompts.iter().map(|ids| ids.len()).max().unwrap_or(0);
    let padded: Vec<i64> = prompts
        .iter()
        .flat_map(|ids| {
            ids.iter().map(|&id| i64::from(id)).chain(std::iter::repeat(0)).take(longest)
        })
        .collect();
    let token_ids = Tensor::from_slice(&padded)
        .view([whole(prompts.len()), whole(longest)])
        .to_device(decoder.device());
    let angles = decoder.angles(&decoder.positions(whole(longest)));
    let mut cache = Vec::with_capacity(decoder.block_count());
    let mut x = decoder.embed(&token_ids);
    for index in 0..decoder.block_count() {
        x = decoder.block(index, &x, &angles, |query, key, value| {
            cache.push((key.shallow_clone(), value.shallow_clone()));
            causal_attention(query, key, value)
        });
    }
    let last: Vec<i64> = prompts.iter().map(|ids| length(ids) - 1).collect();
    let rows = Tensor::arange(whole(prompts.len()), (Kind::Int64, decoder.device()));
    let last = Tensor::from_slice(&last).to_device(decoder.device());
    let last_hidden = decoder.final_norm(&x.index(&[Some(rows), Some(last)]));
    Prefilled { last_hidden, cache }
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

fn length(token_ids: &[u32]) -> i64 {
    whole(token_ids.len())
}

fn whole(count: usize) -> i64 {
    i64::try_from(count).expect("lengths are far below 2^63")
}
