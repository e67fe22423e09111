//! The arguments of a program.

use clap::{Command, Parser};

/// Reads the arguments of this process, or ends it with what is wrong with them. A negative number is a value wherever
/// one is taken: out of range, it is the program that says so.
pub fn parse<P: Parser>() -> P {
    let mut matches = with_negative_numbers(P::command()).get_matches();
    P::from_arg_matches_mut(&mut matches)
        .unwrap_or_else(|error| error.format(&mut P::command()).exit())
}

fn with_negative_numbers(command: Command) -> Command {
    let taken = |argument: clap::Arg| {
        let takes_value = argument.get_action().takes_values();
        if takes_value { argument.allow_negative_numbers(true) } else { argument }
    };
    command.mut_args(taken).mut_subcommands(with_negative_numbers)
}

#[cfg(test)]
mod tests {
    use clap::{Arg, ArgAction, value_parser};

    use super::*;

    #[test]
    fn a_negative_number_is_a_value_of_every_subcommand_and_help_stays_help() {
        let inner = Command::new("generate").args([
            Arg::new("temperature").long("temperature").value_parser(value_parser!(f64)),
            Arg::new("fast").long("fast").action(ArgAction::SetTrue),
            Arg::new("file"),
        ]);
        let command = || with_negative_numbers(Command::new("program").subcommand(inner.clone()));
        let arguments = ["program", "generate", "--temperature", "-0.5", "--fast", "-2"];
        let matches = command().try_get_matches_from(arguments).expect("they are values");
        let matches = matches.subcommand_matches("generate").expect("it was called");
        assert_eq!(matches.get_one("temperature"), Some(&-0.5));
        assert_eq!(matches.get_one("file"), Some(&"-2".to_owned()));
        for arguments in [["program", "generate", "-x"], ["program", "generate", "--help"]] {
            assert!(command().try_get_matches_from(arguments).is_err(), "{arguments:?}");
        }
    }
}
