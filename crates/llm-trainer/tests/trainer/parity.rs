//! Agreement with numbers recorded from the reference implementation.

use decoder::generation::{GenerationOptions, PromptRequest, SamplingKey, generate};
use decoder::head::token_statistics;
use decoder::model::Decoder;
use serde_json::Value;
use tch::{Device, Kind, Tensor};

use crate::fixture::{Expected, RECORDED, decoder, distance, logits, one_thread};

#[test]
fn logits_of_recorded_sequences_agree() {
    for model in RECORDED {
        let (decoder, expected) = (decoder(model), Expected::load(model));
        for sequence in 0..4 {
            let ids = expected.get(&format!("seq{sequence}.ids")).unsqueeze(0);
            let computed = logits(&decoder, &ids).squeeze_dim(0);
            let error = distance(&computed, expected.get(&format!("seq{sequence}.logits")));
            assert!(error < 1e-5, "{model} seq{sequence}: {error}");
        }
    }
}

#[test]
fn log_prob_and_entropy_of_recorded_sequences_agree() {
    for model in RECORDED {
        let (decoder, expected) = (decoder(model), Expected::load(model));
        for sequence in [0, 1, 3] {
            let ids = expected.get(&format!("seq{sequence}.ids"));
            let predicted = ids.size()[0] - 1;
            let hidden = decoder.forward(&ids.unsqueeze(0)).squeeze_dim(0).narrow(0, 0, predicted);
            let computed =
                token_statistics(&hidden, decoder.head(), &ids.narrow(0, 1, predicted), 1.0);
            let entropy = expected.get(&format!("seq{sequence}.entropy")).narrow(0, 0, predicted);
            let log_prob = expected.get(&format!("seq{sequence}.logprob"));
            assert!(distance(&computed.log_prob, log_prob) < 1e-5, "{model} seq{sequence}");
            assert!(distance(&computed.entropy, &entropy) < 1e-5, "{model} seq{sequence}");
        }
    }
}

/// The reference fills up on the left and we on the right: the last four real positions must agree all the same.
#[test]
fn padding_does_not_change_what_stands_before() {
    for model in RECORDED {
        let (decoder, expected) = (decoder(model), Expected::load(model));
        let (ids, mask) = (expected.get("batch.ids"), expected.get("batch.mask"));
        let width = ids.size()[1];
        let lengths = Vec::<i64>::try_from(mask.sum_dim_intlist(-1, false, Kind::Int64)).unwrap();
        let right_padded: Vec<Tensor> = (0..)
            .zip(&lengths)
            .map(|(row, &length)| ids.get(row).roll(length - width, 0))
            .collect();
        let computed = logits(&decoder, &Tensor::stack(&right_padded, 0));
        for (row, length) in (0..).zip(lengths) {
            let last_four = computed.get(row).narrow(0, length - 4, 4);
            let error = distance(&last_four, &expected.get("batch.logits_last4").get(row));
            assert!(error < 1e-5, "{model} row {row}: {error}");
        }
    }
}

#[test]
fn greedy_tokens_agree() {
    for model in RECORDED {
        let (decoder, expected) = (decoder(model), Expected::load(model));
        let (prompt, greedy) = (expected.ids("seq0.ids"), expected.ids("greedy.ids"));
        let options = GenerationOptions {
            max_new_tokens: greedy.len(),
            ..GenerationOptions::at_temperature(0.0)
        };
        let key = SamplingKey { seed: 0, step: 0, prompt: 0 };
        let request = PromptRequest { token_ids: &prompt, key };
        let drawn = generate(&decoder, &[request], &options).unwrap();
        assert_eq!(drawn[0].token_ids, greedy, "{model}");
    }
}

/// Mean negative log-probability of the tokens of two sequences, each token weighing the same.
fn recorded_loss(decoder: &Decoder, expected: &Expected) -> Tensor {
    let sum = |name: &str| {
        let ids = expected.get(name);
        let log_prob = logits(decoder, &ids.unsqueeze(0)).squeeze_dim(0).log_softmax(-1, None);
        let predicted = ids.size()[0] - 1;
        let targets = ids.narrow(0, 1, predicted).unsqueeze(1);
        let taken = log_prob.narrow(0, 0, predicted).gather(1, &targets, false);
        (taken.sum(None), predicted)
    };
    let ((first, first_count), (second, second_count)) = (sum("seq0.ids"), sum("seq1.ids"));
    -(first + second) / (first_count + second_count)
}

