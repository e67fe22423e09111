//! Helpers for tests of several crates: the commands of the pages, links between pages, a real shell, processes; the page of benchmarks.

pub mod benchmarks;
pub mod blocks;
pub mod book;
pub mod files;
pub mod fuzz;
pub mod processes;
pub mod shell;
