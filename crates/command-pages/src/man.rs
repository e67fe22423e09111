//! `man [SUBCOMMAND…] [--dir DIR]`.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Command};
use clap_mangen::Man;

/// Arguments of `man`.
#[derive(Debug, Clone, Args)]
pub struct ManArgs {
    /// Subcommand whose page to print, such as `train`; without one, the page of the program
    #[arg(value_name = "SUBCOMMAND", conflicts_with = "dir")]
    subcommand: Vec<String>,
    /// Write the pages of the program and of every subcommand to this folder, as PROGRAM-SUBCOMMAND.1
    /// [default: none, one page is printed]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

impl ManArgs {
    /// Writes one page in roff to `out`, which `man -l -` shows; or all pages to a folder, whose path goes to `out`.
    ///
    /// # Errors
    ///
    /// If there is no such subcommand, or something cannot be written.
    pub fn write(&self, mut command: Command, out: &mut impl Write) -> io::Result<()> {
        if let Some(folder) = &self.dir {
            std::fs::create_dir_all(folder)?;
            command.build();
            write_all(&command, folder)?;
            return writeln!(out, "pages: {}", folder.display());
        }
        command.build();
        let mut page = command;
        for name in &self.subcommand {
            let unknown = || {
                let known: Vec<&str> = visible(&page).map(Command::get_name).collect();
                let text = format!("no subcommand {name:?}, expected one of {}", known.join(", "));
                io::Error::new(io::ErrorKind::InvalidInput, text)
            };
            let named = visible(&page).find(|one| one.get_name() == name).cloned();
            page = named.ok_or_else(unknown)?;
        }
        out.write_all(roff(&page)?.as_bytes())
    }
}

/// Writes the pages of a command and of all its subcommands.
fn write_all(command: &Command, folder: &Path) -> io::Result<()> {
    std::fs::write(folder.join(format!("{}.1", title(command))), roff(command)?)?;
    let mut subcommands = visible(command).filter(|one| one.get_name() != "help");
    subcommands.try_for_each(|one| write_all(one, folder))
}

fn title(command: &Command) -> String {
    command.get_display_name().unwrap_or(command.get_name()).to_owned()
}

/// The page of a command that was built, in ASCII: any `man` shows it in any locale.
fn roff(command: &Command) -> io::Result<String> {
    let mut text = Vec::new();
    Man::new(command.clone()).title(title(command)).render(&mut text)?;
    let ascii = |c: char| {
        if c.is_ascii() { c.to_string() } else { format!("\\[u{:04X}]", u32::from(c)) }
    };
    Ok(String::from_utf8_lossy(&text).chars().map(ascii).collect())
}

fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|one| !one.is_hide_set())
}

#[cfg(test)]
mod tests {
    use workspace_tests::shell::rendered;

    use super::*;

    fn command() -> Command {
        let compare = Command::new("compare").about("Two of them, side by side");
        let train = Command::new("train")
            .about("Train a model")
            .arg(clap::arg!(--deadline <WHEN> "Save … and end before this moment"))
            .subcommand(compare);
        let hidden = Command::new("secret").hide(true);
        Command::new("program").about("Trains models").subcommands([train, hidden])
    }

    fn page(names: &[&str]) -> io::Result<String> {
        let subcommand = names.iter().map(|name| (*name).to_owned()).collect();
        let mut out = Vec::new();
        ManArgs { subcommand, dir: None }.write(command(), &mut out)?;
        Ok(String::from_utf8(out).expect("roff is text"))
    }

    #[test]
    fn the_page_of_a_subcommand_has_its_name_and_options() {
        let page = page(&["train"]).unwrap();
        assert!(page.contains(".TH program-train 1"), "{page}");
        let Some(text) = rendered(&page) else { return };
        for expected in
            ["program-train", "Train a model", "--deadline", "Save … and end before this moment"]
        {
            assert!(text.contains(expected), "{expected} in {text}");
        }
        assert!(self::page(&[]).unwrap().contains("program\\-train"), "the program's names it");
    }

    #[test]
    fn an_unknown_subcommand_names_those_there_are_and_hidden_ones_are_none() {
        for name in ["secret", "trian"] {
            let error = page(&[name]).unwrap_err().to_string();
            assert!(error.starts_with(&format!("no subcommand {name:?}, expected one of train")));
        }
    }

    #[test]
    fn a_folder_gets_a_page_for_every_subcommand() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("man1");
        ManArgs { subcommand: Vec::new(), dir: Some(dir.clone()) }
            .write(command(), &mut Vec::new())
            .unwrap();
        let entries = std::fs::read_dir(dir).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["program-train-compare.1", "program-train.1", "program.1"]);
    }
}
