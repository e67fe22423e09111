//! A Llama-architecture model against the same arithmetic written out with plain loops in f64.

use decoder::model::Decoder;
use model_files::model_config::{Architecture, AttentionOptions, ModelConfig, ModelShape};
use tch::{Device, Kind, Tensor};

use crate::fixture::{logits, one_thread};

fn config(bias: bool) -> ModelConfig {
    ModelConfig::new(ModelShape {
        architecture: Architecture::Llama,
        hidden_size: 12,
        intermediate_size: 20,
        num_hidden_layers: 2,
        num_attention_heads: 4,
        num_key_value_heads: 2,
        head_dim: 6,
        rms_norm_eps: 1e-5,
        rope_theta: 100.0,
        rope_scaling: None,
        vocab_size: 17,
        max_position_embeddings: 64,
        tie_word_embeddings: false,
        attention: AttentionOptions {
            query_key_value_bias: bias,
            output_bias: bias,
            ..Architecture::Llama.attention()
        },
        experts: None,
        initializer_range: 0.4,
        bos_token_id: None,
        eos_token_ids: vec![],
        pad_token_id: None,
    })
    .expect("a valid shape")
}

type Matrix = Vec<Vec<f64>>;

fn parameter(decoder: &Decoder, name: &str) -> Matrix {
    let named = decoder.named_parameters();
    let (_, tensor) = named.iter().find(|(found, _)| found == name).expect(name);
    let tensor = tensor.to_kind(Kind::Double);
    let tensor = if tensor.dim() == 1 { tensor.unsqueeze(0) } else { tensor };
    Matrix::try_from(tensor).expect("a matrix")
}

fn dot(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).map(|(a, b)| a * b).sum()
}

fn linear(x: &[f64], weight: &Matrix) -> Vec<f64> {
    weight.iter().map(|row| dot(row, x)).collect()
}

fn norm(x: &[f64], weight: &Matrix) -> Vec<f64> {
    let scale = 1.0 / (dot(x, x) / x.len() as f64 + 1e-5).sqrt();
    x.iter().zip(&weight[0]).map(|(x, weight)| x * scale * weight).collect()
}

/// Head `head` of width 6, turned by the angles of `position`.
fn turned(vector: &[f64], head: usize, position: usize) -> Vec<f64> {
    let vector = &vector[6 * head..6 * head + 6];
    let mut out = vec![0.0; 6];
    for pair in 0..3 {
        let angle = position as f64 * 100f64.powf(-2.0 * pair as f64 / 6.0);
        let (a, b) = (vector[pair], vector[pair + 3]);
        out[pair] = a * angle.cos() - b * angle.sin();
        out[pair + 3] = b * angle.cos() + a * angle.sin();
    }
    out
}

