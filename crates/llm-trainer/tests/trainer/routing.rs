//! Mixtures of experts: the experts that sampled are recorded, and replayed in training.

use std::path::Path;

use decoder::generation::{GenerationOptions, PromptRequest, SamplingKey, generate};
use decoder::model::Decoder;
use decoder::routes::Routes;
use llm_trainer::training::policy_pass::{Cotangent, PolicyPass, Sequence};
use serde_json::Value;
use tch::{Device, Kind, Tensor};

use crate::fixture::{Expected, decoder, directory, distance};
use crate::training_run::{
    assert_success, column, goes_on_bit_for_bit, steps, train, train_command,
};
use crate::update::pass;

const MODEL: &str = "tiny_qwen3_moe";

/// The recorded sequence with the experts that were forced on it.
fn forced(expected: &Expected) -> Sequence {
    let routes = expected.get("forced.routes");
    let ids = expected.ids("seq0.ids");
    Sequence {
        routes: Routes::of_blocks(&[routes.select(1, 0), routes.select(1, 1)]),
        ..Sequence::new(ids[..1].to_vec(), ids[1..].to_vec())
    }
}

/// Against transformers whose routers return these experts.
#[test]
fn replayed_experts_compute_what_the_reference_computes_with_them() {
    let expected = Expected::load(MODEL);
    let sequence = forced(&expected);
    let ids = expected.get("seq0.ids");
    let targets = ids.narrow(0, 1, 11).unsqueeze(1);
    let log_prob = |name| {
        let logits: &Tensor = expected.get(name);
        logits.log_softmax(-1, None).narrow(0, 0, 11).gather(1, &targets, false).squeeze_dim(1)
    };
    let (exact, free) = (log_prob("forced.logits"), log_prob("seq0.logits"));
    assert!(distance(&exact, &free) > 0.1, "the router would choose others");
    for activation_bytes in [0, usize::MAX] {
        let model = decoder(MODEL);
        model.set_trainable(true);
        let pass = PolicyPass { temperature: 1.0, ..pass(&model, 100, activation_bytes) };
        let statistics =
            |sequence: &Sequence| Tensor::from_slice(&pass.statistics(&[sequence]).log_prob);
        assert!(distance(&statistics(&sequence), &exact) < 1e-5);
        let unrouted = Sequence { routes: None, ..sequence.clone() };
        assert!(distance(&statistics(&unrouted), &free) < 1e-5);
        let cotangent = Cotangent { log_prob: vec![-1.0 / 11.0; 11], entropy: None };
        pass.checkpointed_forward(&[&sequence]).backward(&cotangent).unwrap();
        let mut compared = 0;
        for (name, parameter) in model.named_parameters() {
            if let Some(exact) = expected.find(&format!("forced.grad.{name}")) {
                let largest = exact.abs().max().double_value(&[]);
                assert!(largest > 1e-4 && distance(&parameter.grad(), exact) < 1e-5, "{name}");
                compared += 1;
            }
        }
        assert_eq!(compared, 4);
    }
}

/// In f64 a decoding step and a pass over the sequence choose the same experts.
#[test]
fn sampling_records_the_experts_of_every_token_that_it_reads() {
    let model = Decoder::load(&directory(MODEL), Device::Cpu, Kind::Double).unwrap();
    let prompts = [&[87u32, 104, 97][..], &[32, 5]];
    let request = |(prompt, token_ids)| {
        let key = SamplingKey { seed: 1, step: 1, prompt };
        PromptRequest { token_ids, key }
    };
    let requests: Vec<PromptRequest<'_>> = (0..).zip(prompts).map(request).collect();
    let generated = |rows, record_routes| {
        let options = GenerationOptions {
            samples: 3,
            max_new_tokens: 9,
            stop_ids: vec![3, 40, 77],
            rows,
            record_routes,
            ..GenerationOptions::default()
        };
        generate(&model, &requests, &options).unwrap()
    };
    assert!(generated(4, false).iter().all(|response| response.routes.is_none()));
    let (recorded, alone) = (generated(4, true), generated(1, true));
    for (index, (response, alone)) in recorded.into_iter().zip(alone).enumerate() {
        assert_eq!(response.routes, alone.routes, "whatever decodes beside a row");
        let prompt = prompts[index / 3].to_vec();
        let (read, log_prob) = (prompt.len() + response.token_ids.len() - 1, response.log_prob);
        assert_eq!(response.routes.as_ref().map(Routes::tokens), Some(read));
        let pass = PolicyPass { temperature: 1.0, ..pass(&model, 100, 0) };
        let free = Sequence::new(prompt, response.token_ids);
        let replayed = Sequence { routes: response.routes, ..free.clone() };
        let computed = [&free, &replayed].map(|sequence| pass.statistics(&[sequence]).log_prob);
        assert_eq!(computed[0], computed[1]);
        let sampled = Tensor::from_slice(&log_prob);
        assert!(distance(&sampled, &Tensor::from_slice(&computed[0])) < 1e-12);
    }
}

