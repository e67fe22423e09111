//! Modules of a crate, read off its files: what each declares, imports and names.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// Words before the name of an item.
pub(crate) const ITEMS: [&str; 9] =
    ["fn", "struct", "enum", "trait", "type", "const", "static", "union", "macro_rules"];

/// The modules that a root file declares, directly or through others; the root comes first.
#[derive(Default)]
pub(crate) struct Crate {
    pub(crate) modules: Vec<Module>,
}

/// A module, in a file of its own or inside another's.
pub(crate) struct Module {
    pub(crate) file: PathBuf,
    pub(super) parent: Option<usize>,
    pub(super) children: BTreeMap<String, usize>,
    pub(crate) imports: Vec<Import>,
    /// Names of the items that it defines.
    pub(super) items: BTreeSet<String>,
    /// Paths and single names in its code: `["super", "Node"]`.
    pub(super) paths: BTreeSet<Vec<String>>,
    /// Tokens of its code and attributes; imports are left out.
    pub(crate) code: Vec<String>,
    /// True if it is compiled for tests alone.
    pub(crate) is_test: bool,
}

/// One name that a `use` brings in; `*` brings in all.
pub(crate) struct Import {
    pub(crate) path: Vec<String>,
    pub(crate) name: String,
    pub(super) is_public: bool,
}

impl Module {
    fn keep(&mut self, tokens: &[&str]) {
        self.code.extend(tokens.iter().map(|&token| token.to_owned()));
    }
}

impl Crate {
    pub(crate) fn read(root: &Path) -> Self {
        let mut tree = Self::default();
        let folder = root.parent().expect("a file stands in a folder");
        tree.read_file(root.to_owned(), folder, None, false);
        tree
    }

    /// Reads a module's file, whose children stand in `folder`.
    fn read_file(
        &mut self,
        file: PathBuf,
        folder: &Path,
        parent: Option<usize>,
        is_test: bool,
    ) -> usize {
        let text = fs::read_to_string(&file).expect("a readable source");
        let module = self.add(file, parent, is_test);
        self.read_items(&mut Tokens { tokens: tokens(&text), at: 0 }, module, folder);
        module
    }

    fn add(&mut self, file: PathBuf, parent: Option<usize>, is_test: bool) -> usize {
        self.modules.push(Module {
            file,
            parent,
            children: BTreeMap::new(),
            imports: Vec::new(),
            items: BTreeSet::new(),
            paths: BTreeSet::new(),
            code: Vec::new(),
            is_test,
        });
        self.modules.len() - 1
    }

    /// Reads items up to the brace that closes the module, or to the end.
    fn read_items(&mut self, tokens: &mut Tokens, module: usize, folder: &Path) {
        let (mut depth, mut is_public) = (0_usize, false);
        while let Some(token) = tokens.next() {
            let start = tokens.at - 1;
            match token {
                "#" => {
                    let is_inner = tokens.eat("!");
                    let attribute = tokens.group();
                    let has = |word: &str| attribute.contains(&word);
                    if has("cfg") && has("test") && !has("not") && !is_inner {
                        self.skip_item(tokens, module, folder);
                    } else {
                        self.modules[module].keep(&attribute);
                    }
                    continue;
                }
                "pub" => {
                    if tokens.peek() == "(" {
                        tokens.group();
                    }
                    is_public = true;
                    continue;
                }
                "use" => {
                    let imports = tokens.use_tree(&[]).into_iter();
                    self.modules[module].imports.extend(imports.map(|(path, name)| Import {
                        path,
                        name,
                        is_public,
                    }));
                }
                "mod" if is_word(tokens.peek()) => {
                    let name = tokens.next().unwrap_or_default().to_owned();
                    let is_test = self.modules[module].is_test;
                    if tokens.eat(";") {
                        self.read_child(module, &name, folder, is_test);
                    } else if tokens.eat("{") {
                        let file = self.modules[module].file.clone();
                        let child = self.add(file, Some(module), is_test);
                        self.modules[module].children.insert(name.clone(), child);
                        self.read_items(tokens, child, &folder.join(name));
                    }
                }
                "{" => depth += 1,
                "}" if depth == 0 => return,
                "}" => depth -= 1,
                word if is_word(word) => {
                    if ITEMS.contains(&word) && depth == 0 {
                        tokens.eat("!");
                        self.modules[module].items.insert(tokens.peek().to_owned());
                    }
                    self.modules[module].paths.extend(tokens.path_from(word));
                }
                _ => {}
            }
            if !matches!(token, "use" | "mod") {
                self.modules[module].keep(&tokens.tokens[start..tokens.at]);
            }
            is_public = false;
        }
    }

