//! Every architecture trains, packed and recomputed, as plain autograd does.

use decoder::model::Decoder;
use llm_trainer::training::policy_pass::Sequence;
use tch::{Device, Kind};

use crate::adapter::{adapter_of, cotangent, fill, plain_objective};
use crate::fixture::{RECORDED, directory, distance, one_thread};
use crate::update::{pass, sequences};

/// Sequences are longer than the windows; adapters leave the norms of heads alone.
#[test]
fn packed_gradients_are_those_of_plain_autograd() {
    one_thread();
    let sequences = sequences();
    let sequences: Vec<&Sequence> = sequences.iter().collect();
    for (name, has_adapter) in RECORDED.into_iter().flat_map(|name| [(name, false), (name, true)]) {
        for (micro_batch_tokens, activation_bytes) in [(16, 0), (10_000, usize::MAX)] {
            let [expected, trained] = [(); 2].map(|()| {
                let mut model = Decoder::load(&directory(name), Device::Cpu, Kind::Double).unwrap();
                if has_adapter {
                    model.add_adapter(&adapter_of(&model, 3), 5);
                    fill(&model);
                }
                model.set_trainable(true);
                model
            });
            let pass = pass(&trained, micro_batch_tokens, activation_bytes);
            let forward = pass.checkpointed_forward(&sequences);
            let cotangent = cotangent(forward.statistics().log_prob.len());
            forward.backward(&cotangent).unwrap();
            plain_objective(&expected, &sequences, &cotangent).backward();
            let pairs = trained.trained_parameters().into_iter().zip(expected.trained_parameters());
            for ((parameter, a), (_, b)) in pairs {
                let largest = b.grad().abs().max().double_value(&[]);
                let error = distance(&a.grad(), &b.grad());
                assert!(largest > 1e-6 && error < 1e-9 * largest.max(1.0), "{name} {parameter}");
            }
        }
    }
}
