//! Time to draw 32 tokens for each of 8 and 64 sequences of the tiny model.

use std::hint::black_box;
use std::path::Path;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use decoder::generation::{GenerationOptions, PromptRequest, SamplingKey, generate};
use decoder::model::Decoder;
use tch::{Device, Kind};

const NEW_TOKENS: usize = 32;

fn generation(criterion: &mut Criterion) {
    tch::set_num_threads(1);
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tiny_qwen2_tied");
    let decoder =
        Decoder::load(&directory, Device::Cpu, Kind::Float).expect("the fixture is whole");
    let prompt: Vec<u32> = (32..64).collect();
    let key = SamplingKey { seed: 0, step: 0, prompt: 0 };
    let mut group = criterion.benchmark_group("generation");
    for samples in [8, 64] {
        let options =
            GenerationOptions { samples, max_new_tokens: NEW_TOKENS, ..Default::default() };
        group.throughput(Throughput::Elements((samples * NEW_TOKENS) as u64));
        group.bench_function(format!("tiny_qwen2/{samples}x{NEW_TOKENS}"), |bencher| {
            let request = PromptRequest { token_ids: &prompt, key };
            bencher.iter(|| generate(&decoder, black_box(&[request]), &options));
        });
    }
    group.finish();
}

criterion_group!(benches, generation);
criterion_main!(benches);
