//! Low-rank adapters: their gradient, their files, and what remains of the model beneath.

use std::path::Path;
use std::process::Command;

use decoder::model::Decoder;
use llm_trainer::training::adamw::AdamW;
use llm_trainer::training::policy_pass::{Cotangent, Sequence};
use ranks::Ranks;
use tch::{Device, Kind, Tensor};
use training_run::config::{LoraSection, LoraTarget, OptimizerSection};

use crate::fixture::{RECORDED, decoder, directory, distance, logits, one_thread};
use crate::in_process;
use crate::moments::moment_bytes;
use crate::training_run::{assert_success, column, goes_on_bit_for_bit, steps, train};
use crate::update::{model, pass, plain_statistics, sequences};

pub(crate) fn settings(rank: usize) -> LoraSection {
    LoraSection { rank, alpha: 8.0, ..LoraSection::default() }
}

/// Adapters of every projection of the model that takes one.
pub(crate) fn adapter_of(model: &Decoder, rank: usize) -> LoraSection {
    let all = settings(rank);
    match all.problem_with(model.config().experts.as_ref()) {
        None => all,
        Some(problem) => {
            assert!(problem.to_string().ends_with("experts take no adapter"), "{problem}");
            LoraSection { targets: LoraTarget::ALL[..4].to_vec(), ..all }
        }
    }
}

/// Gives every `B` values, as training would.
pub(crate) fn fill(model: &Decoder) {
    let _no_grad = tch::no_grad_guard();
    for (index, (name, parameter)) in model.adapter_parameters().into_iter().enumerate() {
        if name.contains("lora_B") {
            let count = i64::try_from(parameter.numel()).expect("a small matrix");
            let wave = Tensor::arange(count, (Kind::Double, Device::Cpu)) * (0.7 + index as f64);
            parameter.shallow_clone().copy_(&(wave.sin() * 0.2).view_as(parameter));
        }
    }
}

fn ids() -> Tensor {
    Tensor::from_slice(&[87i64, 104, 97, 116, 32, 0, 255]).unsqueeze(0)
}

#[test]
fn a_fresh_adapter_changes_no_bit() {
    for name in RECORDED {
        let base = logits(&decoder(name), &ids());
        let mut adapted = decoder(name);
        adapted.add_adapter(&adapter_of(&adapted, 4), 1);
        assert!(logits(&adapted, &ids()).equal(&base));
        fill(&adapted);
        assert!(distance(&logits(&adapted, &ids()), &base) > 1e-3);
        assert!(logits(&adapted.base(), &ids()).equal(&base), "what lies beneath stays");
    }
}

pub(crate) fn cotangent(tokens: usize) -> Cotangent {
    let wave = |rate: f64| (0..tokens).map(|t| (t as f64 * rate).sin()).collect();
    Cotangent { log_prob: wave(0.7), entropy: Some(wave(1.3)) }
}

/// `Σ_t (c_t log π_t + e_t H_t)` by plain autograd.
pub(crate) fn plain_objective(
    model: &Decoder,
    sequences: &[&Sequence],
    cotangent: &Cotangent,
) -> Tensor {
    let (log_prob, entropy): (Vec<Tensor>, Vec<Tensor>) =
        sequences.iter().map(|sequence| plain_statistics(model, sequence)).unzip();
    let weighted = |columns: &[Tensor], weights: &[f64]| {
        (Tensor::cat(columns, 0) * Tensor::from_slice(weights)).sum(Kind::Double)
    };
    let entropy_weights = cotangent.entropy.as_deref().expect("it has one");
    weighted(&log_prob, &cotangent.log_prob) + weighted(&entropy, entropy_weights)
}

