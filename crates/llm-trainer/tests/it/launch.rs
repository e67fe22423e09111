//! `llm-trainer launch`: real child processes, started, signalled and ended.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

use tch::{Device, Kind, Tensor};
use torch_ext::{GroupOptions, ProcessGroup, ReduceOp};

fn launch_command(options: &[&str], command: &[&OsStr]) -> Command {
    let mut launch = Command::new(env!("CARGO_BIN_EXE_llm-trainer"));
    launch.arg("launch").args(options).arg("--").args(command);
    launch.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    launch
}

fn shell(options: &[&str], script: &str) -> Command {
    launch_command(options, &["sh".as_ref(), "-c".as_ref(), script.as_ref()])
}

fn run(options: &[&str], script: &str) -> Output {
    shell(options, script).output().expect("the binary was built for this test")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Ranks write in no order.
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
fn wait_for_lines(child: &mut Child, word: &str, count: usize) -> BufReader<ChildStdout> {
    let mut reader = BufReader::new(child.stdout.take().expect("piped"));
    let mut found = 0;
    while found < count {
        let mut line = String::new();
        let read = reader.read_line(&mut line).expect("lines of text");
        assert!(read > 0, "the output ends after {found} of {count} lines with {word}");
        found += usize::from(line.contains(word));
    }
    reader
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([name, &child.id().to_string()]).status();
    assert!(sent.expect("kill is there").success(), "{name} could not be sent");
}

#[test]
fn every_rank_is_told_who_it_is_and_its_lines_say_so() {
    let script =
        "echo $RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $MASTER_ADDR; echo to-err >&2";
    let output = run(&["-n", "3"], script);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(
        sorted_lines(&output.stdout),
        ["[0] 0/3 0/3 127.0.0.1", "[1] 1/3 1/3 127.0.0.1", "[2] 2/3 2/3 127.0.0.1"]
    );
    assert_eq!(sorted_lines(&output.stderr), ["[0] to-err", "[1] to-err", "[2] to-err"]);
}

#[test]
fn a_rank_that_fails_ends_the_others_and_gives_its_exit_code() {
    let script = "
        trap 'echo told to end; exit 0' TERM
        [ $RANK = 1 ] && sleep 0.3 && exit 3
        while :; do sleep 0.05; done";
    let output = run(&["-n", "3"], script);
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(sorted_lines(&output.stdout), ["[0] told to end", "[2] told to end"]);
    assert_eq!(last_line(&output.stderr), "error: rank 1 of 3 ended with exit code 3");
}

#[test]
fn a_rank_that_is_killed_is_named_with_the_signal() {
    let output = run(&["-n", "2"], "[ $RANK = 1 ] && kill -9 $$; sleep 60");
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
         sleep 60 & echo $! > {file}.new; mv {file}.new {file}; wait; sleep 60",
        file = file.display()
    );
    let began = Instant::now();
    let output = run(&["-n", "2", "--grace", "0.4"], &script);
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
    let errors = text(&output.stderr);
    assert!(errors.contains("rank 1 did not end within 0.4 s and is killed"), "{errors}");
    assert!((0.4..10.0).contains(&began.elapsed().as_secs_f64()), "{:?}", began.elapsed());
    let started = std::fs::read_to_string(file).unwrap();
    let deadline = Instant::now() + Duration::from_secs(5);
    while !has_ended(started.trim()) {
        assert!(Instant::now() < deadline, "process {started} is still there");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn signals_are_passed_on_and_a_run_that_ends_well_ends_well() {
    let script = "
        trap 'echo saved' USR1
        trap 'echo ended; exit 0' TERM
        echo ready
        while :; do sleep 0.05; done";
    for end in ["-TERM", "-HUP"] {
        let mut child = shell(&["-n", "2"], script).spawn().unwrap();
        let reader = wait_for_lines(&mut child, "ready", 2);
        signal(&child, "-USR1");
        let mut saved = 0;
        let mut lines = reader.lines().map_while(Result::ok);
        while saved < 2 {
            saved += usize::from(lines.next().expect("both save").ends_with("saved"));
        }
        signal(&child, end);
        let rest: Vec<String> = lines.collect();
        assert_eq!(rest.iter().filter(|line| line.ends_with("ended")).count(), 2, "{rest:?}");
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
}

#[test]
fn a_signal_that_ends_the_ranks_is_the_launcher_s_end_too() {
    let mut child = shell(&["-n", "2"], "echo ready; exec sleep 60").spawn().unwrap();
    let _reader = wait_for_lines(&mut child, "ready", 2);
    signal(&child, "-INT");
    let output = child.wait_with_output().unwrap();
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
    let output = launch_command(&["-n", "2"], &["no-such-program".as_ref()]).output().unwrap();
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
fn launchers(grace: &str, ranks: [(&str, &str); 2]) -> [Child; 2] {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("bound").port().to_string();
    drop(listener);
    let mut host = 0..;
    ranks.map(|(count, script)| {
        let host = host.next().expect("there is no last number").to_string();
        let options = ["-n", count, "--grace", grace, "--nnodes", "2", "--node-rank", &host];
        let first = ["--master-addr", "127.0.0.1", "--master-port", &port];
        let mut launcher = shell(&[&options[..], &first].concat(), script);
        launcher.spawn().expect("the binary was built for this test")
    })
}

#[test]
fn launchers_of_several_hosts_count_the_ranks_of_all() {
    let script = "echo $RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $GROUP_RANK $MASTER_ADDR";
    let outputs = launchers("5", [("2", script); 2]).map(|child| child.wait_with_output().unwrap());
    for output in &outputs {
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    }
    let lines = outputs.map(|output| sorted_lines(&output.stdout));
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
        let outputs = launchers("5", scripts).map(|child| child.wait_with_output().unwrap());
        let own = format!("rank {failing} of 2 ended with exit code 3");
        assert_eq!(outputs[failing].status.code(), Some(3));
        assert_eq!(last_line(&outputs[failing].stderr), format!("error: {own}"));
        let other = &outputs[1 - failing];
        assert_eq!(other.status.code(), Some(2), "{}", text(&other.stderr));
        assert_eq!(last_line(&other.stderr), format!("error: {own}, on host {failing}"));
        assert!(text(&other.stdout).ends_with("told to end\n"), "{}", text(&other.stdout));
    }
}

#[test]
fn launchers_that_mean_different_runs_are_refused() {
    let [mut first, second] = launchers("0.2", [("1", "echo ready; exec sleep 60"), ("2", "true")]);
    let _reader = wait_for_lines(&mut first, "ready", 1);
    let refused = second.wait_with_output().unwrap();
    assert_eq!(
        text(&refused.stderr),
        "error: the first host was given -n 1 --nnodes 2, this one -n 2 --nnodes 2\n"
    );
    signal(&first, "-TERM");
    assert_eq!(first.wait_with_output().unwrap().status.code(), Some(143));
}

/// Alone, or as one of the ranks that the tests below start: all sum their ranks.
#[test]
fn body_of_a_rank() {
    let options = GroupOptions { timeout: Duration::from_secs(30), ..GroupOptions::default() };
    let group = ProcessGroup::from_env(&options).unwrap();
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
        let output = launch_command(&["-n", option], &command).env("OMP_NUM_THREADS", "1").output();
        assert_summed(&output.unwrap(), ranks);
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
