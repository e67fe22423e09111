//! Prints `docs/scaling.md`: the model of [`time`](super::time) for machines that are not at hand.

use std::fmt::Write;

use training_run::config::{Run, Zero};

use super::bytes::ByteCount;
use super::sizes::{ModelSizes, preset_model};
use super::time::Hardware;
use super::{Assumptions, Plan, Setup};

/// Expected length of a response, in tokens: a quarter of the longest.
const RESPONSE_TOKENS: usize = 2048;

const GPUS_PER_NODE: usize = 8;

const INTRODUCTION: &str = include_str!("scaling.txt");

/// Returns the page in Markdown.
///
/// # Panics
///
/// Never: the published runs are tested to be runs.
pub fn scaling_page() -> String {
    let mut page = INTRODUCTION.to_owned();
    let hardware = Hardware::named("h200", 3200.0).expect("a known device");
    let assumptions = Assumptions::default();
    assumed(&mut page, &hardware, assumptions).expect("a string takes everything");
    for size in ["7b", "32b"] {
        runs(&mut page, size, assumptions).expect("a string takes everything");
    }
    stages(&mut page).expect("a string takes everything");
    page + FOOTER
}

/// Links at the end of the page, in the order of `docs/README.md`.
const FOOTER: &str = "\n---\n\n← [Hardware](hardware.md) · \
                      [Contents](README.md) · [Several processes](distributed.md) →\n";

