//! The book: its commands are of programs there are, its links lead somewhere, its pages lead to each other.

use std::collections::BTreeSet;
use std::path::Path;

use workspace_tests::blocks::{BLOCKS, Fate};
use workspace_tests::book::{PageCommand, all_blocks, anchors, commands, links, pages, read, root};

/// Programs that are not ours. Whether their blocks are run is said in [`BLOCKS`].
const OTHERS: [&str; 9] =
    ["cat", "curl", "hf", "maturin", "pip", "python3", "srun", "tensorboard", "torchrun"];

/// Ours: each is parsed, and run as [`BLOCKS`] says, by the test `book` of its own crate.
const PROGRAMS: [&str; 3] = ["llm-trainer", "softmax-sim", "reward-math"];

fn make_targets() -> BTreeSet<String> {
    let makefile = read("Makefile");
    let targets =
        makefile.lines().filter_map(|line| line.split_once(": ").or(line.split_once(":\n")));
    let mut names: BTreeSet<String> = targets.map(|(name, _)| name.to_owned()).collect();
    names.extend(makefile.lines().filter_map(|line| line.strip_suffix(':')).map(str::to_owned));
    names
}

/// Returns the fault of a call of Cargo: a package, example, bench or test that does not exist.
fn fault_of_cargo(command: &PageCommand) -> Option<String> {
    let words = &command.words;
    let after = |flag: &str| {
        let index = words.iter().position(|word| word == flag)?;
        words.get(index + 1).cloned()
    };
    let package = after("-p")?;
    let folder = match package.as_str() {
        "workspace-tests" => root().join("tests"),
        "entropy-rl" => root().join("crates/python"),
        package => root().join("crates").join(package),
    };
    if !folder.join("Cargo.toml").is_file() {
        return Some(format!("no package {package}"));
    }
    for (flag, place) in [("--example", "examples"), ("--bench", "benches"), ("--test", "tests")] {
        if let Some(name) = after(flag) {
            let file = folder.join(place).join(format!("{name}.rs"));
            let tree = folder.join(place).join(&name).join("main.rs");
            if !file.is_file() && !tree.is_file() {
                return Some(format!("{package} has no {flag} {name}"));
            }
        }
    }
    None
}

