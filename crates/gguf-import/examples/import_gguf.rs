//! `cargo run --release -p gguf-import --example import_gguf -- FILE.gguf DIR [bf16|f16|f32]`

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use gguf_import::{ImportOptions, TensorDtype, import};

fn main() -> ExitCode {
    let arguments = std::env::args().skip(1).collect::<Vec<_>>();
    let (file, directory, dtype) = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..]
    {
        [file, directory] | [file, directory, "bf16"] => (file, directory, TensorDtype::Bf16),
        [file, directory, "f16"] => (file, directory, TensorDtype::F16),
        [file, directory, "f32"] => (file, directory, TensorDtype::F32),
        _ => {
            eprintln!("usage: import_gguf FILE.gguf DIR [bf16|f16|f32]");
            return ExitCode::from(2);
        }
    };
    let options = ImportOptions { dtype, ..ImportOptions::default() };
    let imported = import(Path::new(file), Path::new(directory), &options, &mut |progress| {
        eprint!("\r{} of {} MB", progress.written_bytes >> 20, progress.total_bytes >> 20);
    });
    eprintln!();
    let outcome = match imported {
        Ok(summary) => {
            writeln!(std::io::stdout(), "{summary:?}").map_err(|error| error.to_string())
        }
        Err(error) => Err(error.to_string()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}
