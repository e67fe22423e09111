//! The pages of the book as their reader uses them: commands to type, links to follow.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A command of a page, as bash understands it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageCommand {
    /// The page, relative to the root of the repository.
    pub page: String,
    /// Line of the block that it stands in.
    pub line: usize,
    /// Its words: quotes taken off, variables filled in, redirections left out.
    pub words: Vec<String>,
}

impl PageCommand {
    /// Returns the words joined by spaces, for comparisons.
    pub fn text(&self) -> String {
        self.words.join(" ")
    }

    /// Arguments of each call of `program`, itself first: called alone, behind `launch … --`, `torchrun` or `srun`, or behind
    /// `cargo run -p program --`. Empty where the command does not call it.
    pub fn calls_of(&self, program: &str) -> Vec<Vec<String>> {
        if self.words[0] == "cargo" {
            let package = self.words.windows(2).any(|pair| pair == ["-p", program]);
            let dashes = self.words.iter().position(|word| word == "--");
            let example = self.words.iter().any(|word| word == "--example");
            return match dashes {
                Some(at) if self.words[1] == "run" && package && !example => {
                    let first = [program.to_owned()].into_iter();
                    vec![first.chain(self.words[at + 1..].iter().cloned()).collect()]
                }
                _ => Vec::new(),
            };
        }
        if !matches!(self.words[0].as_str(), "torchrun" | "srun") && self.words[0] != program {
            return Vec::new();
        }
        let starts = (0..self.words.len()).filter(|&at| self.words[at] == program);
        starts.map(|at| self.words[at..].to_vec()).collect()
    }
}

/// The script of a block, and the line that it begins at.
///
/// # Panics
///
/// Unless one block of the page has the text.
pub fn block(page: &str, text: &str) -> (usize, String) {
    let mut matching = blocks(&read(page)).into_iter().filter(|(_, script)| script.contains(text));
    let block = matching.next().unwrap_or_else(|| panic!("{page}: no block with {text}"));
    assert!(matching.next().is_none(), "{page}: several blocks with {text}");
    block
}

/// Compares a page of `docs/` with the output of the code; `UPDATE_DOCS=1` rewrites the page first.
///
/// # Panics
///
/// If the page differs.
pub fn compare_page(name: &str, printed: &str) {
    let path = root().join("docs").join(name);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, printed).expect("docs/ can be written");
    }
    let current = std::fs::read_to_string(&path).expect("the page is there");
    assert!(current == printed, "docs/{name} is out of date: UPDATE_DOCS=1 rewrites it");
}

/// The commands of `program` that `parse` refuses, with what it says.
pub fn faults(program: &str, parse: impl Fn(&[String]) -> Result<(), String>) -> Vec<String> {
    let mut faults = Vec::new();
    for command in commands() {
        let PageCommand { page, line, .. } = &command;
        for words in command.calls_of(program) {
            if let Err(error) = parse(&words) {
                faults.push(format!("{page}:{line}: {}: {error}", words.join(" ")));
            }
        }
    }
    faults
}

/// Faults of the examples of a program's help, given as the name of a subcommand and its examples as a script: a call that
/// `parse` refuses, with its message, and a subcommand that none of its examples calls.
///
/// # Panics
///
/// If a script is not one of a shell.
pub fn faults_of_examples(
    program: &str,
    examples: &[(String, String)],
    parse: impl Fn(&[String]) -> Result<(), String>,
) -> Vec<String> {
    let mut faults = Vec::new();
    for (name, script) in examples {
        let commands = words_of(script).unwrap_or_else(|message| panic!("{name}: {message}"));
        let command = |words| PageCommand { page: name.clone(), line: 1, words };
        let calls: Vec<Vec<String>> =
            commands.into_iter().flat_map(|words| command(words).calls_of(program)).collect();
        if !calls.iter().any(|words| words.join(" ").starts_with(name.as_str())) {
            faults.push(format!("{name}: no example calls it"));
        }
        for words in calls {
            if let Err(error) = parse(&words) {
                faults.push(format!("{name}: {}: {error}", words.join(" ")));
            }
        }
    }
    faults
}

