//! Verdicts against recorded cases, properties and hostile answers, through the public interface and the program.

mod bombs;
mod book;
mod command_line;
mod denials;
mod echo;
mod expressions;
mod fuzz;
mod graders;
mod limits;
mod lists;
mod mathcases;
mod matrices;
mod perturbed;
mod properties;
mod real_outputs;
mod recipe;
mod undecided;