/// Any loss is a cotangent of log-probabilities and entropies, so this is the gradient of every loss.
#[test]
fn the_gradient_is_that_of_plain_autograd_and_the_model_beneath_has_none() {
    let sequences = sequences();
    let sequences: Vec<&Sequence> = sequences.iter().collect();
    let some =
        LoraSection { targets: vec![LoraTarget::DownProj, LoraTarget::QProj], ..settings(3) };
    for (tied, settings) in [(true, settings(3)), (false, settings(5)), (false, some)] {
        for (micro_batch_tokens, activation_bytes) in [(16, 0), (40, 100_000), (10_000, usize::MAX)]
        {
            let adapted = |tied| {
                let mut model = model(tied);
                model.add_adapter(&settings, 5);
                model.set_trainable(true);
                fill(&model);
                model
            };
            let (expected, trained) = (adapted(tied), adapted(tied));
            let forward = pass(&trained, micro_batch_tokens, activation_bytes)
                .checkpointed_forward(&sequences);
            let cotangent = cotangent(forward.statistics().log_prob.len());
            forward.backward(&cotangent).unwrap();
            plain_objective(&expected, &sequences, &cotangent).backward();
            let parameters = trained.adapter_parameters();
            assert_eq!(parameters.len(), 2 * 2 * settings.targets.len());
            for ((name, a), (_, b)) in parameters.iter().zip(expected.adapter_parameters()) {
                assert!(a.grad().abs().max().double_value(&[]) > 1e-6, "{name} has no gradient");
                assert!(distance(&a.grad(), &b.grad()) < 1e-9, "{name}");
            }
            for (name, parameter) in trained.named_parameters() {
                assert!(!parameter.grad().defined(), "{name} has a gradient");
            }
        }
    }
}

/// With `W = W₀ + s B A`: `∂L/∂A = s Bᵀ ∂L/∂W` and `∂L/∂B = s ∂L/∂W Aᵀ`, at the merged model.
#[test]
fn the_gradient_is_the_chain_rule_of_the_merged_model() {
    let sequences = sequences();
    let sequences: Vec<&Sequence> = sequences.iter().collect();
    let settings = settings(3);
    let (mut adapted, mut merged) = (model(false), model(false));
    for model in [&mut adapted, &mut merged] {
        model.add_adapter(&settings, 5);
        fill(model);
    }
    merged.merge_adapter();
    merged.set_trainable(true);
    adapted.set_trainable(true);
    for model in [&adapted, &merged] {
        let forward = pass(model, 40, 0).checkpointed_forward(&sequences);
        let cotangent = cotangent(forward.statistics().log_prob.len());
        forward.backward(&cotangent).unwrap();
    }
    let _no_grad = tch::no_grad_guard();
    let parameters = merged.named_parameters();
    for pair in adapted.adapter_parameters().chunks(2) {
        let [(name, down), (_, up)] = pair else { panic!("matrices come in pairs") };
        let name = name.trim_start_matches("base_model.model.").replace("lora_A.", "");
        let (_, weight) = parameters.iter().find(|(found, _)| *found == name).unwrap();
        let gradient = weight.grad() * settings.scale();
        assert!(distance(&down.grad(), &up.tr().matmul(&gradient)) < 1e-9, "{name}");
        assert!(distance(&up.grad(), &gradient.matmul(&down.tr())) < 1e-9, "{name}");
    }
}

/// A model with an adapter that does something, written as a PEFT directory.
fn saved_adapter(folder: &Path) -> Decoder {
    let mut adapted = decoder("tiny_qwen2_untied");
    adapted.add_adapter(&settings(4), 1);
    fill(&adapted);
    adapted.save(folder, &directory("tiny_qwen2_untied")).expect("a temporary folder is writable");
    adapted
}