/// Page, line and script of every block of commands, in order.
pub fn all_blocks() -> Vec<(String, usize, String)> {
    let blocks_of = |page: String| {
        let blocks = blocks(&read(&page));
        blocks.into_iter().map(move |(line, script)| (page.clone(), line, script))
    };
    pages().into_iter().flat_map(blocks_of).collect()
}

/// The root of the repository.
///
/// # Panics
///
/// If these tests stand nowhere.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests stand in the workspace").into()
}

/// All pages, relative to the root: the README, what contributors read, and `docs/`.
///
/// # Panics
///
/// If `docs/` cannot be read.
pub fn pages() -> Vec<String> {
    let mut pages = vec!["README.md".to_owned(), "CONTRIBUTING.md".to_owned()];
    for entry in std::fs::read_dir(root().join("docs")).expect("a readable folder") {
        let name = entry.expect("a readable entry").file_name().to_string_lossy().into_owned();
        if Path::new(&name).extension().is_some_and(|extension| extension == "md") {
            pages.push(format!("docs/{name}"));
        }
    }
    pages.sort();
    pages
}

/// The text of a page.
///
/// # Panics
///
/// If it cannot be read.
pub fn read(page: &str) -> String {
    std::fs::read_to_string(root().join(page)).unwrap_or_else(|error| panic!("{page}: {error}"))
}

/// Every command of every block of `sh`, `bash` and `console` on every page, in order. Of a console the lines behind `$ `
/// are commands, and what they go on with behind a backslash.
///
/// # Panics
///
/// If bash finds fault with a block.
pub fn commands() -> Vec<PageCommand> {
    all_blocks()
        .into_iter()
        .flat_map(|(page, line, script)| {
            let words = words_of(&script).unwrap_or_else(|said| panic!("{page}:{line}: {said}"));
            words.into_iter().map(move |words| PageCommand { page: page.clone(), line, words })
        })
        .collect()
}

/// Line and script of each block.
fn blocks(page: &str) -> Vec<(usize, String)> {
    let mut blocks = Vec::new();
    let mut open: Option<(usize, bool, String)> = None;
    let mut goes_on = false;
    for (index, line) in page.lines().enumerate() {
        let fence = line.trim_start().strip_prefix("```");
        match (&mut open, fence) {
            (None, Some(language @ ("sh" | "bash" | "console"))) => {
                open = Some((index + 1, language == "console", String::new()));
                goes_on = false;
            }
            (None, _) => {}
            (Some(_), Some(_)) => blocks.extend(open.take().map(|(line, _, text)| (line, text))),
            (Some((_, is_console, script)), None) => {
                let typed = line.strip_prefix("$ ");
                if !*is_console || typed.is_some() || goes_on {
                    script.push_str(typed.unwrap_or(line));
                    script.push('\n');
                    goes_on = line.ends_with('\\');
                }
            }
        }
    }
    blocks
}

/// The commands of a script, split by bash itself: nothing is found where it looks for programs, so it hands each command to
/// a function that writes the words down.
fn words_of(script: &str) -> Result<Vec<Vec<String>>, String> {
    let folder = scratch();
    let commands = words_in(script, &folder);
    // What bash made by redirections.
    let _ = std::fs::remove_dir_all(&folder);
    commands
}

