//! Fuzzes verdicts with generated answers: `cargo run --release -p reward-math --example fuzz -- 10000000 [SEED]`.
//!
//! One in eight is random bytes. Of the others half come from a grammar of LaTeX and plain mathematics. The other half
//! are the recorded cases and the stored corpus with bytes changed, truncated, doubled and spliced.
//!
//! A verdict must come without a panic. Slow ones, over 50 ms of processor time of a thread, are written to
//! `fuzz/slow`. Those that use over 20 MiB or leak memory go to `fuzz/memory`, panics to `fuzz/panic`. Then the program
//! exits with 1.

#![expect(clippy::print_stdout, reason = "the result is read by people")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use allocation_counter::measure;
use rayon::prelude::*;
use reward_math::{Options, verify};

/// Longest time of a verdict.
const LONGEST: Duration = Duration::from_millis(50);
/// Largest memory of a verdict, in bytes.
const MOST_BYTES: u64 = 20 << 20;
/// Executions between two lines of progress.
const BLOCK: u64 = 200_000;

/// Stream of random numbers; each execution has its own.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit.max(1) as u64).unwrap_or(0)
    }

    fn pick<'a, T: ?Sized>(&mut self, items: &[&'a T]) -> &'a T {
        items[self.below(items.len())]
    }
}

const ATOMS: &[&str] = &[
    "0",
    "1",
    "-7",
    "12",
    "3.5",
    "0.333",
    "1,234",
    "10^{100}",
    "x",
    "y",
    "n",
    "a_1",
    "\\pi",
    "e",
    "i",
    "\\infty",
    "50\\%",
    "\\$5",
    "90^\\circ",
    "101_2",
    "\\text{no}",
    "yes",
    "B",
    "(C)",
    "\\theta",
    "½",
    "√2",
    "x²",
    "≤",
    "∞",
    "9 a.m.",
    "3:45",
    "1e9",
    "\\{",
    "\\}",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "|",
    ",",
    "=",
    "<",
    "\\le",
    "\\in",
    "\\cup",
];
const UNARY: &[&str] = &[
    "\\sqrt{@}",
    "-@",
    "(@)",
    "|@|",
    "\\sin @",
    "\\ln(@)",
    "@!",
    "\\lfloor @ \\rfloor",
    "\\boxed{@}",
    "\\text{@}",
    "$@$",
    "\\sqrt[3]{@}",
    "\\{@\\}",
    "\\left(@\\right)",
    "x=@",
    "@ \\text{ cm}",
    "\\{x \\mid @\\}",
    "@!!",
    "@ \\pmod 7",
    "@ hours 5 minutes",
    "\\text{the answer is } @",
    "\\overline{@}",
    "\\det\\begin{pmatrix}@\\end{pmatrix}",
    "@^T",
    "\\sqrt[@]{2}",
    "\\begin{cases}@\\end{cases}",
];
const BINARY: &[&str] = &[
    "@+@",
    "@-@",
    "@*@",
    "@/@",
    "@^{@}",
    "\\frac{@}{@}",
    "@,@",
    "(@,@)",
    "[@,@)",
    "@=@",
    "@<@",
    "@ \\cup @",
    "@:@",
    "\\binom{@}{@}",
    "@ \\text{ or } @",
    "\\begin{pmatrix}@\\\\@\\end{pmatrix}",
    "\\begin{pmatrix}@&@\\\\@&@\\end{pmatrix}^{@}@",
    "@@",
    "@ @",
    "\\sum_{k=1}^{@} @",
    "\\log_{@}{@}",
    "]@,@[",
    "{@ \\choose @}",
    "{@ \\over @}",
    "C_{@}^{@}",
    "\\{@ : @\\}",
    "@ - \\{@\\}",
    "\\left[@\\right]+@",
    "@ \\bmod @",
    "3\\vec{i}+@\\vec{j},@",
    "@ \\ne @",
];

