//! Planning and evaluating a mini-batch of tokens.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rl_losses::{Aggregation, PolicyLoss, TokenBatch, TokenColumns};

const SEQUENCE_TOKENS: usize = 1000;

fn policy_loss(criterion: &mut Criterion) {
    for tokens in [100_000, 1_000_000] {
        let mut rng = ChaCha8Rng::seed_from_u64(0);
        let log_prob: Vec<f64> = (0..tokens).map(|_| -rng.random_range(0.0f64..8.0)).collect();
        let old_log_prob: Vec<f64> =
            log_prob.iter().map(|new| new - rng.random_range(-0.3..0.3)).collect();
        let advantage: Vec<f64> = (0..tokens).map(|_| rng.random_range(-2.0..2.0)).collect();
        let lengths = vec![SEQUENCE_TOKENS; tokens / SEQUENCE_TOKENS];
        let columns = TokenColumns {
            log_prob: &log_prob,
            old_log_prob: &old_log_prob,
            advantage: &advantage,
        };
        let batch = TokenBatch::new(columns, &lengths).expect("columns of one length");
        for name in ["verl-default-ppo-clip", "paper-7b-clip-cov", "paper-7b-kl-cov"] {
            let loss = PolicyLoss::preset(name).expect("a preset");
            let mut group = criterion.benchmark_group(name);
            group.throughput(Throughput::Elements(tokens as u64)).sample_size(20);
            group.bench_function(BenchmarkId::new("plan", tokens), |bencher| {
                bencher.iter(|| loss.plan(black_box(&batch), &Aggregation::TokenMean, &mut rng));
            });
            let plan = loss
                .plan(&batch, &Aggregation::TokenMean, &mut rng)
                .expect("no further column is needed");
            group.bench_function(BenchmarkId::new("evaluate", tokens), |bencher| {
                bencher.iter(|| loss.evaluate(black_box(&batch), plan.part(0..tokens)));
            });
        }
    }
}

criterion_group!(benches, policy_loss);
criterion_main!(benches);
