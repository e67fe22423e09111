//! `llm-trainer launch`: real child processes, started, signalled and ended.

use std::ffi::OsStr;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use tch::{Device, Kind, Tensor};
use torch_ext::{GroupOptions, Placement, ProcessGroup, ReduceOp};
use workspace_tests::processes::{Port, Process, finish, wait_until};

fn launch_command(options: &[&str], command: &[&OsStr]) -> Command {
    let mut launch = Command::new(env!("CARGO_BIN_EXE_llm-trainer"));
    launch.arg("launch").args(options).arg("--").args(command);
    launch.stdin(Stdio::null());
    launch
}

fn shell(options: &[&str], script: &str) -> Command {
    launch_command(options, &["sh".as_ref(), "-c".as_ref(), script.as_ref()])
}

fn run(options: &[&str], script: &str) -> Output {
    ended(&mut shell(options, script))
}

/// Runs a command to its end and returns its output.
fn ended(command: &mut Command) -> Output {
    finish(vec![Process::start(command)]).remove(0)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Lines in sorted order: ranks write in no order.
fn sorted_lines(bytes: &[u8]) -> Vec<String> {
    let mut lines: Vec<String> = text(bytes).lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

fn last_line(bytes: &[u8]) -> String {
    text(bytes).lines().last().unwrap_or_default().to_owned()
}

/// Gone, or ended and not yet reaped by whoever inherits it.
fn has_ended(process: &str) -> bool {
    let status = std::fs::read_to_string(Path::new("/proc").join(process).join("status"));
    status.is_ok_and(|status| status.contains("State:\tZ")) || !is_there(process)
}

fn is_there(process: &str) -> bool {
    Path::new("/proc").join(process).exists()
}

/// Waits for `count` lines of standard output that hold `word`.
fn wait_for_lines(launcher: &Process, word: &str, count: usize) {
    wait_until(&format!("{count} ranks say {word}"), || {
        launcher.stdout().lines().filter(|line| line.contains(word)).count() >= count
    });
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([name, &child.id().to_string()]).status();
    assert!(sent.expect("kill is there").success(), "{name} could not be sent");
}

#[test]
fn every_rank_is_told_who_it_is_and_its_lines_say_so() {
    let script =
        "echo $RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $MASTER_ADDR $OMP_NUM_THREADS
        echo to-err >&2";
    let output = ended(shell(&["-n", "3"], script).env_remove("OMP_NUM_THREADS"));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    // Its share of the processors.
    let threads = std::thread::available_parallelism().map_or(1, |count| (count.get() / 3).max(1));
    let told = [0, 1, 2].map(|rank| format!("[{rank}] {rank}/3 {rank}/3 127.0.0.1 {threads}"));
    assert_eq!(sorted_lines(&output.stdout), told);
    assert_eq!(sorted_lines(&output.stderr), ["[0] to-err", "[1] to-err", "[2] to-err"]);
}

#[test]
fn a_rank_that_fails_ends_the_others_and_gives_its_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let script = format!(
        "cd {}
        trap 'echo told to end; exit 0' TERM
        touch $RANK
        [ $RANK = 1 ] && {{ while ! [ -e 0 ] || ! [ -e 2 ]; do sleep 0.02; done; exit 3; }}
        while :; do sleep 0.05; done",
        folder.path().display()
    );
    let output = run(&["-n", "3", "--grace", "300"], &script);
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(sorted_lines(&output.stdout), ["[0] told to end", "[2] told to end"]);
    assert_eq!(last_line(&output.stderr), "error: rank 1 of 3 ended with exit code 3");
}

/// The record that torchrun's agent reads too: a rank that fails because of another says which.
#[test]
fn the_rank_that_made_others_fail_is_named_in_their_place() {
    let folder = tempfile::tempdir().unwrap();
    let script = format!(
        r#"cd {}
        touch $RANK
        [ $RANK = 1 ] && exec sleep infinity
        while ! [ -e 1 ]; do sleep 0.02; done
        echo '{{"message": "rank 1 is silent", "timestamp": 1, "culprit": 1}}' > "$TORCHELASTIC_ERROR_FILE"
        [ $RANK = 0 ] || exec sleep infinity
        exit 2"#,
        folder.path().display()
    );
    let output = run(&["-n", "3"], &script);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        last_line(&output.stderr),
        "error: rank 1 of 3 stopped answering, then rank 0 ended with exit code 2"
    );
}

#[test]
fn a_rank_that_is_killed_is_named_with_the_signal() {
    let output = run(&["-n", "2"], "[ $RANK = 1 ] && kill -9 $$; exec sleep infinity");
    assert_eq!(output.status.code(), Some(128 + 9));
    assert_eq!(last_line(&output.stderr), "error: rank 1 of 2 ended with signal 9 (SIGKILL)");
}

