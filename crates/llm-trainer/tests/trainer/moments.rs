//! Optimiser moments in bf16, rounded at random.

use std::path::Path;

use llm_trainer::host_memory::Memory;
use llm_trainer::training::adamw::AdamW;
use llm_trainer::training::policy_pass::{Cotangent, PolicyPass, Sequence};
use ranks::Ranks;
use tch::{Device, Kind, Tensor};
use training_run::config::{Dtype, OptimizerSection};

use crate::fixture::{decoder, one_thread};
use crate::training_run::{
    assert_success, comparable_metrics, goes_on_bit_for_bit, train, train_command, train_process,
    weights,
};

fn options(moments: Dtype) -> OptimizerSection {
    OptimizerSection { moments, max_grad_norm: 1e9, ..OptimizerSection::default() }
}

/// A parameter whose gradient is `gradient` at every step.
struct Pulled {
    parameter: Tensor,
    gradient: Tensor,
}

impl Pulled {
    fn new(gradient: &[f32]) -> Self {
        let parameter =
            Tensor::zeros([i64::try_from(gradient.len()).unwrap_or(0)], (Kind::Float, Device::Cpu));
        Self {
            parameter: parameter.set_requires_grad(true),
            gradient: Tensor::from_slice(gradient),
        }
    }

    fn pull(&self) {
        (&self.parameter * &self.gradient).sum(Kind::Float).backward();
    }
}

/// The tensors of the optimiser's file.
fn all_saved(optimizer: &AdamW) -> Vec<(String, Tensor)> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("optimizer.safetensors");
    optimizer.save(&path).expect("a temporary folder is writable");
    Tensor::read_safetensors(&path).expect("just written")
}

/// One of them.
fn saved(optimizer: &AdamW, name: &str) -> Tensor {
    let mut tensors = all_saved(optimizer).into_iter();
    tensors.find(|(found, _)| found == name).expect("every moment is there").1
}

/// Memory of both moments, in bytes.
pub(crate) fn moment_bytes(optimizer: &AdamW) -> usize {
    let tensors = all_saved(optimizer).into_iter();
    let moments = tensors.filter(|(name, _)| name.contains("_moment/"));
    moments.map(|(_, moment)| moment.numel() * moment.kind().elt_size_in_bytes()).sum()
}

/// Rounding up or down at random leaves the recursion of a moment linear in the mean:
/// `E[v_t] = g² (1 - β₂^t)`. Rounded to nearest, `v` stops where a step is less than half of its last bit, at about a
/// quarter of that.
#[test]
fn the_mean_of_a_moment_is_its_closed_form() {
    one_thread();
    let (elements, steps) = (20_000, 600);
    let slope = 0.01_f32;
    let pulled = Pulled::new(&vec![slope; elements]);
    let named = [("w".to_owned(), pulled.parameter.shallow_clone())];
    let mut optimizer = AdamW::of(named, &options(Dtype::Bf16), 7);
    for _ in 0..steps {
        pulled.pull();
        assert!(optimizer.step(&Ranks::single(), 1e-3).unwrap().applied);
    }
    let slope = f64::from(slope);
    for (name, decay, limit) in
        [("first_moment/w", 0.9_f64, slope), ("second_moment/w", 0.999, slope * slope)]
    {
        let moment = saved(&optimizer, name);
        assert_eq!(moment.kind(), Kind::BFloat16);
        let moment = moment.to_kind(Kind::Double);
        let expected = limit * (1.0 - decay.powi(steps));
        let (mean, deviation) =
            (moment.mean(Kind::Double).double_value(&[]), moment.std(true).double_value(&[]));
        let error = deviation / (elements as f64).sqrt();
        assert!(deviation > 0.0, "{name}: every element rounded alike");
        assert!(
            (mean - expected).abs() < 6.0 * error,
            "{name}: {mean} ± {error}, expected {expected}"
        );
        assert!(deviation < 0.05 * expected, "{name}: {deviation}");
    }
}

#[test]
fn rounding_does_not_depend_on_the_other_parameters() {
    one_thread();
    let slopes: Vec<f32> = (0..997_u16).cycle().map(|i| f32::from(i) * 1e-4).take(70_000).collect();
    let run = |names: &[&str]| {
        let pulled: Vec<Pulled> = names.iter().map(|_| Pulled::new(&slopes)).collect();
        let named = names
            .iter()
            .zip(&pulled)
            .map(|(name, p)| ((*name).to_owned(), p.parameter.shallow_clone()));
        let mut optimizer = AdamW::of(named, &options(Dtype::Bf16), 7);
        for _ in 0..3 {
            pulled.iter().for_each(Pulled::pull);
            optimizer.step(&Ranks::single(), 1e-3).expect("libtorch steps");
        }
        ["first_moment/b", "second_moment/b"].map(|name| saved(&optimizer, name))
    };
    let (together, alone) = (run(&["a", "b", "c"]), run(&["b"]));
    for (together, alone) in together.iter().zip(&alone) {
        assert!(together.equal(alone));
    }
}