#[test]
fn an_adapter_is_written_as_peft_has_it_and_read_back() {
    one_thread();
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("adapter");
    let adapted = saved_adapter(&target);
    let again = Decoder::load(&target, Device::Cpu, Kind::Float).unwrap();
    assert_eq!(again.adapter_settings(), adapted.adapter_settings());
    assert!(logits(&again, &ids()).equal(&logits(&adapted, &ids())));
    assert!(!target.join("model.safetensors").exists() && !target.join("config.json").exists());
    assert!(target.join("tokenizer.json").exists());

    let mut named: Vec<(String, Vec<i64>)> =
        Tensor::read_safetensors(target.join("adapter_model.safetensors"))
            .unwrap()
            .into_iter()
            .map(|(name, tensor)| (name, tensor.size()))
            .collect();
    named.sort();
    assert_eq!(named.len(), 2 * 7 * 2);
    // As peft 0.18.1 writes them for the same model.
    let prefix = "base_model.model.model.layers.0";
    for (name, shape) in [
        ("mlp.down_proj.lora_A.weight", [4, 128]),
        ("mlp.down_proj.lora_B.weight", [64, 4]),
        ("self_attn.k_proj.lora_A.weight", [4, 64]),
        ("self_attn.k_proj.lora_B.weight", [32, 4]),
    ] {
        let name = format!("{prefix}.{name}");
        assert!(named.contains(&(name.clone(), shape.to_vec())), "{name}: {named:?}");
    }
    let text = std::fs::read_to_string(target.join("adapter_config.json")).unwrap();
    let config: serde_json::Value = serde_json::from_str(&text).unwrap();
    for (field, expected) in [
        ("peft_type", "LORA".into()),
        ("task_type", "CAUSAL_LM".into()),
        ("r", 4.into()),
        ("lora_alpha", 8.0.into()),
        ("bias", serde_json::Value::from("none")),
    ] {
        assert_eq!(config[field], expected, "{field}");
    }
}

/// Log-probabilities of `token_ids` after the first as PEFT computes them: from an adapter and its model, and from another
/// adapter of that model, which is made and saved.
const PEFT: &str = r"
import json, sys, torch, transformers, peft
config = peft.PeftConfig.from_pretrained(sys.argv[1])
base = lambda: transformers.AutoModelForCausalLM.from_pretrained(config.base_model_name_or_path, torch_dtype=torch.float32)
ids = torch.tensor([json.loads(sys.argv[2])])
def log_prob(model):
    with torch.no_grad():
        log_prob = torch.log_softmax(model(ids).logits[0, :-1], -1)
    return log_prob.gather(1, ids[0, 1:, None])[:, 0].tolist()
theirs = log_prob(peft.PeftModel.from_pretrained(base(), sys.argv[1]).eval())
torch.manual_seed(0)
settings = peft.LoraConfig(r=3, lora_alpha=7, target_modules=['up_proj', 'v_proj', 'q_proj'], init_lora_weights=False, task_type='CAUSAL_LM')
made = peft.get_peft_model(base(), settings).eval()
made.save_pretrained(sys.argv[3])
print(json.dumps([theirs, log_prob(made)]))
";

/// Python with PEFT is never required; where it is there (`PYTHON`, or python3), it must read what we write, and we what it
/// writes.
#[test]
fn peft_and_we_read_each_others_adapters() {
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let has_peft = Command::new(&python).args(["-c", "import torch, transformers, peft"]).output();
    if !has_peft.is_ok_and(|output| output.status.success()) {
        eprintln!("{python} has no peft: adapters are not compared with it");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("adapter");
    let adapted = saved_adapter(&target);
    let made = folder.path().join("made");
    let ids = [49i64, 43, 50, 61, 200, 7, 99];
    let mut command = Command::new(&python);
    command.args(["-c", PEFT]).arg(&target).arg(format!("{ids:?}")).arg(&made);
    let output = command.output().unwrap();
    assert_success(&output);
    let theirs: [Vec<f64>; 2] = serde_json::from_slice(&output.stdout).unwrap();
    let made = Decoder::load(&made, Device::Cpu, Kind::Float).unwrap();
    let targets = [LoraTarget::QProj, LoraTarget::VProj, LoraTarget::UpProj].to_vec();
    assert_eq!(made.adapter_settings(), Some(&LoraSection { rank: 3, alpha: 7.0, targets }));
    let token_ids = Tensor::from_slice(&ids).unsqueeze(0);
    for (theirs, model) in theirs.iter().zip([&adapted, &made]) {
        let log_prob = logits(model, &token_ids).log_softmax(-1, Kind::Double).squeeze_dim(0);
        assert_eq!(theirs.len(), 6);
        for (index, theirs) in theirs.iter().enumerate() {
            let place = i64::try_from(index).unwrap();
            let ours = log_prob.double_value(&[place, ids[index + 1]]);
            assert!((ours - theirs).abs() < 1e-4, "token {index}: {ours} and {theirs}");
        }
    }
}

#[test]
fn merging_writes_a_model_that_says_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let (peft, merged) = (folder.path().join("adapter"), folder.path().join("merged"));
    let adapted = saved_adapter(&peft);
    let merge = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_llm-trainer"));
        in_process::run(command.arg("merge").arg(&peft).args(arguments))
    };
    assert_success(&merge(&[merged.to_str().unwrap()]));
    let merged_model = Decoder::load(&merged, Device::Cpu, Kind::Float).unwrap();
    assert_eq!(merged_model.adapter_settings(), None);
    assert!(distance(&logits(&merged_model, &ids()), &logits(&adapted, &ids())) < 1e-4);
    assert!(merged.join("tokenizer.json").exists() && !merged.join("adapter_config.json").exists());
    let refused = merge(&[directory("tiny_qwen2_untied").to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("is read from"));
    let other = directory("tiny_qwen2_tied");
    let narrow = folder.path().join("narrow");
    let arguments =
        [narrow.to_str().unwrap(), "--dtype", "bf16", "--model", other.to_str().unwrap()];
    assert_success(&merge(&arguments));
    assert_eq!(Decoder::stored_kind(&narrow).unwrap(), Kind::BFloat16);
}

