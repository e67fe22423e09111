//! Doc comments say their subject first, and locals are named for what they hold (`docs/architecture.md`, "Invariants").

use std::fs;

use crate::architecture::{root, rust_files};

/// Words that no paragraph of a doc comment begins with: a clause without a subject follows them.
const OPENINGS: [&str; 6] = ["What", "Where", "Whether", "Of", "As", "The same"];

/// Names that say nothing of the value a local holds.
const NAMES: [&str; 6] = ["found", "own", "whole", "said", "at", "of"];

/// Names that the field does not know, each with its word: no code uses them again.
const NOT_OURS: [(&str, &str); 15] = [
    ("KeptTokens", "SamplingMask"),
    ("CutModel", "TensorParallel"),
    ("cut_decoder", "tensor_parallel_decoder"),
    ("SharedPass", "DistributedPass"),
    ("pull_back", "vjp"),
    ("own_operation", "autograd_function"),
    ("CpuMemory", "KvCache"),
    ("DecoderParts", "DecoderTensors"),
    ("CutBlock", "ShardedBlock"),
    ("EqualParts", "DivisibleCounts"),
    ("UncutError", "NotDivisibleError"),
    ("MemoryRoom", "MemoryInfo"),
    ("OwnReward", "CustomReward"),
    ("own_kernels", "custom_kernels"),
    ("part_sampler", "vocabulary_parallel_sampler"),
];

/// The faults of one source text, each a line number with the line.
fn faults(text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let mut is_inside = false;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        let doc = ["///", "//!"].into_iter().find_map(|mark| line.strip_prefix(mark));
        let words = doc.map_or("", str::trim);
        let is_foreign = |name: &str| NOT_OURS.iter().any(|(banned, _)| *banned == name);
        let mut names = line.split(|c: char| !c.is_alphanumeric() && c != '_');
        if (!is_inside && OPENINGS.iter().any(|opening| begins(words, opening)))
            || (doc.is_none() && (binds(line) || names.any(is_foreign)))
        {
            faults.push(format!("{}: {line}", index + 1));
        }
        is_inside = !words.is_empty();
    }
    faults
}

/// True if `words` begin with this opening as a word.
fn begins(words: &str, opening: &str) -> bool {
    let rest = words.strip_prefix(opening);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', ',', ':', '.']))
}

/// True if a line of code binds one of the names by `let` or `for`.
fn binds(line: &str) -> bool {
    let pattern = [("let ", " = "), ("for ", " in ")].into_iter().find_map(|(word, end)| {
        line.strip_prefix(word).map(|rest| rest.split(end).next().unwrap_or(rest))
    });
    let names = pattern.unwrap_or_default().split(|c: char| !c.is_alphanumeric() && c != '_');
    // The names in a struct's pattern are those of its fields.
    let is_struct = pattern.is_some_and(|pattern| pattern.contains('{'));
    !is_struct && names.into_iter().any(|name| NAMES.contains(&name))
}

#[test]
fn doc_comments_have_a_subject_and_locals_a_name() {
    let mut files = Vec::new();
    for folder in ["crates", "tests"] {
        rust_files(&root().join(folder), &mut files);
    }
    assert!(files.len() > 500, "the search finds them: {}", files.len());
    let mut all = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).expect("a source file is UTF-8");
        if file.ends_with("it/plain_words.rs") {
            continue;
        }
        let name = file.strip_prefix(root()).expect("inside the workspace").display().to_string();
        all.extend(faults(&text).into_iter().map(|fault| format!("{name}:{fault}")));
    }
    assert!(all.is_empty(), "{}\n{} lines", all.join("\n"), all.len());
}

#[test]
fn a_headless_line_and_an_empty_name_are_faults() {
    let text = "//! Sums.\n\n/// What came of it.\n///\n/// The same, twice.\nlet (a, mut found) = f();\n\
                /// Shape of the batch.\n/// What it is follows.\nfor at in places {}\nlet founded = 1;\n\
                /// Offset, in bytes.\nlet own: u8 = whole();\nlet mask = KeptTokens::new();\n";
    let lines: Vec<String> = faults(text);
    let numbers: Vec<&str> = lines.iter().filter_map(|line| line.split(':').next()).collect();
    assert_eq!(numbers, ["3", "5", "6", "9", "12", "13"]);
}
