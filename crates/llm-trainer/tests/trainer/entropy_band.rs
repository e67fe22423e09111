//! Entropy of each token while generating, and the band that bounds it.

use std::process::{Command, Output};

use decoder::generation::{
    Generated, GenerationError, GenerationOptions, PromptRequest, SamplingKey, generate,
};
use decoder::model::Decoder;
use entropy_core::{EntropyBand, entropy_at_temperature};
use serde_json::Value;
use tch::{Kind, Tensor};

use crate::fixture::{decoder, directory, logits};
use crate::in_process;

const PROMPTS: [&[u32]; 2] = [&[12, 40, 7], &[99, 3]];

fn options() -> GenerationOptions {
    GenerationOptions {
        samples: 2,
        max_new_tokens: 16,
        measure_entropy: true,
        ..GenerationOptions::at_temperature(0.8)
    }
}

fn run(decoder: &Decoder, options: &GenerationOptions) -> Result<Vec<Generated>, GenerationError> {
    let prompts: Vec<PromptRequest<'_>> = (0..)
        .zip(PROMPTS)
        .map(|(prompt, token_ids)| PromptRequest {
            token_ids,
            key: SamplingKey { seed: 4, step: 0, prompt },
        })
        .collect();
    generate(decoder, &prompts, options)
}

/// Logits after a sequence by one pass over all of it.
fn next_logits(decoder: &Decoder, ids: &[u32]) -> Vec<f64> {
    let ids: Vec<i64> = ids.iter().map(|&id| i64::from(id)).collect();
    let last = logits(decoder, &Tensor::from_slice(&ids).unsqueeze(0)).get(0).get(-1);
    last.to_kind(Kind::Double).try_into().expect("a row of f64")
}

/// Calls `each` with the logits, the index of the response and of its token.
fn for_each_token(
    decoder: &Decoder,
    generated: &[Generated],
    mut each: impl FnMut(&[f64], usize, usize),
) {
    for (index, response) in generated.iter().enumerate() {
        let mut sequence = PROMPTS[index / 2].to_vec();
        for (position, &token) in response.token_ids.iter().enumerate() {
            each(&next_logits(decoder, &sequence), index, position);
            sequence.push(token);
        }
    }
}

#[test]
fn entropies_equal_full_recomputation_and_change_no_token() {
    let decoder = decoder("tiny_qwen2_tied");
    let generated = run(&decoder, &options()).unwrap();
    for_each_token(&decoder, &generated, |logits, index, position| {
        let measured = generated[index].entropy[position];
        let entropy_at = |temperature| entropy_at_temperature(logits, temperature).unwrap();
        assert!((measured.drawn_from - entropy_at(0.8)).abs() < 1e-4, "{measured:?}");
        assert!((measured.at_temperature_1 - entropy_at(1.0)).abs() < 1e-4, "{measured:?}");
    });
    let silent = run(&decoder, &GenerationOptions { measure_entropy: false, ..options() }).unwrap();
    for (one, other) in generated.iter().zip(&silent) {
        assert_eq!((&one.token_ids, &one.log_prob), (&other.token_ids, &other.log_prob));
        assert!(other.entropy.is_empty());
    }
}

#[test]
fn each_token_is_drawn_within_the_band_at_the_temperature_it_says() {
    let decoder = decoder("tiny_qwen2_tied");
    let (floor, ceiling) = (2.0, 2.5);
    let band = EntropyBand::new(Some(floor), Some(ceiling)).ok();
    let generated = run(&decoder, &GenerationOptions { band, ..options() }).unwrap();
    let mut moved = 0;
    for_each_token(&decoder, &generated, |logits, index, position| {
        let (response, measured) = (&generated[index], generated[index].entropy[position]);
        assert!((floor - 1e-9..=ceiling + 1e-9).contains(&measured.drawn_from), "{measured:?}");
        let entropy = entropy_at_temperature(logits, measured.temperature).unwrap();
        assert!((entropy - measured.drawn_from).abs() < 1e-3, "{entropy} {measured:?}");
        let row = Tensor::from_slice(logits) / measured.temperature;
        let token = i64::from(response.token_ids[position]);
        let log_prob = row.log_softmax(-1, Kind::Double).double_value(&[token]);
        assert!((log_prob - response.log_prob[position]).abs() < 1e-3);
        moved += usize::from((measured.temperature - 0.8).abs() > 1e-6);
    });
    assert!(moved > 0, "the band had nothing to do: another one would test more");
}

