//! A freed block is reused with its pages: writing to it again causes no page faults. The test needs the main thread, which a
//! test harness does not give.

#![expect(clippy::print_stdout, reason = "the figure is read by people")]

use std::process::ExitCode;

const BYTES: usize = 96 << 20;
const PAGE: usize = 4096;

fn main() -> ExitCode {
    if !torch_ext::keep_freed_memory() {
        println!("this C library cannot be told to keep freed memory: nothing to test");
        return ExitCode::SUCCESS;
    }
    touch();
    let before = faults();
    touch();
    let after = faults();
    println!("{} page faults for {} pages used again", after - before, BYTES / PAGE);
    assert!(after - before < 100, "the block was mapped anew");
    ExitCode::SUCCESS
}

fn touch() {
    let mut block = vec![0_u8; BYTES];
    block.iter_mut().step_by(PAGE).for_each(|byte| *byte = 1);
    std::hint::black_box(&block);
}

/// Minor page faults of this process so far.
fn faults() -> u64 {
    let text = std::fs::read_to_string("/proc/self/stat").expect("Linux tells of a process");
    let fields = text.rsplit(')').next().expect("the name of the process ends in a bracket");
    let minor = fields.split_whitespace().nth(7).expect("the tenth field");
    minor.parse().expect("a count")
}