/// Mean log-probability of a few fixed responses while it is climbed, step by step.
fn climb(moments: Dtype, steps: usize) -> Vec<f64> {
    let model = decoder("tiny_qwen2_tied");
    model.set_trainable(true);
    let sequences: Vec<Sequence> = (0..6_u32)
        .map(|row| {
            Sequence::new(
                (0..4).map(|t| (row * 31 + t * 17) % 250).collect(),
                (0..8).map(|t| (row * 53 + t * t * 7 + 3) % 250).collect(),
            )
        })
        .collect();
    let sequences: Vec<&Sequence> = sequences.iter().collect();
    let pass = PolicyPass {
        model: &model,
        temperature: 1.0,
        micro_batch_tokens: 1000,
        activation_bytes: usize::MAX,
        block_inputs: Memory::Device,
        with_squared_scores: false,
    };
    let tokens = sequences.len() * 8;
    let mut optimizer = AdamW::new(&model, &options(moments), 3);
    let ascent = Cotangent { log_prob: vec![-1.0 / tokens as f64; tokens], entropy: None };
    let step = |_| {
        let log_prob = pass
            .checkpointed_forward(&sequences)
            .backward(&ascent)
            .expect("the model is trainable");
        optimizer.step(&Ranks::single(), 1e-3).expect("libtorch steps");
        log_prob.iter().sum::<f64>() / tokens as f64
    };
    (0..steps).map(step).collect()
}

#[test]
fn a_model_learns_as_with_f32_moments() {
    let (wide, narrow) = (climb(Dtype::F32, 60), climb(Dtype::Bf16, 60));
    let gain = wide[59] - wide[0];
    assert!(gain > 2.0, "there is something to learn: {wide:?}");
    for (step, (wide, narrow)) in wide.iter().zip(&narrow).enumerate() {
        assert!((wide - narrow).abs() < 0.03 * gain, "step {step}: {wide} and {narrow}");
    }
    assert!(wide[59].to_bits() != narrow[59].to_bits(), "the moments were not rounded");
}

#[test]
fn moments_take_half_the_memory() {
    let model = decoder("tiny_qwen2_untied");
    let bytes = |moments| moment_bytes(&AdamW::new(&model, &options(moments), 0));
    let parameters: usize = model.named_parameters().iter().map(|(_, p)| p.numel()).sum();
    assert_eq!(bytes(Dtype::F32), 8 * parameters);
    assert_eq!(bytes(Dtype::Bf16), 4 * parameters);
}

#[test]
fn rounded_moments_go_on_where_they_were_bit_for_bit() {
    goes_on_bit_for_bit(&["optimizer.moments=bf16"]);
}

/// Without a master weight there is nothing of a parameter but what the model's own file has; halves are restored to the bit.
#[test]
fn narrow_weights_go_on_where_they_were_bit_for_bit() {
    let narrow = ["model.dtype=bf16", "optimizer.moments=bf16"];
    for master in ["optimizer.master=split", "optimizer.master=none"] {
        goes_on_bit_for_bit(&[&narrow[..], &[master]].concat());
        goes_on_bit_for_bit(&[&narrow[..], &[master, "lora.rank=2"]].concat());
    }
}

/// A run is identical with either form of master weights, and if it changes the form after two steps.
#[test]
fn a_split_master_weight_is_the_run_of_a_whole_one() {
    let folders = [(); 4].map(|()| tempfile::tempdir().unwrap());
    let [full, split, to_split, to_full] = folders.each_ref().map(tempfile::TempDir::path);
    let narrow = ["model.dtype=bf16"];
    let halves = ["model.dtype=bf16", "optimizer.master=split"];
    assert_success(&train(full, &narrow));
    assert_success(&train(split, &halves));
    for (from, to, settings) in [(full, to_split, &halves[..]), (split, to_full, &narrow[..])] {
        let mut command = train_command(to, settings);
        command.arg("--resume").arg(from.join("run/checkpoints/step-2"));
        assert_success(&command.output().unwrap());
    }
    for other in [split, to_split, to_full] {
        assert_eq!(comparable_metrics(full), comparable_metrics(other));
        assert!(weights(full) == weights(other), "the weights differ");
    }
    let size = |root: &Path| {
        let file = root.join("run/checkpoints/step-4/trainer/optimizer.safetensors");
        std::fs::metadata(file).expect("the last step leaves a checkpoint").len() as f64
    };
    // 4 + 8 bytes a parameter, and 2 + 8.
    assert!((size(split) / size(full) - 10.0 / 12.0).abs() < 0.02);
}

#[test]
fn forms_of_master_weights_need_narrow_parameters() {
    let folder = tempfile::tempdir().unwrap();
    let output = train_process(folder.path(), &["optimizer.master=split"]);
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        message.contains("`optimizer.master` is \"split\", expected \"f32\" unless"),
        "{message}"
    );
}

#[test]
fn moments_of_another_format_are_refused() {
    let model = decoder("tiny_qwen2_tied");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("optimizer.safetensors");
    AdamW::new(&model, &options(Dtype::F32), 0).save(&path).unwrap();
    let error =
        AdamW::new(&model, &options(Dtype::Bf16), 0).restore(&path).unwrap_err().to_string();
    assert!(
        error.contains("optimizer.safetensors: tensor `first_moment/model.embed_tokens.weight` is"),
        "{error}"
    );
    assert!(error.ends_with("is F32, expected BF16"), "{error}");
}
