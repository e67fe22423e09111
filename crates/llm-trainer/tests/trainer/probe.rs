//! The probe of entropy change at the vocabulary of Qwen2.5.

use decoder::model::Decoder;
use llm_trainer::host_memory::Memory;
use llm_trainer::training::policy_pass::{PolicyPass, Sequence};
use llm_trainer::training::probe::{EntropyChange, EntropyProbe};
use model_files::model_config::{ModelConfig, ModelShape};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use tch::{Device, Kind, Tensor};

use crate::fixture::{one_thread, small_shape};

const VOCABULARY: u32 = 152_064;

const TEMPERATURE: f64 = 0.8;

fn model() -> Decoder {
    one_thread();
    let config = ModelConfig::new(ModelShape {
        hidden_size: 8,
        intermediate_size: 8,
        num_hidden_layers: 1,
        num_attention_heads: 2,
        num_key_value_heads: 1,
        vocab_size: VOCABULARY as usize,
        ..small_shape()
    });
    Decoder::initialise(config.expect("a valid shape"), 7, Device::Cpu, Kind::Float)
}

/// Moves the weights of the model a little: an update.
fn moved(model: &Decoder) {
    let _no_grad = tch::no_grad_guard();
    for (_, parameter) in model.named_parameters() {
        parameter.shallow_clone().copy_(&(parameter * 0.99));
    }
}

/// Log-probabilities of every state that predicts a response token, `[states, vocab]` in f64.
fn log_prob(model: &Decoder, sequence: &Sequence) -> Tensor {
    let _no_grad = tch::no_grad_guard();
    let tokens: Vec<i64> =
        sequence.prompt.iter().chain(&sequence.response).map(|&id| i64::from(id)).collect();
    let logits = model.forward(&Tensor::from_slice(&tokens).unsqueeze(0)).squeeze_dim(0);
    let logits = logits.matmul(&model.head().tr());
    let first = i64::try_from(sequence.prompt.len() - 1).expect("a short prompt");
    let count = i64::try_from(sequence.response.len()).expect("a short response");
    (logits.narrow(0, first, count).to_kind(Kind::Double) / TEMPERATURE)
        .log_softmax(-1, Kind::Double)
}

/// Change of entropy and its prediction at every response token, from full distributions.
fn changes(before: &Decoder, after: &Decoder, sequences: &[Sequence]) -> Vec<[f64; 2]> {
    let of_sequence = |sequence: &Sequence| {
        let (before, after) = (log_prob(before, sequence), log_prob(after, sequence));
        let expected = |x: &Tensor| (before.exp() * x).sum_dim_intlist(-1, true, Kind::Double);
        let entropy = |x: &Tensor| -(x.exp() * x).sum_dim_intlist(-1, true, Kind::Double);
        let measured = entropy(&after) - entropy(&before);
        let step = &after - &before;
        let predicted = expected(&before) * expected(&step) - expected(&(&before * &step));
        let columns = [measured, predicted]
            .map(|column| Vec::<f64>::try_from(column.squeeze_dim(1)).expect("a column of f64"));
        columns[0].iter().zip(&columns[1]).map(|(a, b)| [*a, *b]).collect::<Vec<_>>()
    };
    sequences.iter().flat_map(of_sequence).collect()
}

#[test]
fn the_change_of_entropy_is_measured_at_random_tokens_of_the_whole_step() {
    let sequences: Vec<Sequence> = (1..=12_u32)
        .map(|i| {
            let tokens = |count: u32, first: u32| -> Vec<u32> {
                (0..count).map(|t| (first + i * 7919 + t * 104_729) % VOCABULARY).collect()
            };
            Sequence::new(tokens(1 + i % 3, 1), tokens(10, 2))
        })
        .collect();
    let all: Vec<&Sequence> = sequences.iter().collect();
    let (before, policy) = (model(), model());
    let pass = PolicyPass {
        model: &policy,
        temperature: TEMPERATURE,
        micro_batch_tokens: 48,
        activation_bytes: 0,
        block_inputs: Memory::Device,
        with_squared_scores: false,
    };
    let probe = |count: usize, seed: u64| {
        EntropyProbe::before(&pass, &all, count, &mut ChaCha8Rng::seed_from_u64(seed))
            .expect("there are tokens")
    };
    let (exhaustive, parts) = (probe(1000, 1), [2, 3, 4].map(|seed| probe(40, seed)));
    moved(&policy);

    let changes = changes(&before, &policy, &sequences);
    let count = changes.len() as f64;
    let mean = |index: usize| changes.iter().map(|change| change[index]).sum::<f64>() / count;
    let (measured, predicted) = (mean(0), mean(1));
    assert!(measured.abs() > 1e-3 && (measured - predicted).abs() < 0.2 * measured.abs());
    let EntropyChange { measured: of_all, predicted_lemma1, tokens } = exhaustive.after(&pass);
    assert_eq!(tokens, 120);
    assert!((of_all - measured).abs() < 1e-6, "{of_all}, expected {measured}");
    assert!((predicted_lemma1 - predicted).abs() < 1e-6, "{predicted_lemma1}, not {predicted}");

    let squares = changes.iter().map(|change| (change[0] - measured).powi(2)).sum::<f64>();
    let error = (squares / count / 40.0).sqrt();
    let estimates = parts.map(|part| part.after(&pass));
    for estimate in estimates {
        assert_eq!(estimate.tokens, 40);
        assert!((estimate.measured - measured).abs() < 4.0 * error, "{estimate:?}, {measured}");
    }
    assert!(estimates[0].measured.to_bits() != estimates[1].measured.to_bits());
}