    fn read_child(&mut self, module: usize, name: &str, folder: &Path, is_test: bool) {
        let inside = folder.join(name);
        let files = [folder.join(format!("{name}.rs")), inside.join("mod.rs")];
        let Some(file) = files.into_iter().find(|file| file.is_file()) else {
            // Unit tests may take a file of the integration tests by its path.
            assert!(is_test, "no file of module {name} in {}", folder.display());
            return;
        };
        let child = self.read_file(file, &inside, Some(module), is_test);
        self.modules[module].children.insert(name.to_owned(), child);
    }

    /// Passes over an item of the tests; its file is read as one.
    fn skip_item(&mut self, tokens: &mut Tokens, module: usize, folder: &Path) {
        while tokens.eat("#") {
            tokens.group();
        }
        if tokens.eat("pub") && tokens.peek() == "(" {
            tokens.group();
        }
        let is_module = tokens.eat("mod");
        if is_module {
            let name = tokens.next().unwrap_or_default().to_owned();
            if tokens.eat(";") {
                return self.read_child(module, &name, folder, true);
            }
        }
        let others = ["use", "impl", "async", "unsafe", "extern", "let"];
        let is_item =
            is_module || others.contains(&tokens.peek()) || ITEMS.contains(&tokens.peek());
        loop {
            let ends = match tokens.peek() {
                "}" => return,
                bracket @ ("(" | "[" | "{") => {
                    tokens.group();
                    bracket == "{"
                }
                token => {
                    tokens.next();
                    // A comma ends a field or an arm.
                    matches!(token, ";" | "") || token == "," && !is_item
                }
            };
            if ends {
                return;
            }
        }
    }
}

struct Tokens<'a> {
    tokens: Vec<&'a str>,
    at: usize,
}

impl<'a> Tokens<'a> {
    /// The next token, not taken; empty at the end.
    fn peek(&self) -> &'a str {
        self.tokens.get(self.at).copied().unwrap_or_default()
    }

    fn next(&mut self) -> Option<&'a str> {
        self.at += 1;
        self.tokens.get(self.at - 1).copied()
    }

    fn eat(&mut self, token: &str) -> bool {
        let is_next = self.peek() == token;
        self.at += usize::from(is_next);
        is_next
    }

    /// Takes a bracket with all that stands inside.
    fn group(&mut self) -> Vec<&'a str> {
        let (start, mut depth) = (self.at, 0_usize);
        while let Some(token) = self.next() {
            match token {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
        self.tokens[start..self.at.min(self.tokens.len())].to_vec()
    }

    /// The paths of a `use` behind `before`, each with the name that it gets.
    fn use_tree(&mut self, before: &[String]) -> Vec<(Vec<String>, String)> {
        let mut path = before.to_vec();
        loop {
            match self.next() {
                Some("{") => {
                    let mut imports = Vec::new();
                    while !self.eat("}") {
                        imports.extend(self.use_tree(&path));
                        self.eat(",");
                    }
                    return imports;
                }
                Some("*") => return vec![(path, "*".to_owned())],
                Some("self") if !path.is_empty() => {}
                Some(word) => path.push(word.to_owned()),
                None => return Vec::new(),
            }
            if !self.eat("::") {
                let last = path.last().cloned().unwrap_or_default();
                let name = if self.eat("as") { self.next().map(str::to_owned) } else { None };
                return vec![(path, name.unwrap_or(last))];
            }
        }
    }

    /// The path that begins with a word just taken, or the word alone where it may be the name of an item.
    fn path_from(&mut self, word: &str) -> Option<Vec<String>> {
        let before = self.at.checked_sub(2).and_then(|at| self.tokens.get(at).copied());
        let mut path = vec![word.to_owned()];
        while self.peek() == "::" && self.tokens.get(self.at + 1).is_some_and(|next| is_word(next))
        {
            self.at += 1;
            path.extend(self.next().map(str::to_owned));
        }
        let is_named = word.starts_with(char::is_uppercase) || matches!(self.peek(), "(" | "!");
        let is_free = !before.is_some_and(|before| matches!(before, "::" | "." | "fn"));
        (is_free && (path.len() > 1 || is_named)).then_some(path)
    }
}

