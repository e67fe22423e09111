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