fn plain_logits(decoder: &Decoder, ids: &[usize]) -> Matrix {
    let weight = |name: &str| parameter(decoder, name);
    let embedding = weight("model.embed_tokens.weight");
    let mut stream: Matrix = ids.iter().map(|&id| embedding[id].clone()).collect();
    for layer in 0..2 {
        let weight = |name: &str| weight(&format!("model.layers.{layer}.{name}"));
        let projected = |name: &str, stream: &Matrix| -> Matrix {
            let (before, matrix) = (weight("input_layernorm.weight"), weight(name));
            stream.iter().map(|x| linear(&norm(x, &before), &matrix)).collect()
        };
        let queries = projected("self_attn.q_proj.weight", &stream);
        let keys = projected("self_attn.k_proj.weight", &stream);
        let values = projected("self_attn.v_proj.weight", &stream);
        let output = weight("self_attn.o_proj.weight");
        for position in 0..ids.len() {
            let mut mixed = Vec::new();
            for head in 0..4 {
                let group = head / 2;
                let query = turned(&queries[position], head, position);
                let scores: Vec<f64> = (0..=position)
                    .map(|past| {
                        (dot(&query, &turned(&keys[past], group, past)) / 6f64.sqrt()).exp()
                    })
                    .collect();
                let total: f64 = scores.iter().sum();
                mixed.extend((0..6).map(|at| {
                    let parts = scores.iter().zip(&values);
                    parts.map(|(score, value)| score / total * value[6 * group + at]).sum::<f64>()
                }));
            }
            let added = linear(&mixed, &output);
            stream[position].iter_mut().zip(added).for_each(|(x, added)| *x += added);
        }
        let (before, gate) =
            (weight("post_attention_layernorm.weight"), weight("mlp.gate_proj.weight"));
        let (up, down) = (weight("mlp.up_proj.weight"), weight("mlp.down_proj.weight"));
        for x in &mut stream {
            let normed = norm(x, &before);
            let gated = linear(&normed, &gate).into_iter().map(|g| g / (1.0 + (-g).exp()));
            let inner: Vec<f64> = gated.zip(linear(&normed, &up)).map(|(g, up)| g * up).collect();
            x.iter_mut().zip(linear(&inner, &down)).for_each(|(x, added)| *x += added);
        }
    }
    let (last, head) = (weight("model.norm.weight"), weight("lm_head.weight"));
    stream.iter().map(|x| linear(&norm(x, &last), &head)).collect()
}

#[test]
fn llama_logits_equal_the_arithmetic_written_out() {
    one_thread();
    let ids = [3usize, 16, 0, 5, 5, 9, 11];
    let decoder = Decoder::initialise(config(false), 4, Device::Cpu, Kind::Float);
    let tensor = Tensor::from_slice(&ids.map(|id| i64::try_from(id).unwrap())).unsqueeze(0);
    let computed =
        Matrix::try_from(logits(&decoder, &tensor).get(0).to_kind(Kind::Double)).unwrap();
    for (value, expected) in
        computed.iter().flatten().zip(plain_logits(&decoder, &ids).iter().flatten())
    {
        assert!((value - expected).abs() < 1e-4, "{value} {expected}");
    }
}

#[test]
fn an_f64_model_agrees_to_f64() {
    one_thread();
    let ids = [1usize, 2, 3, 4];
    let decoder = Decoder::initialise(config(false), 4, Device::Cpu, Kind::Double);
    let tensor = Tensor::from_slice(&ids.map(|id| i64::try_from(id).unwrap())).unsqueeze(0);
    let computed = Matrix::try_from(logits(&decoder, &tensor).get(0)).unwrap();
    for (value, expected) in
        computed.iter().flatten().zip(plain_logits(&decoder, &ids).iter().flatten())
    {
        // The angles are kept in f32.
        assert!((value - expected).abs() < 1e-5, "{value} {expected}");
    }
}

#[test]
fn fresh_weights_depend_on_the_seed_alone_and_have_the_spread_asked_for() {
    one_thread();
    let fresh = |seed| Decoder::initialise(config(true), seed, Device::Cpu, Kind::Float);
    let (first, again, other) = (fresh(1), fresh(1), fresh(2));
    let mut values = Vec::new();
    let (firsts, agains, others) =
        (first.named_parameters(), again.named_parameters(), other.named_parameters());
    for (((name, first), (_, again)), (_, other)) in firsts.iter().zip(&agains).zip(&others) {
        assert!(first.equal(again), "{name}");
        if name.rsplit('.').next() == Some("bias") {
            assert!(first.equal(&first.zeros_like()), "{name}");
        } else if name.ends_with("norm.weight") {
            assert!(first.equal(&first.ones_like()), "{name}");
        } else {
            assert!(!first.equal(other), "{name}");
            values.extend(Vec::<f64>::try_from(first.to_kind(Kind::Double).view(-1)).unwrap());
        }
    }
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let deviation = (values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count).sqrt();
    assert!(mean.abs() < 5.0 * 0.4 / count.sqrt(), "{mean}");
    assert!((deviation / 0.4 - 1.0).abs() < 5.0 / (2.0 * count).sqrt(), "{deviation}");
}
