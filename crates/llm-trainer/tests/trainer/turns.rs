//! Sequences of several turns: tokens that the policy did not draw are read, and have neither loss nor gradient.

use decoder::model::Decoder;
use llm_trainer::training::policy_pass::{Cotangent, Given, PolicyPass, Sequence};
use model_files::model_config::ModelConfig;
use tch::{Device, Kind, Tensor};

use crate::fixture::{distance, one_thread, small_shape};
use crate::update::pass;

fn trainable() -> Decoder {
    one_thread();
    let config = ModelConfig::new(small_shape()).expect("a valid shape");
    let model = Decoder::initialise(config, 4, Device::Cpu, Kind::Double);
    model.set_trainable(true);
    model
}

/// `Σ c_t log π(y_t)` over the tokens at `drawn` of one text, by plain autograd.
fn plain(model: &Decoder, ids: &[i64], drawn: &[i64], cotangent: &[f64]) -> Tensor {
    let hidden = model.forward(&Tensor::from_slice(ids).unsqueeze(0)).squeeze_dim(0);
    let log_prob = hidden.matmul(&model.head().tr()).log_softmax(-1, Kind::Double);
    let terms = drawn.iter().zip(cotangent).map(|(&place, &weight)| {
        let id = ids[usize::try_from(place).expect("a place")];
        log_prob.get(place - 1).get(id) * weight
    });
    terms.reduce(|sum, term| sum + term).expect("a drawn token")
}

/// The texts, written out: `[1 2 | 3 4 | 9 9 9 | 5 | 8 | 6 7]` as one context, or as two that part at the tools' first result.
#[test]
fn only_drawn_tokens_have_a_gradient() {
    let cotangent = [0.3, -0.7, 1.1, 0.2, -0.4];
    let other = Sequence::new(vec![11, 12, 13], vec![14]);
    for restarts in [false, true] {
        let given = vec![
            Given { before: 2, token_ids: vec![9, 9, 9], restarts },
            Given { before: 3, token_ids: vec![8], restarts: false },
        ];
        let turns = Sequence { given, ..Sequence::new(vec![1, 2], vec![3, 4, 5, 6, 7]) };
        for (budget, activation_bytes) in [(8, 0), (100, usize::MAX)] {
            let (trained, expected) = (trainable(), trainable());
            let column = Cotangent { log_prob: [&cotangent[..], &[0.9]].concat(), entropy: None };
            let pass = PolicyPass { temperature: 1.0, ..pass(&trained, budget, activation_bytes) };
            let log_prob = pass.checkpointed_forward(&[&turns, &other]).backward(&column).unwrap();
            let objective = if restarts {
                plain(&expected, &[1, 2, 3, 4], &[2, 3], &cotangent[..2])
                    + plain(&expected, &[9, 9, 9, 5, 8, 6, 7], &[3, 5, 6], &cotangent[2..])
            } else {
                let ids = [1, 2, 3, 4, 9, 9, 9, 5, 8, 6, 7];
                plain(&expected, &ids, &[2, 3, 7, 9, 10], &cotangent)
            };
            let objective = objective + plain(&expected, &[11, 12, 13, 14], &[3], &[0.9]);
            let value: f64 = log_prob.iter().zip(&column.log_prob).map(|(p, c)| p * c).sum();
            assert!((value - objective.double_value(&[])).abs() < 1e-12, "{value}");
            objective.backward();
            for ((name, a), (_, b)) in
                trained.named_parameters().iter().zip(expected.named_parameters())
            {
                assert!(distance(&a.grad(), &b.grad()) < 1e-10, "{name}");
            }
        }
    }
}
