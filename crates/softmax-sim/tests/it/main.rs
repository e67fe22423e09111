//! Commands and experiments of the simulator, through the program and the public interface.

mod book;
mod cart_pole;
mod cli;
mod closed_pipe;
mod controls;
mod engine;
mod entropy_change;
mod example;
mod expected_training;
mod fit_law;
mod fuzz;
mod micro_batch;
mod perceptron;
mod report;
mod reproduce;
mod result_file;
mod sequence_training;
mod sweep;
mod train;
mod training;
mod verify;
mod wrong_formulas;