#[test]
fn a_rank_that_does_not_end_is_killed_with_all_that_it_started() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("process");
    let script = format!(
        "trap '' TERM
         [ $RANK = 0 ] && {{ while ! [ -s {file} ]; do sleep 0.02; done; exit 4; }}
         sleep infinity & echo $! > {file}.new; mv {file}.new {file}; wait; exec sleep infinity",
        file = file.display()
    );
    let output = run(&["-n", "2", "--grace", "0.4"], &script);
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
    let errors = text(&output.stderr);
    assert!(errors.contains("rank 1 did not end within 0.4 s and is killed"), "{errors}");
    let started = std::fs::read_to_string(file).unwrap();
    wait_until("what a rank has started has ended", || has_ended(started.trim()));
}

#[test]
fn signals_are_passed_on_and_a_run_that_ends_well_ends_well() {
    let script = "
        trap 'echo saved' USR1
        trap 'echo ended; exit 0' TERM
        echo ready
        while :; do sleep 0.05; done";
    for end in ["-TERM", "-HUP"] {
        let launcher = Process::start(&mut shell(&["-n", "2"], script));
        wait_for_lines(&launcher, "ready", 2);
        signal(&launcher, "-USR1");
        wait_for_lines(&launcher, "saved", 2);
        signal(&launcher, end);
        let output = finish(vec![launcher]).remove(0);
        assert_eq!(text(&output.stdout).matches("ended").count(), 2, "{output:?}");
        assert_eq!(output.status.code(), Some(0));
    }
}

#[test]
fn a_signal_that_ends_the_ranks_is_the_launcher_s_end_too() {
    let child = Process::start(&mut shell(&["-n", "2"], "echo ready; exec sleep infinity"));
    wait_for_lines(&child, "ready", 2);
    signal(&child, "-INT");
    let output = finish(vec![child]).remove(0);
    // As a shell wants it: a loop ends where its command died of SIGINT itself.
    assert_eq!(output.status.signal(), Some(2), "{}", text(&output.stderr));
}

#[test]
fn each_rank_has_a_log_of_its_own_where_a_folder_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let logs = directory.path().join("a/b");
    let options = ["-n", "2", "--log-dir", logs.to_str().unwrap()];
    for _ in 0..2 {
        let output = run(&options, "echo out $RANK; echo err $RANK >&2");
        assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0));
    }
    for rank in 0..2 {
        let log = std::fs::read_to_string(logs.join(format!("rank-{rank}.log"))).unwrap();
        assert_eq!(log, format!("out {rank}\nerr {rank}\n").repeat(2));
    }
}

#[test]
fn what_cannot_be_started_is_one_line() {
    let output = ended(&mut launch_command(&["-n", "2"], &["no-such-program".as_ref()]));
    assert_eq!(output.status.code(), Some(2));
    let line = text(&output.stderr);
    assert!(line.starts_with("error: cannot start no-such-program: ") && line.lines().count() == 1);
    for options in [&["-n", "0"][..], &[], &["-n", "2", "--grace", "-1"]] {
        assert_eq!(run(options, "true").status.code(), Some(2), "{options:?}");
    }
    let beyond = run(&["-n", "1", "--nnodes", "2", "--node-rank", "2"], "true");
    let expected = "error: --node-rank is 2, expected 0..2, as --nnodes is 2\n";
    assert_eq!(text(&beyond.stderr), expected);
    let nowhere = run(&["-n", "1", "--nnodes", "2"], "true");
    assert!(text(&nowhere.stderr).starts_with("error: --master-addr is not given, expected "));
}

/// Launchers of a run on two hosts, which are both this one; each starts so many ranks of a script of its own.
fn launchers(grace: &str, ranks: [(&str, &str); 2]) -> (Vec<Process>, Port) {
    let port = Port::reserve();
    let number = port.number().to_string();
    let launcher = |(host, (count, script)): (usize, (&str, &str))| {
        let host = host.to_string();
        let options = ["-n", count, "--grace", grace, "--nnodes", "2", "--node-rank", &host];
        let first = ["--master-addr", "127.0.0.1", "--master-port", &number];
        let patience = ["--connect-seconds", "300"];
        Process::start(&mut shell(&[&options[..], &first, &patience].concat(), script))
    };
    (ranks.into_iter().enumerate().map(launcher).collect(), port)
}

#[test]
fn a_first_host_that_is_not_there_is_named_with_what_to_do() {
    let port = Port::reserve();
    let port = port.number().to_string();
    let second = ["-n", "1", "--nnodes", "2", "--node-rank", "1", "--connect-seconds", "0.5"];
    let first = ["--master-addr", "127.0.0.1", "--master-port", &port];
    let output = run(&[&second[..], &first].concat(), "true");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        text(&output.stderr),
        format!(
            "error: cannot reach the store of the first host at 127.0.0.1:{port}: Connection refused (os \
             error 111), for 0.5 s; expected its launcher, --node-rank 0, within --connect-seconds\n"
        )
    );
}

