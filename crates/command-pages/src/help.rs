//! Checks that `--help` describes every subcommand and argument.

use clap::{Arg, Command};

/// Lists faults of a program's help texts, for a test of the program; hidden subcommands and arguments are left out.
///
/// Faults: no text; a full stop at the end of an argument's text; no default in the text of an option that may be left out.
pub fn help_faults(mut command: Command) -> Vec<String> {
    command.build();
    let mut faults = Vec::new();
    let mut open = vec![command];
    while let Some(command) = open.pop() {
        if command.is_hide_set() || command.get_name() == "help" {
            continue;
        }
        let name = command.get_bin_name().unwrap_or(command.get_name()).to_owned();
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
        let told = Command::new("serve").about("Serve").args([
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
            "program train: no word about it",
        ];
        assert_eq!(faults, expected);
    }
}
