//! A ground truth with one character changed is another answer; exceptions that are accepted are listed with reasons.

#![expect(clippy::print_stdout, reason = "the measurements are read by people")]

use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};

use reward_math::{Gold, Options};

/// Changed answers that are still equal, each with its ground truth and the reason.
const EQUAL_AFTER_ALL: [(&str, &str, &str); 13] = [
    (r"\binom{4025}{2013}", r"\binom{4025}{2012}", "4025 = 2012 + 2013"),
    (
        r"\left\lfloor \frac{-1 + \sqrt{2 + 8n}}{2} \right\rfloor",
        r"\left\lfloor \frac{-1 + \sqrt{1 + 8n}}{2} \right\rfloor",
        "between 8n + 1 and 8n + 2 lies no square of an odd number",
    ),
    (
        r"\frac{3^{n+1} + (-1)^{n-1}}{2}",
        r"\frac{3^{n+1} + (-1)^{n+1}}{2}",
        "two steps of a sign are none",
    ),
    (r"\binom{43}{22}-1", r"\binom{43}{21}-1", "43 = 21 + 22"),
    (
        r"(-1)^{\lceil n/2 \rceil+1} 2 \lceil \frac{n}{2} \rceil",
        r"(-1)^{\lceil n/2 \rceil-1} 2 \lceil \frac{n}{2} \rceil",
        "two steps of a sign are none",
    ),
    ("$f(y)=1$", "$f(x)=1$", "the name of the argument is bound"),
    ("$f(z)=1$", "$f(x)=1$", "the same"),
    ("$f(y)=-1$,$f(x)=x+1$", "$f(x)=-1$,$f(x)=x+1$", "the same"),
    ("$f(z)=-1$,$f(x)=x+1$", "$f(x)=-1$,$f(x)=x+1$", "the same"),
    ("$f(n)=n$, $g(k)=1$", "$f(n)=n$, $g(n)=1$", "the same"),
    (
        r"The kumber of distinct such colorings of \( P \) is \(\boxed{6}\).",
        r"The number of distinct such colorings of \( P \) is \(\boxed{6}\).",
        "a letter of the label of 6",
    ),
    (
        r"The number of distikct such colorings of \( P \) is \(\boxed{6}\).",
        r"The number of distinct such colorings of \( P \) is \(\boxed{6}\).",
        "a letter of the label of 6",
    ),
    (
        r"The number of distinct such colorikgs of \( P \) is \(\boxed{6}\).",
        r"The number of distinct such colorings of \( P \) is \(\boxed{6}\).",
        "a letter of the label of 6",
    ),
];

/// Returns the distinct ground truths of a set that are more than an integer.
fn ground_truths(folder: &Path, name: &str) -> BTreeSet<String> {
    let mut text = String::new();
    let file = std::fs::File::open(folder.join(name)).expect("the set is beside the others");
    ruzstd::decoding::StreamingDecoder::new(file)
        .expect("the set is compressed with Zstandard")
        .read_to_string(&mut text)
        .expect("the set is UTF-8");
    let answer = |line: &str| {
        let row: serde_json::Value = serde_json::from_str(line).expect("one JSON object a line");
        row["answer"].as_str().map(str::to_owned)
    };
    text.lines().filter_map(answer).filter(|answer| answer.parse::<f64>().is_err()).collect()
}

/// Marks characters without meaning for the value: commands, text, names of environments, delimiters of formulas.
fn is_decoration(text: &str) -> Vec<bool> {
    let mut mask = Vec::new();
    let (mut command, mut group) = (String::new(), 0_usize);
    let mut in_command = false;
    for c in text.chars() {
        let began = c == '\\';
        if in_command && !began {
            if c.is_ascii_alphabetic() {
                command.push(c);
                mask.push(true);
                continue;
            }
            in_command = false;
            if command.is_empty() {
                mask.push(true);
                continue;
            }
        }
        if began {
            (in_command, command) = (true, String::new());
        }
        let skips = matches!(command.as_str(), "text" | "mbox" | "begin" | "end" | "operatorname");
        match c {
            '{' if skips || group > 0 => group += 1,
            '}' if group > 0 => {
                group -= 1;
                if group == 0 {
                    command.clear();
                }
            }
            _ => {}
        }
        mask.push(began || group > 0);
    }
    mask
}

fn changed(c: char) -> &'static [char] {
    match c {
        '+' => &['-'],
        '-' => &['+'],
        '0' | '7' => &['1'],
        '1' => &['2'],
        '2' => &['3'],
        '3' => &['8'],
        '4' | '8' => &['9'],
        '5' => &['6'],
        '6' => &['5'],
        '9' => &['4'],
        'x' => &['y', 'z'],
        'n' => &['k'],
        'a' => &['b'],
        '[' => &['('],
        '(' => &['['],
        ']' => &[')'],
        ')' => &[']'],
        '<' => &['>'],
        '/' | '^' => &['*'],
        _ => &[],
    }
}

#[test]
fn a_changed_ground_truth_is_not_accepted() {
    let folder = std::env::var_os("SHARED_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    if !folder.join("math_test.jsonl.zst").exists() {
        println!(
            "the sets of problems are absent (set SHARED_DATA to their folder): nothing measured"
        );
        return;
    }
    let mut tried = 0;
    let mut accepted = Vec::new();
    for name in ["math_test.jsonl.zst", "olympiadbench.jsonl.zst", "omni_math_rule.jsonl.zst"] {
        for truth in &ground_truths(&folder, name) {
            let Ok(gold) = Gold::parse(truth, &Options::default()) else { continue };
            let characters: Vec<char> = truth.chars().collect();
            let decoration = is_decoration(truth);
            for index in (0..characters.len()).filter(|index| !decoration[*index]) {
                for swap in changed(characters[index]) {
                    let mut other = characters.clone();
                    other[index] = *swap;
                    let other: String = other.into_iter().collect();
                    tried += 1;
                    let listed =
                        EQUAL_AFTER_ALL.iter().any(|(equal, of, _)| *equal == other && of == truth);
                    if gold.verify_answer(&other).is_right() && !listed {
                        accepted.push(format!("{other} for {truth}"));
                    }
                }
            }
        }
    }
    println!("{tried} changed answers, {} accepted", accepted.len());
    assert!(tried > 10_000, "only {tried} changed answers");
    assert!(accepted.is_empty(), "{}", accepted.join("\n"));
}
