//! Examples of the subcommands that all programs share.

/// Examples of `completions` for the help of the program of this name.
pub fn completions_examples(program: &str) -> String {
    format!(
        "\
Examples:
  # Write the script for bash; `source` reads it
  {program} completions bash > {program}.bash
  # Write the script for zsh, into a folder of $fpath
  {program} completions zsh > _{program}"
    )
}

/// Examples of `man` for the help of the program of this name, with one of its subcommands.
pub fn man_examples(program: &str, subcommand: &str) -> String {
    format!(
        "\
Examples:
  # Write the page of a subcommand; `man -l FILE` shows it
  {program} man {subcommand} > {program}-{subcommand}.1
  # Write all pages into a folder
  {program} man --dir man1"
    )
}
