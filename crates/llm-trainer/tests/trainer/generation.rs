//! Generation from the cache is the same as computing everything again.

use std::sync::Arc;

use decoder::generation::{
    Finish, Generated, GenerationError, GenerationOptions, Listener, PromptRequest, SamplingKey,
    Tally, generate, generate_each,
};
use decoder::model::Decoder;
use model_files::sampling::Sampling;
use model_files::stop_strings::StopStrings;
use model_files::text_tokenizer::TextTokenizer;
use tch::{Device, Kind, Tensor};

use crate::fixture::{RECORDED, decoder, directory, logits};

const PROMPTS: [&[u32]; 4] = [&[87, 104, 97, 116], &[65], &[7, 7, 7, 7, 7, 7, 7, 7, 7], &[200, 3]];

fn requests(seed: u64) -> Vec<PromptRequest<'static>> {
    (0..)
        .zip(PROMPTS)
        .map(|(prompt, token_ids)| PromptRequest {
            token_ids,
            key: SamplingKey { seed, step: 3, prompt },
        })
        .collect()
}

fn options() -> GenerationOptions {
    GenerationOptions { samples: 3, max_new_tokens: 20, ..GenerationOptions::at_temperature(0.8) }
}

/// Log-probabilities of every next token after `ids`, `[vocab]`, by one pass over the whole sequence.
fn next_log_prob(decoder: &Decoder, ids: &[u32], temperature: f64) -> Tensor {
    let ids: Vec<i64> = ids.iter().map(|&id| i64::from(id)).collect();
    let last = logits(decoder, &Tensor::from_slice(&ids).unsqueeze(0)).get(0).get(-1);
    (last.to_kind(Kind::Double) / temperature).log_softmax(-1, None)
}

#[test]
fn greedy_tokens_and_log_probs_equal_full_recomputation() {
    let decoder = decoder("tiny_qwen2_untied");
    let options = GenerationOptions { samples: 1, sampling: Sampling::GREEDY, ..options() };
    let generated = generate(&decoder, &requests(0), &options).unwrap();
    for (prompt, response) in PROMPTS.iter().zip(&generated) {
        let mut sequence = prompt.to_vec();
        for (&token, &log_prob) in response.token_ids.iter().zip(&response.log_prob) {
            let expected = next_log_prob(&decoder, &sequence, 1.0);
            assert_eq!(expected.argmax(-1, false).int64_value(&[]), i64::from(token));
            assert!((expected.max().double_value(&[]) - log_prob).abs() < 1e-4);
            sequence.push(token);
        }
        assert_eq!(response.token_ids.len(), 20);
    }
}

#[test]
fn log_probs_of_samples_equal_full_recomputation() {
    let decoder = decoder("tiny_qwen2_tied");
    let generated = generate(&decoder, &requests(11), &options()).unwrap();
    assert_eq!(generated.len(), 12);
    for (index, response) in generated.iter().enumerate() {
        let mut sequence = PROMPTS[index / 3].to_vec();
        for (&token, &log_prob) in response.token_ids.iter().zip(&response.log_prob) {
            let expected =
                next_log_prob(&decoder, &sequence, 0.8).double_value(&[i64::from(token)]);
            assert!((expected - log_prob).abs() < 1e-4, "{expected} {log_prob}");
            sequence.push(token);
        }
    }
}

/// Compares with log-probabilities over the kept tokens, by one pass over the full sequence and the definition of the truncation.
#[test]
fn truncated_samples_remember_what_they_were_drawn_from() {
    let decoder = decoder("tiny_qwen2_tied");
    let sampling = Sampling { temperature: 0.8, top_k: 40, top_p: 0.8, min_p: 0.05 };
    let options = GenerationOptions { sampling, ..options() };
    let generated = generate(&decoder, &requests(11), &options).unwrap();
    let mut narrow = 0;
    for (index, response) in generated.iter().enumerate() {
        let mask = response.mask.as_ref().expect("truncated sampling keeps what it draws from");
        assert_eq!(mask.fault(&response.token_ids, 256), None);
        let mut sequence = PROMPTS[index / 3].to_vec();
        for (position, (&token, &log_prob)) in
            response.token_ids.iter().zip(&response.log_prob).enumerate()
        {
            let all = Vec::<f64>::try_from(next_log_prob(&decoder, &sequence, 0.8).exp()).unwrap();
            let expected = kept_by_definition(&all, sampling);
            assert_eq!(mask.of(position), expected, "{index} {position}");
            let total: f64 = expected.iter().map(|&id| all[id as usize]).sum();
            let expected = (all[token as usize] / total).ln();
            assert!((expected - log_prob).abs() < 1e-4, "{expected} {log_prob}");
            narrow += usize::from(mask.of(position).len() < 40);
            sequence.push(token);
        }
    }
    assert!(narrow > 100, "{narrow}: top_p and min_p did nothing");
    let untruncated = generate(&decoder, &requests(11), &self::options()).unwrap();
    assert!(untruncated.iter().all(|response| response.mask.is_none()));
}