#[test]
#[expect(clippy::too_many_lines, reason = "one table of cases")]
fn gradients_and_one_adamw_step_agree() {
    for model in RECORDED {
        let (decoder, expected) = (decoder(model), Expected::load(model));
        decoder.set_trainable(true);
        let loss = recorded_loss(&decoder, &expected);
        assert!(distance(&loss.view(1), expected.get("grad.loss")) < 1e-5);
        let named = decoder.named_parameters();
        let parameters: Vec<&Tensor> = named.iter().map(|(_, tensor)| *tensor).collect();
        let one = Tensor::ones_like(&loss);
        let gradients: Vec<Tensor> =
            torch_ext::vector_jacobian_product(&[&loss], &[&one], &parameters)
                .unwrap()
                .into_iter()
                .map(|gradient| gradient.expect("every parameter takes part"))
                .collect();
        for ((name, _), gradient) in named.iter().zip(&gradients) {
            let recorded = expected.get(&format!("grad.{name}"));
            let error = distance(gradient, recorded);
            assert!(
                error < 1e-5 * recorded.abs().max().double_value(&[]).max(1.0),
                "{name}: {error}"
            );
        }
        let norm = gradients
            .iter()
            .map(|gradient| gradient.to_kind(Kind::Double).square().sum(None).double_value(&[]))
            .sum::<f64>()
            .sqrt();
        let recorded = expected.get("grad.global_norm").double_value(&[0]);
        assert!((norm / recorded - 1.0).abs() < 1e-5, "{norm} {recorded}");

        let clip = (1.0 / (norm + 1e-6)).min(1.0);
        let clipped: Vec<Tensor> = gradients.iter().map(|gradient| gradient * clip).collect();
        let zeros = || parameters.iter().map(|tensor| tensor.zeros_like().detach()).collect();
        let (first, second): (Vec<Tensor>, Vec<Tensor>) = (zeros(), zeros());
        let steps: Vec<Tensor> =
            parameters.iter().map(|_| Tensor::from_slice(&[1f32]).squeeze()).collect();
        {
            let _no_grad = tch::no_grad_guard();
            let list = |tensors: &[Tensor]| -> Vec<Tensor> {
                tensors.iter().map(Tensor::shallow_clone).collect()
            };
            let (clipped, first, second, steps) =
                (list(&clipped), list(&first), list(&second), list(&steps));
            torch_ext::fused_adamw(
                &parameters,
                &clipped.iter().collect::<Vec<_>>(),
                &first.iter().collect::<Vec<_>>(),
                &second.iter().collect::<Vec<_>>(),
                &steps.iter().collect::<Vec<_>>(),
                1e-3,
                (0.9, 0.999),
                0.01,
                1e-8,
            )
            .unwrap();
        }
        decoder.set_trainable(false);
        let mut compared = 0;
        for (name, parameter) in decoder.named_parameters() {
            if let Some(recorded) = expected.find(&format!("adamw1.{name}")) {
                let error = distance(parameter, recorded);
                assert!(error < 1e-5, "{model} {name}: {error}");
                compared += 1;
            }
        }
        assert_eq!(compared, 3);
        let computed = logits(&decoder, &expected.get("seq0.ids").unsqueeze(0)).get(0).get(-1);
        let error = distance(&computed, expected.get("adamw1.seq0.logits_last"));
        assert!(error < 2e-3, "{model}: {error}");
    }
}

/// Against transformers on the real `SmolLM2`; `scripts/fetch-smollm2.sh` brings it.
#[test]
fn smollm2_agrees_where_it_was_fetched() {
    one_thread();
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let directory = root.join("../../models/SmolLM2-135M-Instruct");
    if !directory.exists() {
        eprintln!("{}: absent, so not compared", directory.display());
        return;
    }
    let decoder = Decoder::load(&directory, Device::Cpu, Kind::Float).unwrap();
    let text =
        std::fs::read_to_string(root.join("tests/data/ref_logits_smollm2-135m.json")).unwrap();
    let recorded: Value = serde_json::from_str(&text).unwrap();
    let numbers = |value: &Value| -> Vec<f64> {
        value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
    };
    for prompt in recorded["prompts"].as_array().unwrap() {
        let ids: Vec<i64> =
            prompt["ids"].as_array().unwrap().iter().map(|id| id.as_i64().unwrap()).collect();
        let predicted = i64::try_from(ids.len()).unwrap() - 1;
        let ids = Tensor::from_slice(&ids);
        let _no_grad = tch::no_grad_guard();
        let hidden = decoder.forward(&ids.unsqueeze(0)).squeeze_dim(0).narrow(0, 0, predicted);
        let computed = token_statistics(&hidden, decoder.head(), &ids.narrow(0, 1, predicted), 1.0);
        let log_prob = Tensor::from_slice(&numbers(&prompt["logprob"]));
        let entropy = Tensor::from_slice(&numbers(&prompt["entropy"])).narrow(0, 0, predicted);
        let name = &prompt["name"];
        assert!(distance(&computed.log_prob, &log_prob) < 2e-3, "{name}");
        assert!(distance(&computed.entropy, &entropy) < 2e-3, "{name}");
    }
}
