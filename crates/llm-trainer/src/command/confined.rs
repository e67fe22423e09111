//! `confined`: the command that `train` starts to run a program of a response, where the smaller helper is not installed beside it.

/// Arguments of `confined`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Permissions of the program, in JSON
    confinement: String,
}

/// Restricts this process and becomes the program.
///
/// # Errors
///
/// If the program could not be started; the process then has its restrictions and ends.
pub fn run(args: &Args) -> anyhow::Result<()> {
    #[cfg(target_os = "linux")]
    {
        let _refused = code_sandbox::confine::confine(&args.confinement);
        std::process::exit(i32::from(code_sandbox::confine::REFUSED));
    }
    #[cfg(not(target_os = "linux"))]
    anyhow::bail!("programs of responses are run on Linux only, found {:?}", args.confinement.len())
}