/// The ids that top-k, then top-p, then min-p leave of a distribution, ascending.
fn kept_by_definition(all: &[f64], sampling: Sampling) -> Vec<u32> {
    let mut likeliest: Vec<u32> = (0..256).collect();
    let probability = |id: &u32| all[*id as usize];
    likeliest.sort_by(|a, b| probability(b).total_cmp(&probability(a)));
    likeliest.truncate(sampling.top_k);
    let enough = sampling.top_p * likeliest.iter().map(probability).sum::<f64>();
    let mut before = 0.0;
    likeliest.retain(|id| {
        let mask = before < enough;
        before += probability(id);
        mask
    });
    let least = sampling.min_p * probability(&likeliest[0]);
    likeliest.retain(|id| probability(id) >= least);
    likeliest.sort_unstable();
    likeliest
}

/// The tokens are bytes: a stop string of three is completed by the third.
#[test]
fn a_stop_string_ends_a_response_with_the_token_that_completes_it() {
    let decoder = decoder("tiny_qwen2_untied");
    let tokenizer = TextTokenizer::load(&directory("tiny_qwen2_untied")).unwrap();
    let free = generate(&decoder, &requests(5), &options()).unwrap();
    // Three bytes that are a text, from the middle of a response as it goes on without stopping.
    let (index, start) = (0..free.len())
        .flat_map(|index| (4..15).map(move |at| (index, at)))
        .find(|&(index, at)| free[index].token_ids[at..at + 3].iter().all(|&id| id < 128))
        .expect("some response has three ASCII bytes in a row");
    let stop = tokenizer.decode(&free[index].token_ids[start..start + 3]).unwrap();
    let (ids, strings) = StopStrings::split(&tokenizer, std::slice::from_ref(&stop)).unwrap();
    assert!(ids.is_empty());
    let stopping = GenerationOptions { stop_strings: strings.map(Arc::new), ..options() };
    for rows in [1, 5, 64] {
        let stopped =
            generate(&decoder, &requests(5), &GenerationOptions { rows, ..stopping.clone() });
        for (stopped, free) in stopped.unwrap().iter().zip(&free) {
            let count = stopped.token_ids.len();
            assert_eq!(stopped.token_ids, free.token_ids[..count]);
            assert_eq!(stopped.log_prob.len(), count);
            let holds =
                |count: usize| tokenizer.decode(&free.token_ids[..count]).unwrap().contains(&stop);
            let first = (1..=20).find(|&count| holds(count));
            assert_eq!(count, first.unwrap_or(20));
            let finish = if first.is_some() { Finish::StopString } else { Finish::Length };
            assert_eq!(stopped.finish, finish);
        }
    }
}

/// Not the tokens alone: every log-probability is the same number.
#[test]
fn log_probs_on_the_cpu_are_the_same_bits_in_any_slot() {
    for kind in [Kind::Float, Kind::BFloat16] {
        let directory = directory("tiny_qwen2_untied");
        let decoder = Decoder::load(&directory, Device::Cpu, kind).unwrap();
        let with_rows = |rows| {
            let stop_ids = (0..32).collect();
            generate(&decoder, &requests(5), &GenerationOptions { rows, stop_ids, ..options() })
                .unwrap()
        };
        let alone = with_rows(1);
        for rows in [2, 5, 8, 64] {
            assert!(with_rows(rows) == alone, "{kind:?}, {rows} rows");
        }
    }
}