/// A new folder.
pub(crate) fn scratch() -> PathBuf {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("book-{}-{count}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("the folder for temporary files is writable");
    folder
}

fn words_in(script: &str, folder: &Path) -> Result<Vec<Vec<String>>, String> {
    let failed = |error: std::io::Error| error.to_string();
    // A program is where the reader has built it; what stands in the repository is called by a name with a slash, which
    // bash hands to nobody unless there is a function of that name.
    let script = script.replace("target/release/", "");
    let functions: String = script
        .split_whitespace()
        .filter(|word| word.starts_with("scripts/"))
        .flat_map(|word| ["function ", word, " { record ", word, " \"$@\"; }\n"])
        .collect();
    for pair in script.split_whitespace().collect::<Vec<_>>().windows(2).filter(|p| p[0] == "<") {
        std::fs::write(folder.join(pair[1]), "").map_err(failed)?;
    }
    let words = folder.join("words");
    let prelude = format!(
        "PATH={0}\nHOME=/nowhere\nexec 3>{0}/words\n\
         record() {{ printf '%s\\0' \"$@\" $'\\n' >&3; }}\ncommand_not_found_handle() {{ record \"$@\"; }}\n{functions}",
        folder.display(),
    );
    let mut child = Command::new("bash")
        .args(["--norc", "--noprofile", "-s"])
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    // Read whole before it is run: a command that reads its input would eat the rest.
    let input = format!("{{\n{prelude}\n{script}\n}} </dev/null\n");
    child.stdin.take().expect("piped").write_all(input.as_bytes()).map_err(failed)?;
    let output = child.wait_with_output().map_err(failed)?;
    let message = String::from_utf8_lossy(&output.stderr);
    if !message.is_empty() {
        return Err(message.into_owned());
    }
    let recorded = std::fs::read_to_string(words).map_err(failed)?;
    let commands = recorded.split("\n\0").filter(|command| !command.is_empty());
    Ok(commands
        .map(|command| command.trim_end_matches('\0').split('\0').map(str::to_owned).collect())
        .collect())
}

/// A relative link of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The page that has it.
    pub page: String,
    /// Target as the page writes it.
    pub target: String,
    /// The file it leads to, relative to the root; the page itself for a bare `#anchor`.
    pub file: String,
    /// Anchor behind `#`, or empty.
    pub anchor: String,
}

/// Every relative link and image of a page, code left out.
pub fn links(page: &str) -> Vec<Link> {
    let prose = without_code(&read(page));
    let folder = Path::new(page).parent().unwrap_or(Path::new(""));
    let targets = prose.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets
        .filter(|target| !target.contains("://") && !target.starts_with("mailto:"))
        .map(|target| {
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            let file = if path.is_empty() { page.to_owned() } else { joined(folder, path) };
            Link {
                page: page.to_owned(),
                target: target.to_owned(),
                file,
                anchor: anchor.to_owned(),
            }
        })
        .collect()
}

/// `folder/path` with `..` resolved.
fn joined(folder: &Path, path: &str) -> String {
    let mut parts: Vec<String> =
        folder.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    for part in path.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." | "" => {}
            other => parts.push(other.to_owned()),
        }
    }
    parts.join("/")
}

/// The anchors of a page: its headings as GitHub makes links of them, and what it names by `<a id="…">`.
pub fn anchors(page: &str) -> Vec<String> {
    let text = read(page);
    let mut anchors: Vec<String> = text
        .split("<a id=\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next().map(str::to_owned))
        .collect();
    for line in without_blocks(&text).lines().filter(|line| line.starts_with('#')) {
        let heading = line.trim_start_matches('#').trim();
        let name: String = heading
            .to_lowercase()
            .chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
            .map(|c| if c == ' ' { '-' } else { c })
            .collect();
        let again = anchors.iter().filter(|one| **one == name).count();
        anchors.push(if again == 0 { name } else { format!("{name}-{again}") });
    }
    anchors
}

/// A page without its fenced blocks.
fn without_blocks(page: &str) -> String {
    let mut inside = false;
    let mut prose = String::new();
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            inside = !inside;
        } else if !inside {
            prose.push_str(line);
            prose.push('\n');
        }
    }
    prose
}

/// A page without fenced blocks and spans of code.
fn without_code(page: &str) -> String {
    without_blocks(page).split('`').step_by(2).collect()
}
