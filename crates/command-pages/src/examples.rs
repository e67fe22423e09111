//! Examples of the subcommands that all programs share.

/// Examples of `completions` for the help of the program of this name.
#[macro_export]
macro_rules! completions_examples {
    ($program:literal) => {
        concat!(
            "Examples:\n  # Write the script for bash; `source` reads it\n  ",
            $program,
            " completions bash > ",
            $program,
            ".bash\n  # Write the script for zsh, into a folder of $fpath\n  ",
            $program,
            " completions zsh > _",
            $program
        )
    };
}

/// Examples of `man` for the help of the program of this name, with one of its subcommands.
#[macro_export]
macro_rules! man_examples {
    ($program:literal, $subcommand:literal) => {
        concat!(
            "Examples:\n  # Write the page of a subcommand; `man -l FILE` shows it\n  ",
            $program,
            " man ",
            $subcommand,
            " > ",
            $program,
            "-",
            $subcommand,
            ".1\n  # Write all pages into a folder\n  ",
            $program,
            " man --dir man1"
        )
    };
}
