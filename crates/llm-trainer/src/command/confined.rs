//! `confined`: the command that `train` starts to run a program of a response, where the smaller helper is not installed beside it.

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Permissions of the program, in JSON
    confinement: String,
}

/// Restricts this process and becomes the program. A process that cannot ends.
pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    #[cfg(target_os = "linux")]
    std::process::exit(code_sandbox::confine::confine(&args.confinement).into());
    #[cfg(not(target_os = "linux"))]
    anyhow::bail!("programs of responses are run on Linux only, found {:?}", args.confinement.len())
}