fn is_word(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Words, `::` and single characters; without comments, literals and lifetimes.
pub(crate) fn tokens(text: &str) -> Vec<&str> {
    let (mut tokens, mut rest) = (Vec::new(), text.trim_start());
    while let Some(first) = rest.chars().next() {
        let passed = passed_over(rest);
        let in_word = |c: char| c.is_alphanumeric() || c == '_';
        let length = if passed > 0 {
            passed
        } else if first.is_numeric() {
            number(rest)
        } else if in_word(first) {
            rest.find(|c| !in_word(c)).unwrap_or(rest.len())
        } else if rest.starts_with("::") {
            2
        } else {
            first.len_utf8()
        };
        if passed == 0 && !first.is_numeric() {
            tokens.push(&rest[..length]);
        }
        rest = rest[length..].trim_start();
    }
    tokens
}

/// Bytes of the number that stands first, a fraction included.
fn number(rest: &str) -> usize {
    let mut characters = rest.char_indices().peekable();
    while let Some((start, c)) = characters.next() {
        let is_point = c == '.' && characters.peek().is_some_and(|(_, next)| next.is_numeric());
        if !(c.is_alphanumeric() || c == '_' || is_point) {
            return start;
        }
    }
    rest.len()
}

/// Bytes of the comment, text, character or lifetime that stands first; 0 if none does.
fn passed_over(rest: &str) -> usize {
    let until = |from: usize, end: &str| {
        rest[from..].find(end).map_or(rest.len(), |length| from + length + end.len())
    };
    if rest.starts_with("//") {
        return until(0, "\n");
    }
    if rest.starts_with("/*") {
        let (mut offset, mut depth) = (2, 1);
        while depth > 0 && offset < rest.len() {
            let (open, close) = (rest[offset..].find("/*"), rest[offset..].find("*/"));
            let Some(close) = close else { return rest.len() };
            let opens = open.is_some_and(|open| open < close);
            offset += 2 + if opens { open.unwrap_or_default() } else { close };
            depth = if opens { depth + 1 } else { depth - 1 };
        }
        return offset;
    }
    for prefix in ["r", "br", "cr"] {
        if let Some(after) = rest.strip_prefix(prefix) {
            let hashes = after.len() - after.trim_start_matches('#').len();
            if after[hashes..].starts_with('"') {
                return until(prefix.len() + hashes + 1, &format!("\"{}", &after[..hashes]));
            }
        }
    }
    for prefix in ["\"", "b\"", "c\""] {
        if let Some(after) = rest.strip_prefix(prefix) {
            let mut escaped = false;
            let end = after.find(|c: char| {
                let ends = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                ends
            });
            return end.map_or(rest.len(), |length| prefix.len() + length + 1);
        }
    }
    let Some(after) = rest.strip_prefix('\'') else { return 0 };
    let mut characters = after.chars();
    match (characters.next(), characters.next()) {
        (Some('\\'), Some(escaped)) => until(2 + escaped.len_utf8(), "'"),
        (Some(only), Some('\'')) => 2 + only.len_utf8(),
        // A lifetime.
        _ => 1 + after.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(after.len()),
    }
}
