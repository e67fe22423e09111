use super::*;
use decoder::sampling_mask::SamplingMask;

const FIXTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/tiny_qwen2_tied");

fn run(more: &str) -> Run {
    let text = format!(
        "name = 'x'\nmodel.path = '{FIXTURE}'\ndata.train.arithmetic = {{}}\ntraining.steps = 1\n\
         algorithm.advantage = 'prime'\n{more}"
    );
    let config = RunConfig::parse(&text, Path::new("x.toml"), &[]).expect("a configuration");
    config.resolve().expect("in range")
}

fn places(model: &Decoder) -> Vec<*mut std::ffi::c_void> {
    model.named_parameters().iter().map(|(_, parameter)| parameter.data_ptr()).collect()
}

/// Addresses of the reward model's parameters, its reference's and the policy reference's, which is already loaded.
fn started(more: &str) -> [Vec<*mut std::ffi::c_void>; 3] {
    let (device, kind) = (Device::Cpu, Kind::Float);
    let frozen = Decoder::load(Path::new(FIXTURE), device, kind).expect("a recorded model");
    // The same directory by another name.
    let path = Path::new(FIXTURE).join("../tiny_qwen2_tied");
    let vocab_size = frozen.config().vocab_size;
    let in_memory = [(path.as_path(), &frozen)];
    let started = RewardModel::start(&run(more), None, device, kind, vocab_size, &in_memory);
    let RewardModel { model, reference, .. } =
        started.expect("the files are there").expect("it was asked for");
    [places(&model), places(&reference), places(&frozen)]
}

/// Two responses to different prompts, of four tokens each, with a sampling mask of a few tokens if `masked`.
fn responses(masked: bool) -> Vec<Sequence> {
    let response: [u32; 4] = [65, 66, 67, 68];
    let list = [60, 65, 66, 67, 68, 90];
    let mut all = SamplingMask::default();
    for _ in response {
        all.push(&list);
    }
    let mask = masked.then_some(all);
    let after_prompt = |first| Sequence {
        prompt: vec![first, 70],
        response: response.to_vec(),
        mask: mask.clone(),
        routes: None,
        given: Vec::new(),
    };
    vec![after_prompt(71), after_prompt(72)]
}

#[test]
fn a_truncated_response_is_judged_over_the_whole_vocabulary() {
    let run = run("rollout.group_size = 2\nreward_model.optimizer.learning_rate = 1e-3");
    let judged = |masked: bool| {
        let start = RewardModel::start(&run, None, Device::Cpu, Kind::Float, 1, &[]);
        let mut model = start.expect("the files are there").expect("it was asked for");
        let sequences = responses(masked);
        let sequences: Vec<&Sequence> = sequences.iter().collect();
        let ranks = Ranks::single();
        let judged = model.judge(&ranks, run.config(), &sequences, &[true, false], 1, 0);
        judged.expect("finite log-probabilities").learnt.log_ratio
    };
    let (full, truncated) = (judged(false), judged(true));
    assert!(full.iter().all(|log_ratio| log_ratio.abs() > 1e-9), "it has learnt: {full:?}");
    assert_eq!(full, truncated);
}

#[test]
fn a_frozen_model_that_is_in_memory_is_not_loaded_again() {
    let [model, reference, frozen] = started("");
    assert_eq!(reference, frozen);
    assert!(model.iter().all(|place| !frozen.contains(place)), "what learns is its own");
    let [model, reference, frozen] = started("lora.rank = 2");
    assert_eq!((&reference, &model), (&frozen, &frozen), "adapters lie over the same weights");
}

#[test]
fn what_rounding_makes_is_no_reward() {
    let short = Sequence::new(vec![1], vec![2, 3]);
    let long = Sequence::new(vec![1], vec![2; 200]);
    let remain = |rewards: &[f64], kind| -> Vec<bool> {
        let sequences = [&short, &long, &short];
        let rewards = beyond_rounding(rewards, &sequences, 0.05, kind);
        rewards.iter().map(|&reward| reward != 0.0).collect()
    };
    assert_eq!(remain(&[3e-16, -3e-14, 4e-16], Kind::Double), [false, false, true]);
    assert_eq!(remain(&[-1e-7, -1e-5, 1e-6], Kind::Float), [false, false, true]);
    assert_eq!(remain(&[-1e-7, 1e-4, -1e-6], Kind::BFloat16), [false, true, true]);
}
