//! Time of one verdict: `cargo bench -p reward-math`.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
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
    for (name, response, gold) in &cases {
        group.bench_function(*name, |bencher| {
            bencher.iter(|| verify(black_box(response), black_box(gold), &options));
        });
    }
    group.finish();

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

criterion_group!(benches, verdicts);
criterion_main!(benches);
