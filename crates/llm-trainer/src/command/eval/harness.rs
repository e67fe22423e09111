//! `eval lm-eval` and `eval lighteval`: tasks of these harnesses, by their names, asked of a model that this process serves.

use std::ffi::OsString;
use std::io::Write;
use std::net::SocketAddr;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::{scope, sleep};
use std::time::Duration;

use anyhow::{Context, bail};
use tokio::sync::oneshot;

use super::subject::Subject;
use crate::child_group::end_within;
use crate::command::model_options::{ModelOptions, Placement, count_up_to};
use crate::command::serve::load;
use crate::evaluation::fingerprint;
use crate::interruption::Signals;
use crate::launch::{Ended, ProgramFailed};
use crate::serve::{FREE_PORT, Settings, open};

/// Longest wait of lm-eval for one answer, in seconds; its default of 300 ends long responses on a slow device.
const TIMEOUT_SECONDS: u64 = 86_400;

#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("lm_eval.txt").trim_ascii_end())]
pub(super) struct LmEvalArgs {
    #[command(flatten)]
    common: Args,
    /// Ask by the model's chat template [default: by completions]
    #[arg(long)]
    chat: bool,
}

/// Arguments for every harness.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Hugging Face directory, checkpoint, folder of a run (its latest checkpoint), or name of the hub
    #[arg(value_name = "MODEL_OR_RUN")]
    model: PathBuf,
    /// Tasks whose answers are texts, by the harness's names, such as gsm8k,ifeval
    #[arg(long, value_name = "TASK,...")]
    tasks: String,
    /// Checkpoint of a run after this step [default: the latest]
    #[arg(long, value_name = "STEP")]
    step: Option<u64>,
    /// Folder of the harness's results [default: such as evaluations/step-N-lm-eval of the run, or
    /// evaluations/MODEL-lm-eval]
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    #[command(flatten)]
    placement: Placement,
    /// Number of responses that decode together
    #[arg(long, default_value_t = 16, value_name = "N", value_parser = count_up_to::<65_536>)]
    rows: usize,
    /// Maximum length of prompt and response together, in tokens [default: 4096, or the model's positions if fewer]
    #[arg(long, value_name = "TOKENS")]
    context: Option<usize>,
    /// Decode with libtorch's matrix products on the CPU; they are slower with few rows
    #[arg(long)]
    no_cpu_kernels: bool,
    /// Further arguments of the harness, after `--`
    #[arg(last = true, value_name = "ARGUMENT")]
    more: Vec<OsString>,
}

/// Asks tasks of lm-eval, and ends when it has.
pub(super) fn lm_eval(args: &LmEvalArgs, out: &mut impl Write) -> anyhow::Result<()> {
    let common = &args.common;
    run(common, "lm-eval", "lm-eval[api]", out, |name, address, tokens, output| {
        let (kind, path) = if args.chat {
            ("local-chat-completions", "chat/completions")
        } else {
            ("local-completions", "completions")
        };
        let rows = common.rows;
        let model = format!(
            "model={name},base_url=http://{address}/v1/{path},tokenizer_backend=None,tokenized_requests=False,\
             num_concurrent={rows},max_length={tokens},timeout={TIMEOUT_SECONDS}"
        );
        let mut command = Command::new("lm-eval");
        command.args(["run", "--model", kind, "--model_args", &model, "--tasks", &common.tasks]);
        command.arg("--output_path").arg(output);
        command.args(args.chat.then_some("--apply_chat_template"));
        command
    })
}

/// Asks tasks of lighteval by the model's chat template, and ends when it has.
pub(super) fn lighteval(args: &Args, out: &mut impl Write) -> anyhow::Result<()> {
    run(args, "lighteval", "lighteval[litellm]", out, |name, address, tokens, output| {
        let rows = args.rows;
        let model = format!(
            "model_name=openai/{name},base_url=http://{address}/v1,api_key=none,max_model_length={tokens},\
             concurrent_requests={rows}"
        );
        let mut command = Command::new("lighteval");
        command.args(["endpoint", "litellm", &model, &args.tasks, "--output-dir"]).arg(output);
        command
    })
}

/// Serves the model to the program of `package` that `command` starts for a folder of results. It gets the model's name, its address
/// and the most tokens of a prompt and its response.
fn run(
    args: &Args,
    program: &str,
    package: &str,
    out: &mut impl Write,
    command: impl FnOnce(&str, SocketAddr, usize, &Path) -> Command,
) -> anyhow::Result<()> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    if !std::env::split_paths(&path).any(|folder| folder.join(program).is_file()) {
        bail!("{program}: not in PATH, expected that of `pip install \"{package}\"`");
    }
    let subject = Subject::find(&args.model, args.step)?;
    let output = args.output.clone().unwrap_or_else(|| {
        let mut name = subject.output.clone().into_os_string();
        name.push(format!("-{program}"));
        name.into()
    });
    // A harness may keep answers by the model's name: other weights need another one.
    let name = format!("{}-{}", plain(&subject.name), &fingerprint(&subject.directory)?[..8]);
    let options = ModelOptions { model: subject.directory, placement: args.placement.clone() };
    let (decoder, reader) =
        load(&options, name.clone(), args.context, args.rows, !args.no_cpu_kernels)?;
    let tokens = reader.capacity.tokens;
    let (end, ended) = oneshot::channel::<()>();
    let ended = async {
        let _dropped = ended.await;
        Ok(())
    };
    let port = open(FREE_PORT, Settings::of_own_programs(), reader, ended)?;
    let mut command = command(&name, port.address, tokens, &output);
    out.flush()?;
    let signals = Signals::listen()?;
    // Ctrl-C comes to this process alone, which then ends the program.
    let child = command.args(&args.more).process_group(0).stdin(Stdio::null()).spawn();
    let mut child = child.with_context(|| format!("cannot start {program}"))?;
    scope(|scope| {
        let waiting = scope.spawn(|| {
            let outcome = wait(&mut child, program, &signals);
            drop(end);
            outcome
        });
        let answered = port.answer_by(decoder);
        let outcome =
            waiting.join().map_err(|_| anyhow::anyhow!("the program's thread has failed"))?;
        answered.and(outcome)
    })?;
    Ok(writeln!(out, "\nIn {}: the results of {program}", output.display())?)
}

/// A name that can stand in a list of arguments and be that of a folder.
fn plain(name: &str) -> String {
    let is_plain = |letter: &char| letter.is_ascii_alphanumeric() || "._-".contains(*letter);
    name.chars().map(|letter| if is_plain(&letter) { letter } else { '-' }).collect()
}

/// Waits for the success of a program; a signal to this process ends it.
fn wait(child: &mut Child, program: &str, signals: &Signals) -> anyhow::Result<()> {
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if let Some(interruption) = signals.asked_to_end() {
            end_within(child, Duration::ZERO);
            return Err(interruption.into());
        }
        sleep(Duration::from_millis(20));
    };
    let how =
        status.signal().map_or_else(|| Ended::Code(status.code().unwrap_or(1)), Ended::Signal);
    if how.is_success() {
        return Ok(());
    }
    Err(ProgramFailed { program: program.to_owned(), how }.into())
}