#[test]
fn a_port_that_is_taken_is_named_with_what_to_do() {
    let listener = std::net::TcpListener::bind("0.0.0.0:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let output = run(&["-n", "1", "--master-addr", "127.0.0.1", "--master-port", &port], "true");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        text(&output.stderr),
        format!(
            "error: cannot serve the store at 127.0.0.1:{port}: port {port} of this host is taken; expected \
             a free one as --master-port, the same on every host\n"
        )
    );
}

#[test]
fn launchers_of_several_hosts_count_the_ranks_of_all() {
    let script = "echo $RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $GROUP_RANK $MASTER_ADDR";
    let (launchers, _port) = launchers("300", [("2", script); 2]);
    let outputs = finish(launchers);
    for output in &outputs {
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    }
    let lines = [0, 1].map(|host| sorted_lines(&outputs[host].stdout));
    assert_eq!(lines[0], ["[0] 0/4 0/2 0 127.0.0.1", "[1] 1/4 1/2 0 127.0.0.1"]);
    assert_eq!(lines[1], ["[2] 2/4 0/2 1 127.0.0.1", "[3] 3/4 1/2 1 127.0.0.1"]);
}

#[test]
fn a_rank_that_fails_on_one_host_ends_those_of_the_other() {
    for failing in [0, 1] {
        let folder = tempfile::tempdir().unwrap();
        let there = folder.path().join("there").display().to_string();
        let waits = format!(
            "trap 'echo told to end; exit 0' TERM; touch {there}; while :; do sleep 0.05; done"
        );
        let fails = format!("while ! [ -e {there} ]; do sleep 0.05; done; exit 3");
        let mut scripts = [("1", waits.as_str()); 2];
        scripts[failing].1 = &fails;
        let (launchers, _port) = launchers("300", scripts);
        let outputs = finish(launchers);
        let failure = format!("rank {failing} of 2 ended with exit code 3");
        assert_eq!(outputs[failing].status.code(), Some(3));
        assert_eq!(last_line(&outputs[failing].stderr), format!("error: {failure}"));
        let other = &outputs[1 - failing];
        assert_eq!(other.status.code(), Some(2), "{}", text(&other.stderr));
        assert_eq!(last_line(&other.stderr), format!("error: {failure}, on host {failing}"));
        assert!(text(&other.stdout).ends_with("told to end\n"), "{}", text(&other.stdout));
    }
}

#[test]
fn launchers_that_mean_different_runs_are_refused() {
    let (mut launchers, _port) =
        launchers("0.2", [("1", "echo ready; exec sleep infinity"), ("2", "true")]);
    let refused = finish(vec![launchers.remove(1)]).remove(0);
    wait_for_lines(&launchers[0], "ready", 1);
    assert_eq!(
        text(&refused.stderr),
        "error: the first host was given -n 1 --nnodes 2, this one -n 2 --nnodes 2\n"
    );
    signal(&launchers[0], "-TERM");
    assert_eq!(finish(launchers)[0].status.code(), Some(143));
}

/// Alone, or as one of the ranks that the tests below start: all sum their ranks.
#[test]
fn body_of_a_rank() {
    let group =
        ProcessGroup::join(&Placement::from_env().unwrap(), &GroupOptions::default()).unwrap();
    let size = group.world_size();
    let sum = Tensor::full([3], group.rank() as f64, (Kind::Double, Device::Cpu));
    group.all_reduce(&sum, ReduceOp::Sum).unwrap();
    let expected = (size * (size - 1) / 2) as f64;
    assert_eq!(sum, Tensor::full([3], expected, (Kind::Double, Device::Cpu)));
    eprintln!("summed over {size}");
}

fn body() -> Vec<std::ffi::OsString> {
    let mut command = vec![std::env::current_exe().expect("a test knows its binary").into()];
    let arguments = ["launch::body_of_a_rank", "--exact", "--nocapture", "--test-threads=1"];
    command.extend(arguments.map(Into::into));
    command
}

fn assert_summed(output: &Output, ranks: usize) {
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    let summed = text(&output.stderr).matches(&format!("summed over {ranks}")).count();
    assert_eq!(summed, ranks, "{}", text(&output.stderr));
}

#[test]
fn ranks_meet_and_work_together() {
    let body = body();
    let command: Vec<&OsStr> = body.iter().map(AsRef::as_ref).collect();
    for (option, ranks) in [("2", 2), ("4", 4)] {
        let mut launch = launch_command(&["-n", option], &command);
        assert_summed(&ended(launch.env("OMP_NUM_THREADS", "1")), ranks);
    }
}

/// torchrun needs the whole of PyTorch; where it is not installed, this says so.
#[test]
fn torchrun_starts_the_same_ranks() {
    let ranks = ["--standalone", "--nproc-per-node", "2", "--no-python"];
    match Command::new("torchrun").args(ranks).args(body()).env("OMP_NUM_THREADS", "1").output() {
        Ok(output) => assert_summed(&output, 2),
        Err(error) => eprintln!("torchrun is not tried: {error}"),
    }
}