#[test]
fn every_command_is_of_a_program_there_is() {
    let commands = commands();
    assert!(commands.len() > 60, "the search finds them: {}", commands.len());
    let (targets, others) = (make_targets(), BTreeSet::from(OTHERS));
    let mut unused = others.clone();
    let mut faults = Vec::new();
    for command in &commands {
        let program = command.words[0].as_str();
        let fault = match program {
            "make" => {
                let missing = command.words[1..].iter().find(|target| !targets.contains(*target));
                missing.map(|target| format!("no target {target}"))
            }
            "cargo" => fault_of_cargo(command),
            script if script.contains('/') => {
                (!root().join(script).is_file()).then(|| format!("no file {script}"))
            }
            ours if PROGRAMS.contains(&ours) => None,
            other => {
                unused.remove(other);
                (!others.contains(other)).then(|| format!("nobody knows {other}"))
            }
        };
        // Files of the repository that a command names are there.
        let named = command.words.iter().flat_map(|word| word.split(['=', ':']));
        let kept = ["configs/", "scripts/", "crates/"];
        let missing = named.filter(|word| kept.iter().any(|folder| word.starts_with(folder)));
        let missing: Vec<&str> = missing.filter(|word| !root().join(word).exists()).collect();
        faults.extend(fault.map(|fault| format!("{}:{}: {fault}", command.page, command.line)));
        if !missing.is_empty() {
            faults.push(format!("{}:{}: {missing:?} not there", command.page, command.line));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(unused.is_empty(), "no page has {unused:?}");
}

/// A new block needs a row in `tests/blocks.rs`: run, or why not.
#[test]
fn every_block_is_run_or_says_why_not() {
    let blocks = all_blocks();
    let mut faults = Vec::new();
    for (page, line, script) in &blocks {
        let rows = BLOCKS.iter().filter(|(of, text, _)| of == page && script.contains(text));
        let count = rows.count();
        if count != 1 {
            faults.push(format!("{page}:{line}: {count} rows, expected one of tests/blocks.rs"));
        }
    }
    for (page, text, fate) in BLOCKS {
        let matching = blocks.iter().filter(|(of, _, script)| of == page && script.contains(text));
        let count = matching.count();
        if count != 1 {
            faults.push(format!("{page}, {text}: {count} blocks, expected one"));
        }
        match fate {
            Fate::Run { program, .. } if !PROGRAMS.contains(program) => {
                faults.push(format!("{page}, {text}: nobody runs blocks of {program}"));
            }
            Fate::Elsewhere(tests) => {
                let tests = tests.split(':').next().unwrap_or_default();
                let missing = tests.split_whitespace().find(|test| !root().join(test).exists());
                faults.extend(missing.map(|test| format!("{page}, {text}: no {test}")));
            }
            Fate::Run { .. } | Fate::Not(_) => {}
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_relative_link_leads_to_a_file_and_an_anchor() {
    let mut faults = Vec::new();
    let mut count = 0;
    for page in pages() {
        for link in links(&page) {
            count += 1;
            if !root().join(&link.file).exists() {
                faults.push(format!("{page}: {} is not there", link.target));
            } else if !link.anchor.is_empty() && !anchors(&link.file).contains(&link.anchor) {
                faults.push(format!("{page}: {} has no such anchor", link.target));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(count > 200, "the search finds them: {count}");
}

/// Title and file of each page, in the order of the table of contents.
fn journey() -> Vec<(String, String)> {
    let contents = read("docs/README.md");
    let numbered = contents.lines().filter_map(|line| {
        let (number, rest) = line.split_once(". [")?;
        number.parse::<u32>().ok()?;
        let (title, rest) = rest.split_once("](")?;
        Some((title.to_owned(), rest.split(')').next()?.to_owned()))
    });
    numbered.collect()
}

/// The last lines of page `index`.
fn footer(journey: &[(String, String)], index: usize) -> String {
    let link = |(title, file): &(String, String)| format!("[{title}]({file})");
    let before = index.checked_sub(1).map(|index| format!("← {} · ", link(&journey[index])));
    let after = journey.get(index + 1).map(|next| format!(" · {} →", link(next)));
    format!(
        "\n---\n\n{}[Contents](README.md){}\n",
        before.unwrap_or_default(),
        after.unwrap_or_default()
    )
}

#[test]
fn every_page_has_its_place_and_leads_to_the_next() {
    let journey = journey();
    let listed: BTreeSet<String> = journey.iter().map(|(_, file)| format!("docs/{file}")).collect();
    assert_eq!(listed.len(), journey.len(), "a page is listed twice");
    let there: BTreeSet<String> = pages()
        .into_iter()
        .filter(|page| page.starts_with("docs/") && page != "docs/README.md")
        .collect();
    assert_eq!(listed, there);
    let mut faults = Vec::new();
    for (index, (_, file)) in journey.iter().enumerate() {
        let (path, expected) = (root().join("docs").join(file), footer(&journey, index));
        let page = std::fs::read_to_string(&path).expect("listed pages are there");
        if page.ends_with(&expected) {
            continue;
        }
        if std::env::var_os("UPDATE_DOCS").is_some() {
            let body = page.split("\n---\n\n← ").next().unwrap_or(&page);
            let body = body.split("\n---\n\n[Contents](README.md)").next().unwrap_or(body);
            std::fs::write(&path, format!("{body}{expected}")).expect("docs/ can be written");
        }
        faults.push(format!("docs/{file} does not end with {expected:?}"));
    }
    assert!(faults.is_empty(), "UPDATE_DOCS=1 mends them:\n{}", faults.join("\n"));
}

#[test]
fn every_pain_is_a_question_with_an_answer() {
    let page = read("docs/faq.md");
    let mut numbers: Vec<u32> = Vec::new();
    for section in page.split("\n### ").skip(1) {
        let (question, answer) = section.split_once('\n').expect("an answer below it");
        let (number, words) = question.split_once(". ").expect("a number");
        numbers.push(number.parse().expect("a number"));
        assert!(words.ends_with(['?', '.']), "{question}");
        let words = answer.split("\n## ").next().unwrap_or(answer).split_whitespace().count();
        assert!((15..140).contains(&words), "{question}: {words} words");
    }
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=27).collect::<Vec<_>>());
}

/// Spans of code that look like fields of a run or like metrics are such; those of configuration and metrics are left out,
/// which are printed from the tables.
#[test]
fn fields_and_metrics_that_the_book_names_exist() {
    let fields = training_run::config::fields();
    let sections: BTreeSet<&str> =
        fields.iter().filter_map(|field| field.path.split_once('.').map(|(own, _)| own)).collect();
    let metrics: BTreeSet<&str> =
        training_run::metrics::METRICS.iter().map(|metric| metric.name).collect();
    let families: BTreeSet<&str> =
        metrics.iter().filter_map(|name| name.split_once('/').map(|(family, _)| family)).collect();
    let named_pages = ["first-run.md", "choosing-a-method.md", "reading-results.md", "faq.md"];
    let (mut faults, mut count) = (Vec::new(), 0);
    for page in named_pages {
        let text = read(&format!("docs/{page}"));
        for span in text.split('`').skip(1).step_by(2).filter(|span| {
            !span.contains(['…', '\n'])
                && Path::new(span).extension().is_none_or(|ending| ending != "jsonl")
        }) {
            let name = span.split(" = ").next().unwrap_or(span).trim_matches(['[', ']']);
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '/' | '-');
            if !name.chars().all(plain) {
                continue;
            }
            let known = match (name.split_once('/'), name.split_once('.')) {
                (Some((family, _)), _) if families.contains(family) => metrics.contains(name),
                (None, Some((section, _))) if sections.contains(section) => {
                    let inside = format!("{name}.");
                    fields.iter().any(|f| f.path == name || f.path.starts_with(&inside))
                }
                _ => continue,
            };
            count += 1;
            if !known {
                faults.push(format!("docs/{page}: {span}"));
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
    assert!(count > 40, "the search finds them: {count}");
}
