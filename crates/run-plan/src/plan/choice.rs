//! Chooses settings for the memory there is.

use serde::Serialize;
use training_run::config::{Dtype, MasterWeights, RunConfig, Zero};

use super::memory::MemoryPlan;
use super::setup::Setup;
use super::time::{Assumptions, Hardware, StepTime};

/// Values of `rollout.rows`, the sequences that decode together, that are tried.
const ROWS: [usize; 8] = [256, 128, 64, 48, 32, 24, 16, 8];

/// Settings with which a run fits.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Choice {
    /// Assignments that differ from the run's own, such as `rollout.rows=64`.
    pub settings: Vec<String>,
    /// Effect of the settings on the result, beyond rounding; empty if there is none.
    pub remark: String,
    /// The setup with these settings.
    pub setup: Setup,
}

/// Finds the settings that fit and are fastest by the model of [`StepTime`]; `None` if none fit.
///
/// Tries only settings that leave the result as it is but for rounding: sharding, rows, micro-batches, the format of master
/// weights. Host memory is used only if nothing fits without it. Moments in bf16, rounded at random, come last.
pub fn settings_that_fit(
    setup: &Setup,
    hardware: &Hardware,
    assumptions: &Assumptions,
) -> Option<Choice> {
    let wide = setup.run.optimizer.moments;
    let narrower =
        (wide != Dtype::Bf16).then_some((Dtype::Bf16, "moments are rounded at random to bf16"));
    let offloads = [(false, false), (false, true), (true, false), (true, true)];
    let tried = if setup.on_cpu { 1 } else { offloads.len() };
    for (moments, remark) in std::iter::once((wide, "")).chain(narrower) {
        for (offload_optimizer, offload_block_inputs) in offloads.iter().copied().take(tried) {
            let kept = setup.with(|run| {
                run.optimizer.moments = moments;
                run.parallel.offload_optimizer = offload_optimizer;
                run.parallel.offload_block_inputs = offload_block_inputs;
            });
            let best = variants(&kept)
                .into_iter()
                .filter(|one| hardware.holds(one, &MemoryPlan::new(one, one.longest())))
                .map(|one| (StepTime::new(&one, hardware, assumptions).step_seconds, one))
                .min_by(|(a, _), (b, _)| a.total_cmp(b));
            if let Some((_, best)) = best {
                return Some(Choice {
                    settings: differences(setup, &best),
                    remark: remark.to_owned(),
                    setup: best,
                });
            }
        }
    }
    None
}

/// Lists the setups to try; of equally fast ones the first is taken.
fn variants(setup: &Setup) -> Vec<Setup> {
    let mut zeros = vec![setup.run.parallel.zero];
    if setup.ranks() > 1 && setup.run.lora.is_none() {
        zeros.extend([Zero::Parameters, Zero::Optimizer]);
    }
    let masters = match (setup.run.model.dtype, setup.run.optimizer.master) {
        // Offloaded master weights are never split.
        (Dtype::Bf16, MasterWeights::F32) if !setup.run.parallel.offload_optimizer => {
            vec![MasterWeights::F32, MasterWeights::Split]
        }
        (_, master) => vec![master],
    };
    let longest = setup.longest().sequence_tokens();
    let mut micro_batches = vec![setup.run.training.micro_batch_tokens];
    while let Some(&last) = micro_batches.last()
        && (last / 2).max(longest) < last
    {
        micro_batches.push((last / 2).max(longest));
    }
    let mut variants = Vec::new();
    for tensor in [1, 2, 4, 8] {
        let cut = setup.with(|run| run.parallel.tensor = tensor);
        let Ok(cut) = cut.with_ranks(setup.nodes, setup.gpus_per_node) else { continue };
        for &zero in &zeros {
            for &master in &masters {
                for &micro_batch_tokens in &micro_batches {
                    let one = |rows| {
                        cut.with(|run| {
                            (run.parallel.zero, run.optimizer.master) = (zero, master);
                            run.rollout.rows = rows;
                            run.training.micro_batch_tokens = micro_batch_tokens;
                        })
                    };
                    variants.push(one(setup.run.rollout.rows));
                    variants.extend(ROWS.map(one));
                }
            }
        }
    }
    variants
}

/// Lists the assignments by which `chosen` differs from `setup`.
fn differences(setup: &Setup, chosen: &Setup) -> Vec<String> {
    let values = |setup: &Setup| {
        let RunConfig { parallel, optimizer, rollout, training, .. } = &setup.run;
        let moments = if optimizer.moments == Dtype::Bf16 { "bf16" } else { "" };
        let master = format!("{:?}", optimizer.master).to_lowercase();
        [
            ("parallel.zero", u8::from(parallel.zero).to_string()),
            ("parallel.tensor", parallel.tensor.to_string()),
            ("optimizer.master", master),
            ("optimizer.moments", moments.to_owned()),
            ("parallel.offload_optimizer", parallel.offload_optimizer.to_string()),
            ("parallel.offload_block_inputs", parallel.offload_block_inputs.to_string()),
            ("rollout.rows", rollout.rows.to_string()),
            ("training.micro_batch_tokens", training.micro_batch_tokens.to_string()),
        ]
    };
    let pairs = std::iter::zip(values(setup), values(chosen));
    let differing = pairs.filter(|(before, after)| before != after);
    differing.map(|(_, (name, value))| format!("{name}={value}")).collect()
}
