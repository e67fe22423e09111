//! What tests of several crates need: the commands of the pages, links between pages, and a real shell.

pub mod blocks;
pub mod book;
pub mod shell;
