//! Behaviour of the trainer as a whole, in one binary: each that links libtorch is large and slow to start.

mod adapter;
mod broken_checkpoint;
mod cli;
mod control;
mod dynamic_sampling;
mod fixture;
mod generation;
mod head;
mod hostile;
mod interruption;
mod launch;
mod loading;
mod long_runs;
mod moments;
mod observability;
mod parity;
mod peak_memory;
mod plain_losses;
mod ranks;
mod recomputation;
mod replay;
mod resume;
mod reward_model;
mod sampled_runs;
mod training_run;
mod update;