/// Both draw from the same noise; log-probabilities differ by the order of sums, which is each processor's own. Where that
/// changes a token, the rest of that response is another. Half of all tokens have to be compared, which leaves room for such responses.
#[test]
fn own_products_agree_with_libtorch() {
    for model in RECORDED {
        let decoder = decoder(model);
        let by = |cpu_kernels| {
            generate(&decoder, &requests(5), &GenerationOptions { cpu_kernels, ..options() })
                .unwrap()
        };
        let (mut compared, mut all) = (0, 0);
        for (cpu, torch) in by(true).iter().zip(&by(false)) {
            all += cpu.token_ids.len();
            let tokens = cpu.token_ids.iter().zip(&torch.token_ids);
            let same = tokens.take_while(|(cpu, torch)| cpu == torch).count();
            compared += same;
            for (cpu, torch) in cpu.log_prob.iter().zip(&torch.log_prob).take(same) {
                assert!((cpu - torch).abs() < 1e-5, "{model}: {cpu} {torch}");
            }
        }
        assert!(2 * compared >= all, "{model}: {compared} of {all} tokens agree");
    }
}

/// In bf16 both round every activation to three digits; their mean log-probability differs by less.
#[test]
fn own_products_in_bf16_are_near_those_of_libtorch() {
    let directory = directory("tiny_qwen2_tied");
    let decoder = Decoder::load(&directory, Device::Cpu, Kind::BFloat16).unwrap();
    let exact =
        Decoder::load(&directory, Device::Cpu, Kind::BFloat16).unwrap().into_kind(Kind::Double);
    let mut differences = Vec::new();
    for cpu_kernels in [true, false] {
        let options = GenerationOptions { cpu_kernels, ..options() };
        let generated = generate(&decoder, &requests(3), &options).unwrap();
        let mut sum = 0.0;
        for (index, response) in generated.iter().enumerate() {
            let mut sequence = PROMPTS[index / 3].to_vec();
            for (&token, &log_prob) in response.token_ids.iter().zip(&response.log_prob) {
                let expected =
                    next_log_prob(&exact, &sequence, 0.8).double_value(&[i64::from(token)]);
                sum += (expected - log_prob).abs();
                sequence.push(token);
            }
        }
        differences.push(sum / 240.0);
    }
    assert!(differences[0] < 1.5 * differences[1] && differences[0] < 0.1, "{differences:?}");
}

/// Stop tokens make rows end at different times, so rows are dropped along the way.
#[test]
fn tokens_do_not_depend_on_how_many_rows_decode_together() {
    let directory = directory("tiny_qwen2_untied");
    let decoder = Decoder::load(&directory, Device::Cpu, Kind::Double).unwrap();
    let stop_ids: Vec<u32> = (0..32).collect();
    let with_rows = |rows| {
        let options = GenerationOptions { rows, stop_ids: stop_ids.clone(), ..options() };
        generate(&decoder, &requests(5), &options).unwrap()
    };
    let tokens = |generated: &[Generated]| -> Vec<Vec<u32>> {
        generated.iter().map(|response| response.token_ids.clone()).collect()
    };
    let alone = with_rows(1);
    let stopped = alone.iter().filter(|response| response.finish == Finish::Stop).count();
    assert!((1..12).contains(&stopped), "{stopped} of 12 stopped: the test shows nothing");
    for response in &alone {
        let end = response.token_ids.last().is_some_and(|id| stop_ids.contains(id));
        assert_eq!(response.finish == Finish::Stop, end);
        let before = &response.token_ids[..response.token_ids.len() - 1];
        assert!(before.iter().all(|id| !stop_ids.contains(id)));
    }
    // Fewer slots than responses: freed ones are taken by later prompts, of other lengths.
    for rows in [2, 3, 5, 8, 11, 64] {
        let together = with_rows(rows);
        assert_eq!(tokens(&together), tokens(&alone), "{rows} rows");
        for (together, alone) in together.iter().zip(&alone) {
            for (left, right) in together.log_prob.iter().zip(&alone.log_prob) {
                // The same sums in another order: a matrix product depends on its number of rows.
                assert!((left - right).abs() < 1e-12, "{rows} rows: {left} {right}");
            }
        }
    }
}

