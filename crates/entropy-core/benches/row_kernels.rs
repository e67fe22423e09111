//! The row kernels, on every instruction set of the machine and over vocabularies.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use entropy_core::UpdateRule;
use entropy_core::kernel::{ExactStep, InstructionSet, StepSummary, row};
use std::hint::black_box;

/// A tabular policy, a row that leaves the first cache, and the vocabulary of Qwen2.5.
const ACTIONS: [u32; 3] = [100, 10_000, 151_936];

fn wave(actions: u32, factor: u32) -> Vec<f64> {
    (0..actions).map(|a| f64::from((a * factor) % 997) / 64.0 - 8.0).collect()
}

fn rows(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("row");
    for actions in ACTIONS {
        let logits = wave(actions, 7919);
        let mut out = logits.clone();
        group.throughput(Throughput::Elements(u64::from(actions)));
        group.bench_function(BenchmarkId::new("entropy", actions), |b| {
            b.iter(|| row::entropy(black_box(&logits)));
        });
        group.bench_function(BenchmarkId::new("softmax_into", actions), |b| {
            b.iter(|| row::softmax_into(black_box(&logits), &mut out));
        });
    }
    group.finish();
}

fn exact_steps(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("exact_step");
    for actions in ACTIONS {
        let reward = wave(actions, 6007);
        group.throughput(Throughput::Elements(u64::from(actions)));
        for set in InstructionSet::available() {
            let mut logits = wave(actions, 7919);
            let mut mode = row::mode(&logits).expect("finite logits are valid");
            let step = ExactStep::on(set, UpdateRule::PolicyGradient, 1e-3);
            let (mut scratch, mut summary) = (Vec::new(), [StepSummary::default()]);
            group.bench_function(BenchmarkId::new(set.to_string(), actions), |b| {
                b.iter(|| {
                    mode = step.run(&mut logits, &reward, mode, &mut scratch, &mut summary);
                    summary[0].entropy
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, rows, exact_steps);
criterion_main!(benches);