fn settings() -> Vec<String> {
    let path = format!("model.path={:?}", directory(MODEL).display().to_string());
    let others = [
        "model.dtype=f64",
        "optimizer.learning_rate=0.05",
        "algorithm.epochs=2",
        "evaluation.every=0",
    ];
    std::iter::once(path).chain(others.map(str::to_owned)).collect()
}

/// Runs with rollouts that are saved to, or read from, a folder.
fn run(root: &Path, more: &[&str], option: &str, folder: &Path) {
    let settings = settings();
    let all: Vec<&str> = settings.iter().map(String::as_str).chain(more.iter().copied()).collect();
    let mut command = train_command(root, &all);
    assert_success(&command.arg(option).arg(folder).output().expect("the binary runs"));
}

/// Changes every saved sequence.
fn change(folder: &Path, change: impl Fn(&mut Value)) {
    for entry in std::fs::read_dir(folder).expect("saved rollouts") {
        let path = entry.expect("a file").path();
        let text = std::fs::read_to_string(&path).expect("a text");
        let lines = text.lines().map(|line| {
            let mut value: Value = serde_json::from_str(line).expect("JSON lines");
            let samples = value.pointer_mut("/responses/samples");
            if let Some(samples) = samples.and_then(Value::as_array_mut) {
                for sample in samples {
                    change(&mut sample["sequence"]);
                }
            }
            value.to_string() + "\n"
        });
        std::fs::write(&path, lines.collect::<String>()).expect("a temporary folder is writable");
    }
}

/// Largest difference between the weights that two runs end with.
fn apart(one: &Path, other: &Path) -> f64 {
    let load = |root: &Path| {
        let checkpoint = root.join("run/checkpoints/step-4");
        Decoder::load(&checkpoint, Device::Cpu, Kind::Double).expect("a checkpoint is a model")
    };
    let (one, other) = (load(one), load(other));
    let pairs = one.named_parameters().into_iter().zip(other.named_parameters());
    pairs.map(|((_, one), (_, other))| distance(one, other)).fold(0.0, f64::max)
}

/// If no experts come with the responses, the updates use those of the pass before them, which in f64 are the same. With other
/// experts, or with none replayed, the run is another. The last token, which is not read, differs: by rounding.
#[test]
fn updates_use_the_experts_that_sampled_or_those_before_the_first_of_them() {
    let folders = [(); 5].map(|()| tempfile::tempdir().unwrap());
    let [first, without, other, free, rollouts] = folders.each_ref().map(tempfile::TempDir::path);
    run(first, &[], "--save-rollouts", rollouts);
    let rerouted = |root| column(&steps(root), "rollout/rerouted_fraction");
    assert_eq!(rerouted(first), [0.0; 4]);
    run(free, &["rollout.routing_replay=false"], "--replay-rollouts", rollouts);
    assert!(apart(free, first) > 1e-3, "the router moves within a step");
    // Every pair of the four experts becomes the other pair, or its mirror image.
    let swap = |sequence: &mut Value| {
        let experts = sequence["routes"]["experts"].as_array_mut().expect("recorded");
        for expert in experts.iter_mut() {
            *expert = (3 - expert.as_u64().unwrap()).into();
        }
        experts.chunks_mut(2).for_each(<[_]>::reverse);
    };
    change(rollouts, swap);
    run(other, &[], "--replay-rollouts", rollouts);
    assert!(rerouted(other).iter().all(|fraction| (0.1..1.0).contains(fraction)));
    assert!(column(&steps(other), "rollout/mismatch_kl")[0].abs() > 1e-3);
    assert!(apart(other, first) > 1e-3);
    change(rollouts, |sequence| drop(sequence.as_object_mut().unwrap().remove("routes")));
    run(without, &[], "--replay-rollouts", rollouts);
    assert!(apart(without, first) < 1e-10);
    for root in [without, free] {
        assert!(steps(root).iter().all(|step| step.get("rollout/rerouted_fraction").is_none()));
    }
}

/// Groups that wait keep their experts in a checkpoint.
#[test]
fn a_run_with_experts_goes_on_bit_for_bit() {
    let settings = settings();
    let waiting = [
        "dynamic_sampling.enabled=true",
        "dynamic_sampling.max_batches=60",
        "dynamic_sampling.oversampling=4.0",
    ];
    let all = settings.iter().map(String::as_str).chain(waiting);
    goes_on_bit_for_bit(&all.collect::<Vec<_>>());
    let plain = tempfile::tempdir().unwrap();
    assert_success(&train(plain.path(), &["training.steps=1", "evaluation.every=0"]));
    assert_eq!(steps(plain.path())[0].get("rollout/rerouted_fraction"), None, "no experts");
}