#[test]
fn noise_depends_on_seed_step_prompt_and_sample() {
    let decoder = decoder("tiny_qwen2_untied");
    let first = |seed, step, prompt| {
        let key = SamplingKey { seed, step, prompt };
        let request = PromptRequest { token_ids: PROMPTS[0], key };
        generate(&decoder, &[request], &GenerationOptions { samples: 2, ..options() }).unwrap()
    };
    let base = first(1, 1, 1);
    assert_ne!(base[0].token_ids, base[1].token_ids);
    for other in [first(2, 1, 1), first(1, 2, 1), first(1, 1, 2)] {
        assert_ne!(base[0].token_ids, other[0].token_ids);
    }
    assert_eq!(base, first(1, 1, 1));
}

/// 4000 draws of one token: each frequency lies within 5 standard errors of its probability.
#[test]
fn sampled_frequencies_match_the_softmax() {
    const DRAWS: usize = 4000;
    let decoder = decoder("tiny_qwen2_tied");
    let options = GenerationOptions {
        samples: DRAWS,
        max_new_tokens: 1,
        rows: 1000,
        ..GenerationOptions::at_temperature(2.0)
    };
    let drawn = generate(&decoder, &requests(9)[..1], &options).unwrap();
    let mut counts = [0usize; 256];
    for response in &drawn {
        counts[response.token_ids[0] as usize] += 1;
    }
    let expected = Vec::<f64>::try_from(next_log_prob(&decoder, PROMPTS[0], 2.0).exp()).unwrap();
    let total = DRAWS as f64;
    let mut likely = 0;
    for (count, probability) in counts.iter().zip(expected) {
        let standard_error = (probability * (1.0 - probability) / total).sqrt();
        let error = (*count as f64 / total - probability).abs();
        assert!(error < 5.0 * standard_error + 1.0 / total, "{count} {probability}");
        likely += usize::from(probability > 0.01);
    }
    assert!(likely >= 5, "{likely} likely tokens: the test shows little");
}

#[test]
fn bad_requests_are_refused_with_numbers() {
    let decoder = decoder("tiny_qwen2_tied");
    let key = SamplingKey { seed: 0, step: 0, prompt: 0 };
    let message = |token_ids: &[u32], options: &GenerationOptions| {
        let error = generate(&decoder, &[PromptRequest { token_ids, key }], options);
        error.expect_err("must be refused").to_string()
    };
    assert_eq!(message(&[], &options()), "prompt 0 is empty, expected at least one token");
    assert_eq!(
        message(&[256], &options()),
        "prompt 0 holds token id 256, expected ids below vocab_size = 256"
    );
    assert_eq!(
        message(&[1; 500], &options()),
        "prompt 0 has 500 tokens and may grow by 20, expected at most max_position_embeddings = 512 in all"
    );
    let negative = GenerationOptions::at_temperature(-1.0);
    assert_eq!(message(&[1], &negative), "temperature is -1, expected 0 or at least 0.000001");
    assert!(matches!(
        generate(&decoder, &[], &GenerationOptions { rows: 0, ..options() }),
        Err(GenerationError::Option { option: "rows", .. })
    ));
}

/// Keeps what ends, and wants no more after some steps.
struct Impatient {
    steps_left: usize,
    ended: Vec<(usize, Generated)>,
}

impl Listener for Impatient {
    fn finished(&mut self, index: usize, response: Generated) {
        self.ended.push((index, response));
    }

    fn progress(&mut self, _tally: &Tally) {
        self.steps_left -= 1;
    }

    fn goes_on(&self) -> bool {
        self.steps_left > 0
    }
}

#[test]
fn it_ends_as_soon_as_no_more_is_wanted() {
    let decoder = decoder("tiny_qwen2_tied");
    let options = GenerationOptions { rows: 2, ..options() };
    let all = generate(&decoder, &requests(5), &options).unwrap();
    for steps in [1, 19, 20, 50] {
        let mut listener = Impatient { steps_left: steps, ended: Vec::new() };
        generate_each(&decoder, &requests(5), &options, &mut listener).unwrap();
        assert_eq!(listener.steps_left, 0);
        // Two at a time, of 20 tokens each.
        assert_eq!(listener.ended.len(), steps / 20 * 2);
        for (index, response) in &listener.ended {
            assert_eq!(response, &all[*index]);
        }
    }
}
