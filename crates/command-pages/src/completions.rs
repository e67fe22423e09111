//! `completions SHELL`.

use std::io::{self, Write};

use clap::{Args, Command};
use clap_complete::Shell;

/// Arguments of `completions`.
#[derive(Debug, Clone, Copy, Args)]
pub struct CompletionsArgs {
    /// Shell of the script; bash reads it with `source <(PROGRAM completions bash)`
    shell: Shell,
}

impl CompletionsArgs {
    /// Writes the script that makes the shell complete subcommands, options and their values.
    ///
    /// # Errors
    ///
    /// If `out` cannot be written.
    pub fn write(self, command: &Command, out: &mut impl Write) -> io::Result<()> {
        let mut command = visible_part(command);
        let name = command.get_name().to_owned();
        // The generator panics where it cannot write: memory always can be.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, name, &mut script);
        out.write_all(&script)
    }
}

/// A command of the same names, options and values, without hidden subcommands, which the generators would offer.
fn visible_part(command: &Command) -> Command {
    let visible = command.get_subcommands().filter(|one| !one.is_hide_set()).map(visible_part);
    let about = command.get_about().cloned().unwrap_or_default();
    let part = Command::new(command.get_name().to_owned())
        .about(about)
        .args(command.get_arguments().cloned())
        .subcommands(visible);
    match command.get_version() {
        Some(version) => part.version(version.to_owned()),
        None => part,
    }
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    #[test]
    fn every_shell_has_a_script_that_names_the_subcommands() {
        let subcommands = ["train", "serve"].map(Command::new);
        let command = Command::new("the-program").version("1").subcommands(subcommands);
        for shell in Shell::value_variants() {
            let mut script = Vec::new();
            CompletionsArgs { shell: *shell }.write(&command, &mut script).unwrap();
            let script = String::from_utf8(script).unwrap();
            assert!(script.contains("train") && script.contains("serve"), "{shell}");
        }
    }
}