#[test]
fn banded_tokens_do_not_depend_on_how_many_rows_decode_together() {
    let decoder = decoder("tiny_qwen2_untied");
    let band = EntropyBand::new(Some(1.0), Some(3.0)).ok();
    let with_rows = |rows| run(&decoder, &GenerationOptions { band, rows, ..options() }).unwrap();
    assert_eq!(with_rows(1), with_rows(4));
}

#[test]
fn a_band_needs_a_temperature() {
    let decoder = decoder("tiny_qwen2_tied");
    let band = EntropyBand::new(Some(1.0), None).ok();
    let options = GenerationOptions { band, ..GenerationOptions::at_temperature(0.0) };
    let error = run(&decoder, &options).unwrap_err().to_string();
    assert_eq!(error, "temperature is 0, expected above 0 with an entropy band");
}

fn generate_command(more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_llm-trainer"));
    command.args(["generate", "--model"]).arg(directory("tiny_qwen2_tied"));
    command.args(["--prompt", "What is 2 + 3?", "--max-new-tokens", "6", "--threads", "1"]);
    in_process::run(command.args(more))
}

#[test]
fn generate_prints_entropy_surprise_and_temperature_of_each_token() {
    let object = |more: &[&str]| -> Value {
        let output = generate_command(more);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("one object")
    };
    let plain = object(&["--temperature", "0.7"]);
    assert_eq!(plain["log_prob_of"], "softmax(z / 0.7) over all tokens");
    assert!(plain.get("entropy").is_none());
    let answer = object(&["--temperature", "0.7", "--entropy", "--entropy-ceiling", "2.5"]);
    assert_eq!(answer["log_prob_of"], "softmax(z / T of each token) over all tokens");
    let column = |name: &str| -> Vec<f64> {
        let values = answer[name].as_array().expect("a column").iter();
        values.map(|value| value.as_f64().expect("a number")).collect()
    };
    let tokens = answer["token_ids"].as_array().unwrap().len();
    for name in ["entropy", "entropy_at_temperature_1", "surprise", "temperature"] {
        assert_eq!(column(name).len(), tokens, "{name}");
    }
    assert!(column("entropy").iter().all(|&entropy| entropy < 2.5 + 1e-9));
    assert!(column("temperature").iter().all(|t| (0.07 - 1e-12..=0.7).contains(t)));
    for (surprise, log_prob) in column("surprise").iter().zip(column("log_prob")) {
        assert!((surprise + log_prob).abs() < 1e-15);
    }
    let greedy = object(&["--temperature", "0", "--entropy"]);
    assert_eq!(greedy["log_prob_of"], "softmax(z) over all tokens");
    assert_eq!(greedy["entropy"], greedy["entropy_at_temperature_1"]);
}

#[test]
fn generate_prints_a_table_for_people() {
    let output = generate_command(&["--entropy", "--readable"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("prompt 0, sample 0: 6 tokens, "), "{text}");
    assert_eq!(
        lines[1],
        "log-probabilities of softmax(z / 1) over all tokens; entropy and surprise in nats"
    );
    assert!(lines[2].trim_start().starts_with("entropy surprise"), "{text}");
    // Two lines of head, one of columns, six tokens, the mean.
    assert!(lines[9].contains("mean over 6 tokens"), "{text}");
    let refused = generate_command(&["--entropy-floor", "-1"]);
    assert_eq!(refused.status.code(), Some(2));
}