fn assumed(page: &mut String, hardware: &Hardware, assumptions: Assumptions) -> std::fmt::Result {
    let Assumptions { matrix_fraction, decode_fraction, overlap_fraction, .. } = assumptions;
    writeln!(
        page,
        "
## What is assumed

| what | value | source |
|---|---|---|
| bf16 operations of an H200 | {:.0} TFLOP/s | NVIDIA's data sheet, dense |
| of which passes over many tokens reach | {matrix_fraction} | [measured](hardware.md#on-one-h100) on one H100 at 7B |
| its memory | {}, {:.1} TB/s | what a process can have of 141 GB; data sheet |
| of whose roofline decoding reaches | {decode_fraction} | [measured](hardware.md#on-one-h100) on one H100 at 7B; TensorRT-LLM, \
Llama-3.1-8B on H200: 0.7 |
| between the GPUs of a machine | {:.0} GB/s | bus bandwidth of nccl-tests over NVLink 4, eight GPUs |
| between machines | 3200 or 400 Gbit/s, 0.9 of it | eight cards a machine, or one |
| a hop, and the start of a collective | 3.4 µs (NVLink), 14 µs (network), 8.4 µs | NCCL, `src/graph/tuning.cc`, rings of the \
Simple protocol |
| hidden behind computation | {overlap_fraction} of it at most | a guess; blocks and their gradients travel while their \
neighbours are computed |
| lengths | 512 tokens a prompt, {RESPONSE_TOKENS} a response, one of them 8192 | a quarter of the longest; the longest finishes \
alone |
| dynamic sampling | nothing is sampled in vain | a run that drops half of its groups samples twice as long |",
        hardware.matrix_flops_per_second / 1e12,
        ByteCount(hardware.memory_bytes),
        hardware.memory_bytes_per_second / 1e12,
        hardware.link_bytes_per_second / 1e9,
    )
}

/// The published run with KL-Cov, with moments in bf16 and half a master weight beside each parameter.
fn setup(size: &str, zero: Zero, gpus: usize, tensor: usize) -> Setup {
    let (master, moments) = ("optimizer.master=split", "optimizer.moments=bf16");
    let open = ["model.path=m", "data.train.arithmetic={}", master, moments];
    let of_size: &[&str] = match size {
        "7b" => &["rollout.rows=64"],
        _ => &["rollout.rows=16", "training.micro_batch_tokens=10240"],
    };
    let overrides: Vec<String> = open.iter().chain(of_size).map(|&one| one.to_owned()).collect();
    let run = Run::from_preset(&format!("qwen2.5-{size}-kl-cov"), &overrides);
    let config = preset_model(size).expect("a known shape");
    let model = ModelSizes::of(&format!("Qwen2.5-{}", size.to_uppercase()), &config);
    let setup = Setup::of_run(&run.expect("a published run"), model);
    let setup = setup.with(|run| (run.parallel.zero, run.parallel.tensor) = (zero, tensor));
    let setup = Setup { mean_response_tokens: RESPONSE_TOKENS, ..setup };
    setup.with_ranks(gpus / GPUS_PER_NODE, GPUS_PER_NODE).expect("counts in range")
}

fn runs(page: &mut String, size: &str, assumptions: Assumptions) -> std::fmt::Result {
    let legend = match size {
        "7b" => {
            "256 prompts × 8 responses a step, 8 optimiser steps; moments in bf16, master weights split, `rollout.rows` 64. \
             To a model: `parallel.tensor`. Sent: by one rank in an optimiser step. Times: seconds a step."
        }
        _ => "The same with `rollout.rows` 16.",
    };
    writeln!(
        page,
        "\n## Qwen2.5-{}, KL-Cov, `parallel.zero = 3`

{legend} `scripts/train-{size}.sh` chooses settings by the memory there is.

| GPUs | to a model | between machines | peak | fits | sent | usual | sampling | scoring and updates | communication | not hidden | \
         step, s | tokens/s | a GPU |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|",
        size.to_uppercase()
    )?;
    // The 32B model is also sampled by two tensor-parallel ranks.
    let wholes = [(8, 1), (32, 1), (128, 1)].into_iter();
    let pairs = [(8, 2), (32, 2), (128, 2)].into_iter().filter(|_| size == "32b");
    for (gpus, tensor) in wholes.chain(pairs) {
        let networks: &[f64] = if gpus == GPUS_PER_NODE { &[3200.0] } else { &[3200.0, 400.0] };
        for &network in networks {
            let hardware = Hardware::named("h200", network).expect("a known device");
            let plan =
                Plan::new(setup(size, Zero::Parameters, gpus, tensor), hardware, assumptions);
            let between =
                if gpus == GPUS_PER_NODE { "none".to_owned() } else { format!("{network} Gbit/s") };
            let (time, traffic) = (&plan.time, &plan.traffic);
            writeln!(
                page,
                "| {gpus} | {tensor} | {between} | {} | {} | {} | {} | {:.0} | {:.0} | {:.1} | {:.1} | {:.0} | {:.0} | {:.0} |",
                ByteCount(plan.memory.peak_bytes()),
                if plan.fits { "yes" } else { "no" },
                ByteCount(traffic.bytes_sent_per_optimizer_step),
                ByteCount(traffic.usual_bytes_sent_per_optimizer_step),
                time.sampling_seconds,
                time.computing_seconds(),
                time.communication_seconds,
                time.exposed_communication_seconds,
                time.step_seconds,
                time.response_tokens_per_second,
                time.response_tokens_per_second / gpus as f64
            )?;
        }
    }
    writeln!(page)?;
    let remark = match size {
        "7b" => {
            "More GPUs stop helping where a rank has few sequences left: the longest response and the gathering of blocks cost the \
             same on any number."
        }
        _ => {
            "While responses are sampled each copy of the model is whole: 61 GiB in bf16 on one rank, or 31 on each of two. One \
             rank has room for few rows, so it reads the weights often for little. The published run needs four machines' memory; \
             on one, `scripts/train-32b.sh` takes shorter responses and smaller optimiser steps."
        }
    };
    writeln!(page, "{remark}")
}

/// Writes the table of memory and traffic at each stage of `parallel.zero`.
fn stages(page: &mut String) -> std::fmt::Result {
    writeln!(
        page,
        "\n## Stages, 7B on 8 GPUs\n\n| `parallel.zero` | all the time | peak | sent in an optimiser step | of it while computing |\n|---|---|---|---|---|"
    )?;
    for stage in 0..=3u8 {
        let Ok(zero) = Zero::try_from(stage) else { continue };
        let hardware = Hardware::named("h200", 3200.0).expect("a known device");
        let plan = Plan::new(setup("7b", zero, 8, 1), hardware, Assumptions::default());
        let updates = plan.setup.optimizer_steps() as u64;
        let hidden = plan.traffic.collectives.iter();
        let hidden = hidden.filter(|one| one.overlapped && !one.name.ends_with("scoring"));
        let hidden: u64 = hidden.map(|one| one.bytes_sent / updates).sum();
        let (memory, sent) = (&plan.memory, plan.traffic.bytes_sent_per_optimizer_step);
        let bytes = [memory.resident_bytes(), memory.peak_bytes(), sent, hidden];
        let cells = bytes.map(|bytes| ByteCount(bytes).to_string()).join(" | ");
        writeln!(page, "| {stage} | {cells} |")?;
    }
    Ok(())
}
