//! Checks that `--help` describes every subcommand and argument.

use clap::{Arg, Command};

/// First line of the last section of a help text.
const HEADING: &str = "Examples:\n";

/// Lists faults of a program's help texts, for a test of the program; hidden subcommands and arguments are left out.
///
/// Faults: no text; a full stop at the end of an argument's text; no default in the text of an option that may be left
/// out; a subcommand whose help does not end with examples, each below a comment.
pub fn help_faults(mut command: Command) -> Vec<String> {
    command.build();
    let mut faults = Vec::new();
    let program = command.get_name().to_owned();
    let mut open = vec![command];
    while let Some(command) = open.pop() {
        if command.is_hide_set() || command.get_name() == "help" {
            continue;
        }
        let name = name_of(&command);
        if name != program && !examples_of(&command).is_some_and(|text| is_commented(&text)) {
            faults.push(format!("{name}: no commented examples at the end"));
        }
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        if about.is_empty() {
            faults.push(format!("{name}: no word about it"));
        }
        for argument in command.get_arguments().filter(|argument| !argument.is_hide_set()) {
            let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
            if help.is_empty() || help.ends_with('.') {
                faults.push(format!("{name} {}: {help:?}", argument.get_id()));
            } else if may_be_left_out(&command, argument) && !says_its_default(argument, &help) {
                faults.push(format!("{name} {}: no default in {help:?}", argument.get_id()));
            }
        }
        open.extend(command.get_subcommands().cloned());
    }
    faults
}

/// Lists the visible subcommands of a program, each with its examples as a script for bash; empty without examples.
pub fn examples(mut command: Command) -> Vec<(String, String)> {
    command.build();
    let mut scripts = Vec::new();
    let mut open: Vec<Command> = command.get_subcommands().cloned().collect();
    while let Some(command) = open.pop() {
        if command.is_hide_set() || command.get_name() == "help" {
            continue;
        }
        scripts.push((name_of(&command), examples_of(&command).unwrap_or_default()));
        open.extend(command.get_subcommands().cloned());
    }
    scripts
}

/// The name of a command behind those of its parents, as in `llm-trainer eval compare`.
fn name_of(command: &Command) -> String {
    command.get_bin_name().unwrap_or(command.get_name()).to_owned()
}

/// The lines of the section "Examples" at the end of `--help`.
fn examples_of(command: &Command) -> Option<String> {
    let text = command.get_after_long_help().or(command.get_after_help())?.to_string();
    let start =
        text.rfind(HEADING).filter(|&start| start == 0 || text[..start].ends_with("\n\n"))?;
    Some(text[start + HEADING.len()..].to_owned())
}

/// True if the lines of a script are comments and commands in turn, indented by two.
fn is_commented(script: &str) -> bool {
    let lines: Vec<&str> = script.lines().collect();
    let is_pair = |pair: &[&str]| match pair {
        [comment, example] => {
            let example = example.strip_prefix("  ");
            comment.starts_with("  # ") && example.is_some_and(|text| !text.starts_with([' ', '#']))
        }
        _ => false,
    };
    !lines.is_empty() && lines.chunks(2).all(is_pair)
}

/// Returns true for an option with a value that is neither required nor in a required group.
fn may_be_left_out(command: &Command, option: &Arg) -> bool {
    let one_of = command
        .get_groups()
        .any(|group| group.is_required_set() && group.get_args().any(|id| id == option.get_id()));
    let takes_value = option.get_action().takes_values() && !option.is_positional();
    takes_value && !option.is_required_set() && !one_of
}

fn says_its_default(option: &Arg, help: &str) -> bool {
    let shown = !option.get_default_values().is_empty() && !option.is_hide_default_value_set();
    shown || help.contains("[default: ") || help.ends_with("may be repeated")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_help_is_named() {
        let bare = Command::new("train").arg(clap::arg!(--resume <WHEN>));
        let examples = "Ports.\n\nExamples:\n  # Serve\n  program serve --model m";
        let told = Command::new("serve").about("Serve").after_help(examples).args([
            clap::arg!(--rows <N> "At once."),
            clap::arg!(--queue <N> "Requests that wait"),
            clap::arg!(--port <PORT> "Port").default_value("8000"),
            clap::arg!(--name <NAME> "Name of the model [default: its folder's]"),
            clap::arg!(--model <DIR> "Model").required(true),
        ]);
        let hidden = Command::new("secret").hide(true);
        let program = Command::new("program").about("Trains").subcommands([bare, told, hidden]);
        let mut faults = help_faults(program);
        faults.sort();
        let expected = [
            "program serve queue: no default in \"Requests that wait\"",
            "program serve rows: \"At once.\"",
            "program train resume: \"\"",
            "program train: no commented examples at the end",
            "program train: no word about it",
        ];
        assert_eq!(faults, expected);
    }

    #[test]
    fn examples_end_the_help_and_each_has_a_comment() {
        let script = |text: &str| {
            let serve = Command::new("serve").after_help(text.to_owned());
            examples(Command::new("program").subcommand(serve)).remove(0)
        };
        let serve = "program serve".to_owned();
        let text = "Examples:\n  # Serve\n  program serve --port 1";
        let lines = "  # Serve\n  program serve --port 1".to_owned();
        assert_eq!(script(text), (serve.clone(), lines.clone()));
        assert_eq!(script("No section."), (serve, String::new()));
        assert!(is_commented(&lines));
        for fault in
            ["", "  program serve", "  # Serve", "  # Serve\nprogram serve", "  # A\n  # B"]
        {
            assert!(!is_commented(fault), "{fault:?}");
        }
    }
}
