//! Whether `--help` says of everything what it is.

use clap::Command;

/// Subcommands and arguments, hidden ones left out, that say nothing of themselves, or end in a full stop as no other does.
/// For a test of the program.
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
            }
        }
        open.extend(command.get_subcommands().cloned());
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_help_is_named() {
        let bare = Command::new("train").arg(clap::arg!(--resume <WHEN>));
        let told = Command::new("serve").about("Serve").arg(clap::arg!(--rows <N> "At once."));
        let hidden = Command::new("secret").hide(true);
        let program = Command::new("program").about("Trains").subcommands([bare, told, hidden]);
        let mut faults = help_faults(program);
        faults.sort();
        let expected = [
            "program serve rows: \"At once.\"",
            "program train resume: \"\"",
            "program train: no word about it",
        ];
        assert_eq!(faults, expected);
    }
}
