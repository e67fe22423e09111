//! Time of one verdict, verdicts a second on one core, and allocations of a call: `cargo bench -p reward-math`.

#![expect(clippy::print_stdout, reason = "the allocations are read by people")]

#[path = "../tests/it/bombs/answers.rs"]
mod answers;

use std::hint::black_box;
use std::time::{Duration, Instant};

use allocation_counter::measure;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use reward_math::{Gold, Options, verify};

fn verdicts(criterion: &mut Criterion) {
    let options = Options::default();
    let long = "We add the two numbers and check the result again. ".repeat(200);
    let cases = [
        ("integer", r"\boxed{42}".to_owned(), "42"),
        ("integer after 10 kB of reasoning", format!(r"{long}\boxed{{42}}"), "43"),
        ("fraction against decimal", r"\boxed{\frac{1}{2}}".to_owned(), "0.5"),
        (
            "radicals",
            r"\boxed{\frac{1}{\sqrt{2}+\sqrt{3}+\sqrt{5}}}".to_owned(),
            r"\frac{2\sqrt3+3\sqrt2-\sqrt{30}}{12}",
        ),
        ("polynomial", r"\boxed{(x+1)^{10}(x-1)}".to_owned(), "(x-1)(1+x)^{10}"),
        ("set of roots", r"\boxed{\{-2, 1\pm\sqrt5\}}".to_owned(), r"1+\sqrt5, 1-\sqrt5, -2"),
        ("words", r"\boxed{\text{no solution}}".to_owned(), r"\text{There is no solution}"),
        ("out of fuel", r"\boxed{(a+b+c+d+e+f)^{60}}".to_owned(), "x"),
    ];
    let mut group = criterion.benchmark_group("verify");
    group.throughput(Throughput::Elements(1));
    for (name, response, gold) in &cases {
        let spent = measure(|| drop(black_box(verify(response, gold, &options))));
        println!("{name}: {} allocations, at most {} bytes", spent.count_total, spent.bytes_max);
        group.bench_function(*name, |bencher| {
            bencher.iter(|| verify(black_box(response), black_box(gold), &options));
        });
    }
    group.finish();

    bombs(criterion, &options);
    rows(criterion, &options);

    criterion.bench_function("gold read once, 8 responses", |bencher| {
        bencher.iter(|| {
            let gold = Gold::parse(black_box(r"\frac{7}{2}"), &options);
            gold.map(|gold| {
                ["3.5", "7/2", r"3\frac12", "3", "x", r"\frac{14}{4}", "-3.5", "35/10"]
                    .map(|answer| gold.verify_answer(black_box(answer)))
            })
        });
    });
}

/// Answers made to exhaust a verifier, of each kind the slowest, as a response and as a ground truth; and how many take how
/// long: the shortest of five runs of each.
fn bombs(criterion: &mut Criterion, options: &Options) {
    let mut group = criterion.benchmark_group("bombs");
    group.sample_size(10);
    for (kind, bombs) in [
        ("towers", answers::towers()),
        ("calculus", answers::calculus()),
        ("statements", answers::statements()),
        ("values", answers::values()),
        ("matrices", answers::matrices()),
        ("nests", answers::nests()),
        ("lengths", answers::lengths()),
        ("texts", answers::texts()),
    ] {
        let mut times: Vec<(Duration, String, String)> = Vec::new();
        for bomb in &bombs {
            let boxed = format!("\\boxed{{{bomb}}}");
            for (response, gold) in [
                (boxed.clone(), "195".to_owned()),
                (r"\boxed{195}".to_owned(), bomb.clone()),
                (format!("\\boxed{{{bomb}, -7}}"), format!("{bomb}, -8")),
            ] {
                let run = |_| {
                    let start = Instant::now();
                    black_box(verify(black_box(&response), black_box(&gold), options));
                    start.elapsed()
                };
                times.push(((0..5).map(run).min().unwrap_or_default(), response, gold));
            }
        }
        times.sort();
        let total: Duration = times.iter().map(|(time, ..)| *time).sum();
        let mean = total.div_f64(times.len() as f64);
        let median = times[times.len() / 2].0;
        let Some((slowest, response, gold)) = times.last() else { continue };
        println!(
            "{kind}: {} verdicts, mean {mean:.1?}, median {median:.1?}, slowest {slowest:.1?}",
            times.len()
        );
        group.bench_function(format!("slowest of the {kind}"), |bencher| {
            bencher.iter(|| verify(black_box(response), black_box(gold), options));
        });
    }
    group.finish();
}

/// The own recorded cases one after another: verdicts a second on one core.
fn rows(criterion: &mut Criterion, options: &Options) {
    let text = include_str!("../tests/data/language.jsonl");
    let pairs: Vec<(String, String)> = text
        .lines()
        .filter_map(|line| {
            let row: serde_json::Value = serde_json::from_str(line).ok()?;
            let field = |name: &str| row[name].as_str().map(str::to_owned);
            Some((format!("\\boxed{{{}}}", field("prediction")?), field("gold")?))
        })
        .collect();
    let all = || {
        for (response, gold) in &pairs {
            black_box(verify(black_box(response), black_box(gold), options));
        }
    };
    let spent = measure(all);
    println!(
        "{} rows of the language: {} allocations a call",
        pairs.len(),
        spent.count_total / pairs.len() as u64
    );
    let mut group = criterion.benchmark_group("language");
    group.throughput(Throughput::Elements(pairs.len() as u64)).sample_size(10);
    group.bench_function("all rows", |bencher| bencher.iter(all));
    group.finish();
}

criterion_group!(benches, verdicts);
criterion_main!(benches);