/// Generates a number in a base: any digit of it up to some thousands of times, with or without a point.
fn number_in_base(random: &mut Random) -> String {
    let base = 2 + random.below(9);
    let most = 1 << random.below(13);
    let digits = random.below(base).to_string().repeat(1 + random.below(most));
    let point = if random.below(4) == 0 { "0." } else { "" };
    let sign = if random.below(8) == 0 { "-" } else { "" };
    format!("{point}{digits}_{{{sign}{base}}}")
}

fn generated(random: &mut Random, depth: usize) -> String {
    if depth == 0 || random.below(4) == 0 {
        return match random.below(32) {
            0 => number_in_base(random),
            _ => random.pick(ATOMS).to_owned(),
        };
    }
    let template = if random.below(3) == 0 { random.pick(UNARY) } else { random.pick(BINARY) };
    let mut parts = template.split('@');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text += &generated(random, depth - 1);
        text += part;
    }
    text
}

fn changed(random: &mut Random, corpus: &[String]) -> String {
    let mut bytes = corpus[random.below(corpus.len())].clone().into_bytes();
    for _ in 0..=random.below(4) {
        let position = random.below(bytes.len());
        match random.below(5) {
            0 if !bytes.is_empty() => {
                bytes[position] = u8::try_from(random.below(256)).unwrap_or(b'x');
            }
            1 => bytes.truncate(position),
            2 if bytes.len() < 4096 => {
                let copy = bytes[position..].to_vec();
                bytes.extend(copy);
            }
            3 => {
                let other = &corpus[random.below(corpus.len())].as_bytes();
                let from = random.below(other.len());
                bytes.truncate(position);
                bytes.extend_from_slice(&other[from..]);
            }
            _ => bytes.insert(position, b"{}()\\^_$,0"[random.below(10)]),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the texts to mutate: the recorded cases and the findings of earlier runs.
fn corpus(folder: &Path) -> Vec<String> {
    let mut texts = Vec::new();
    let cases = [
        include_str!("../tests/data/mathcases_own.jsonl"),
        include_str!("../tests/data/language.jsonl"),
        include_str!("../tests/data/fresh.jsonl"),
    ];
    for line in cases.iter().flat_map(|file| file.lines()) {
        let row: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
        for field in ["prediction", "gold"] {
            texts.extend(row[field].as_str().map(str::to_owned));
        }
    }
    for entry in std::fs::read_dir(folder.join("corpus")).into_iter().flatten().flatten() {
        texts.extend(std::fs::read_to_string(entry.path()));
    }
    texts
}

fn keep(folder: &Path, kind: &str, index: u64, response: &str, gold: &str) {
    let folder = folder.join(kind);
    let written = std::fs::create_dir_all(&folder).and_then(|()| {
        std::fs::write(folder.join(format!("{index}.txt")), format!("{response}\n{gold}"))
    });
    if let Err(error) = written {
        println!("cannot write {}: {error}", folder.display());
    }
}

/// Returns the processor time of this thread, or the time since `start` if the system does not tell it.
fn spent(start: Instant) -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = told.and_then(|text| text.split(' ').next()?.parse().ok());
    nanoseconds.map_or_else(|| start.elapsed(), Duration::from_nanos)
}

/// Start, response and ground truth of the verdict that a thread works on.
type Running = Mutex<Option<(Instant, String, String)>>;

/// Ends the program if a verdict takes too long.
fn watch(running: Arc<Vec<Running>>, folder: PathBuf) {
    const HANG: Duration = Duration::from_secs(20);
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(HANG / 10);
            for thread in running.iter() {
                if let Ok(thread) = thread.lock()
                    && let Some((since, response, gold)) = thread.as_ref()
                    && since.elapsed() > HANG
                {
                    keep(&folder, "hang", 0, response, gold);
                    println!("no verdict for {response:?} against {gold:?}");
                    std::process::exit(1);
                }
            }
        }
    });
}

