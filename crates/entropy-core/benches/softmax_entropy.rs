//! Softmax, entropy and its first-order change over vocabularies of language-model size.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use entropy_core::{Categorical, UpdateRule};
use std::hint::black_box;

/// A toy vocabulary, Llama 2's and Qwen2.5's.
const VOCABULARIES: [u32; 3] = [1_000, 32_000, 152_000];

fn logits(actions: u32) -> Vec<f64> {
    (0..actions).map(|a| f64::from((a * 7919) % 997) / 64.0 - 8.0).collect()
}

fn softmax_entropy(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("softmax_entropy");
    for actions in VOCABULARIES {
        let logits = logits(actions);
        let policy = Categorical::from_logits(&logits).expect("finite logits are valid");
        let advantage: Vec<f64> = logits.iter().map(|z| z.sin()).collect();
        let step = UpdateRule::NaturalPolicyGradient.step(&policy, &advantage, 1e-3);
        group.throughput(Throughput::Elements(u64::from(actions)));
        group.bench_with_input(BenchmarkId::new("from_logits", actions), &logits, |b, logits| {
            b.iter(|| Categorical::from_logits(black_box(logits)).map(|policy| policy.entropy()));
        });
        group.bench_with_input(BenchmarkId::new("first_order", actions), &step, |b, step| {
            b.iter(|| policy.entropy_change_first_order(black_box(step)));
        });
        group.bench_with_input(BenchmarkId::new("exact_change", actions), &step, |b, step| {
            b.iter(|| policy.entropy_change(black_box(step)));
        });
    }
    group.finish();
}

criterion_group!(benches, softmax_entropy);
criterion_main!(benches);
