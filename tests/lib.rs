//! Helpers for tests of several crates: the commands of the pages, help texts, links between pages, a real shell, processes; the page of benchmarks.

pub mod benchmarks;
pub mod blocks;
pub mod book;
pub mod files;
pub mod fuzz;
pub mod help;
pub mod processes;
pub mod shell;