#[test]
fn runs_with_an_adapter_go_on_bit_for_bit() {
    let reference = "algorithm.reference_kl.coefficient.fixed=0.01";
    goes_on_bit_for_bit(&["lora.rank=4", "optimizer.moments=bf16", reference]);
    goes_on_bit_for_bit(&["lora.rank=2", "model.dtype=bf16"]);
}

#[test]
fn a_run_with_an_adapter_starts_at_its_reference_and_moves_away_from_it() {
    let folder = tempfile::tempdir().unwrap();
    let overrides =
        ["lora.targets=[\"q_proj\", \"up_proj\"]", "algorithm.reference_kl.estimator=k3"];
    assert_success(&train(folder.path(), &overrides));
    let steps = steps(folder.path());
    for mismatch in column(&steps, "rollout/mismatch_kl") {
        assert!(mismatch.abs() < 1e-5, "the adapter samples as it is trained: {mismatch}");
    }
    let divergence = column(&steps, "actor/reference_kl");
    assert!(divergence[0].abs() <= 0.0, "the base is the first policy: {divergence:?}");
    assert!(divergence[3].abs() > 1e-6, "{divergence:?}");
    let checkpoint = folder.path().join("run/checkpoints/step-4");
    let trained = Decoder::load(&checkpoint, Device::Cpu, Kind::Float).unwrap();
    assert_eq!(trained.adapter_parameters().len(), 2 * 2 * 2);
    let base = decoder("tiny_qwen2_tied");
    for ((name, a), (_, b)) in trained.named_parameters().iter().zip(base.named_parameters()) {
        assert!(a.equal(b), "{name} moved");
    }
}

#[test]
fn an_adapter_learns() {
    let mut model = decoder("tiny_qwen2_tied");
    model.add_adapter(&settings(8), 2);
    model.set_trainable(true);
    let sequence = Sequence::new(vec![1, 2, 3], (40..60).collect());
    let options = OptimizerSection { max_grad_norm: 1e9, ..OptimizerSection::default() };
    let mut optimizer = AdamW::new(&model, &options, 0);
    let parameters: usize = model.adapter_parameters().iter().map(|(_, p)| p.numel()).sum();
    assert_eq!(moment_bytes(&optimizer), 8 * parameters, "the model beneath has no moments");
    let ascent = Cotangent { log_prob: vec![-0.05; 20], entropy: None };
    let mut mean = Vec::new();
    for _ in 0..40 {
        let log_prob =
            pass(&model, 100, 0).checkpointed_forward(&[&sequence]).backward(&ascent).unwrap();
        mean.push(log_prob.iter().sum::<f64>() / 20.0);
        assert!(optimizer.step(&Ranks::single(), 1e-2).unwrap().applied);
    }
    assert!(mean[39] > mean[0] + 1.0, "{mean:?}");
}