#[expect(clippy::too_many_lines, reason = "one arm a kind of text")]
fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default| arguments.next().map_or(Ok(default), |text| text.parse::<u64>());
    let (Ok(executions), Ok(seed)) = (number(1_000_000), number(1)) else {
        println!("usage: fuzz [EXECUTIONS] [SEED], two whole numbers");
        return ExitCode::from(2);
    };
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fuzz");
    let corpus = corpus(&folder);
    let slowest = Mutex::new((Duration::ZERO, String::new()));
    let largest = AtomicU64::new(0);
    let threads = rayon::current_num_threads();
    let running: Arc<Vec<Running>> = Arc::new((0..threads).map(|_| Mutex::new(None)).collect());
    watch(Arc::clone(&running), folder.clone());
    let mut failures = 0;
    let start = Instant::now();
    for block in 0..executions.div_ceil(BLOCK) {
        let end = executions.min((block + 1) * BLOCK);
        let block_failures: u64 = (block * BLOCK..end)
            .into_par_iter()
            .map(|index| {
                let mut random = Random(seed.wrapping_mul(0x5851_f42d_4c95_7f2d) ^ (index << 20));
                let text = |random: &mut Random| {
                    if random.below(8) == 0 {
                        let length = random.below(60);
                        let bytes: Vec<u8> = (0..length)
                            .map(|_| u8::try_from(random.below(256)).unwrap_or(b'x'))
                            .collect();
                        String::from_utf8_lossy(&bytes).into_owned()
                    } else if random.below(2) == 0 {
                        let depth = 1 + random.below(5);
                        generated(random, depth)
                    } else {
                        changed(random, &corpus)
                    }
                };
                let (answer, gold) = (text(&mut random), text(&mut random));
                let response =
                    if random.below(2) == 0 { format!("\\boxed{{{answer}}}") } else { answer };
                let options =
                    if random.below(2) == 0 { Options::lenient() } else { Options::strict() };
                let running = &running[rayon::current_thread_index().unwrap_or(0)];
                let began = Instant::now();
                if let Ok(mut running) = running.lock() {
                    *running = Some((began, response.clone(), gold.clone()));
                }
                let mut outcome = Ok(());
                let mut run = || {
                    measure(|| {
                        let run = AssertUnwindSafe(|| {
                            std::hint::black_box(verify(&response, &gold, &options));
                        });
                        outcome = catch_unwind(run);
                    })
                };
                let mut held = run();
                // Tables are filled when they are first used; a leak leaks each time.
                if held.bytes_current != 0 {
                    held = run();
                }
                if let Ok(mut running) = running.lock() {
                    *running = None;
                }
                // The clock is cheap; only executions that seem slow are measured again by processor time.
                let mut took = began.elapsed();
                for _ in 0..2 {
                    if took > LONGEST && outcome.is_ok() {
                        let before = spent(start);
                        std::hint::black_box(verify(&response, &gold, &options));
                        took = took.min(spent(start).saturating_sub(before));
                    }
                }
                if let Ok(mut slowest) = slowest.lock()
                    && took > slowest.0
                {
                    *slowest = (took, format!("{response}   against   {gold}"));
                }
                largest.fetch_max(held.bytes_max, Ordering::Relaxed);
                if outcome.is_ok() && (held.bytes_max > MOST_BYTES || held.bytes_current != 0) {
                    keep(&folder, "memory", index, &response, &gold);
                    return 1;
                }
                if outcome.is_err() {
                    keep(&folder, "panic", index, &response, &gold);
                    return 1;
                }
                if took > LONGEST {
                    keep(&folder, "slow", index, &response, &gold);
                    return 1;
                }
                0
            })
            .sum();
        failures += block_failures;
        if let Ok(slowest) = slowest.lock() {
            let shown: String = slowest.1.chars().take(90).collect();
            println!(
                "{end} executions, {failures} failures, {:.0} s; most memory {} bytes; slowest {:?}: {shown:?}",
                start.elapsed().as_secs_f64(),
                largest.load(Ordering::Relaxed),
                slowest.0
            );
        }
    }
    if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
