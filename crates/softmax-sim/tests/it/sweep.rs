//! `softmax-sim sweep`: grids that many processes compute and that are killed while they do.

mod cell;
mod plan;

use softmax_sim::sweep::{Cell, CellResult, Folder, Plan, Shard, merge, run_shard};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

/// Cells of a few microseconds each.
const CHEAP: &str = "
[settings.training.environment.tabular]
prompts = 2
positions = 1
actions = 3
[settings.training.schedule]
rollouts = 1
group_size = 2
mini_batches = 1
epochs = 1
";

/// So many cheap cells: learning rates times entropy bonuses times seeds.
fn cheap(rates: usize, bonuses: usize, seeds: usize) -> String {
    let list = |count: usize, unit: f64| {
        let values: Vec<String> = (1..=count).map(|i| format!("{:?}", unit * i as f64)).collect();
        values.join(", ")
    };
    let seeds: Vec<String> = (0..seeds).map(|seed| seed.to_string()).collect();
    format!(
        "seeds = [{}]\n{CHEAP}\n[grid]\n\"training.schedule.learning_rate\" = [{}]\n\
         \"training.method.entropy_bonus\" = [{}]\n",
        seeds.join(", "),
        list(rates, 0.01),
        list(bonuses, 0.001),
    )
}

fn sweep(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_softmax-sim"));
    command.arg("sweep").args(arguments);
    // Whatever runs the tests may be a job array itself.
    for name in ["ID", "MIN", "MAX", "COUNT", "STEP"] {
        command.env_remove(format!("SLURM_ARRAY_TASK_{name}"));
    }
    command
}

fn output(command: &mut Command) -> Output {
    command.output().expect("the binary was built with the tests")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("output is UTF-8")
}

/// A folder, and in it the configuration of a sweep.
fn folder_with(config: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("grid.toml");
    fs::write(&path, config).expect("the folder can be written");
    (folder, path)
}

fn path_text(path: &Path) -> &str {
    path.to_str().expect("a temporary path is UTF-8")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn merged_tables(dir: &Path) -> [String; 2] {
    let output = output(&mut sweep(&["merge", path_text(dir)]));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    ["results.jsonl", "results.csv"].map(|name| read(&dir.join(name)))
}

/// Starts the process of a shard again and again, killing it while it writes, until it ends by itself;
/// how often it was killed.
fn run_and_kill(config: &Path, dir: &Path, shard: &str, kills: &[u64]) -> usize {
    let (config, out) = (path_text(config), path_text(dir));
    let file = dir.join(format!("shard-{}.jsonl", shard.replace('/', "-of-")));
    let length = || fs::metadata(&file).map_or(0, |file| file.len());
    let start = || -> Child {
        let mut command = sweep(&[config, "--out", out, "--shard", shard]);
        let command = command.env("RAYON_NUM_THREADS", "1").stdout(Stdio::null());
        command.spawn().expect("the binary was built with the tests")
    };
    let mut killed = 0;
    for more in kills {
        let mut process = start();
        let until = length() + more;
        let ended = loop {
            if let Some(status) = process.try_wait().expect("a child can be waited for") {
                break Some(status);
            }
            if length() >= until {
                break None;
            }
            std::thread::sleep(Duration::from_micros(200));
        };
        if ended.is_none() {
            process.kill().expect("a child can be killed");
            let status = process.wait().expect("a child can be waited for");
            killed += usize::from(!status.success());
        }
    }
    let status = start().wait().expect("a child can be waited for");
    assert!(status.success(), "{status}");
    killed
}

#[test]
fn ten_thousand_cells_survive_kills_of_all_their_processes() {
    let (folder, config) = folder_with(&cheap(50, 20, 10));
    let (single, parts) = (folder.path().join("whole"), folder.path().join("parts"));
    let one = output(&mut sweep(&[path_text(&config), "--out", path_text(&single)]));
    assert_eq!(one.status.code(), Some(0), "{one:?}");
    let killed: usize = std::thread::scope(|scope| {
        // Bytes that each process may still write before it is killed: a record has some 350.
        let kills = [[1, 70_000, 9_000], [30_000, 200_000, 400], [5_555, 123_456, 77_777]];
        let shards = ["1/3", "2/3", "3/3"];
        let run = |(shard, kills): (&'static str, [u64; 3])| {
            let (config, parts) = (&config, &parts);
            scope.spawn(move || run_and_kill(config, parts, shard, &kills))
        };
        let runs: Vec<_> = shards.into_iter().zip(kills).map(run).collect();
        runs.into_iter().map(|run| run.join().expect("no assertion failed")).sum()
    });
    assert!(killed >= 6, "only {killed} processes were killed while they ran");
    let mut lines = 0;
    for shard in 1..=3 {
        lines += read(&parts.join(format!("shard-{shard}-of-3.jsonl"))).lines().count();
    }
    assert_eq!(lines, 10_000, "no cell was computed twice");
    let [of_one, of_three] = [merged_tables(&single), merged_tables(&parts)];
    assert_eq!(of_one[0].lines().count(), 10_000);
    assert_eq!(of_one[1].lines().count(), 10_001);
    assert!(of_one == of_three, "the tables differ");
}

#[test]
fn another_number_of_shards_or_threads_finds_what_is_done() {
    let (folder, config) = folder_with(&cheap(4, 3, 2));
    let run = |out: &str, shard: &str, threads: &str| {
        let out = folder.path().join(out);
        let mut command = sweep(&[path_text(&config), "--out", path_text(&out), "--shard", shard]);
        let output = output(command.env("RAYON_NUM_THREADS", threads));
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        text(&output.stdout).to_owned()
    };
    assert!(run("a", "2/3", "1").contains(": 8 cells, 0 found, 8 computed, 0 of them failed"));
    assert!(run("a", "2/3", "1").contains(": 8 cells, 8 found, 0 computed, 0 of them failed"));
    assert!(run("a", "1/1", "4").contains(": 24 cells, 8 found, 16 computed, 0 of them failed"));
    run("b", "1/1", "1");
    let tables = ["a", "b"].map(|out| merged_tables(&folder.path().join(out)));
    assert_eq!(tables[0], tables[1]);
}

#[test]
fn a_job_array_task_is_a_shard_and_half_an_array_an_error() {
    let (folder, config) = folder_with(&cheap(3, 1, 1));
    let out = folder.path().join("array");
    let task = |variables: &[(&str, &str)]| {
        let mut command = sweep(&[path_text(&config), "--out", path_text(&out)]);
        for (name, value) in variables {
            command.env(format!("SLURM_ARRAY_TASK_{name}"), value);
        }
        output(&mut command)
    };
    let array = [("MIN", "10"), ("MAX", "14"), ("COUNT", "3"), ("STEP", "2")];
    let second = task(&[&[("ID", "12")], &array[..]].concat());
    assert_eq!(second.status.code(), Some(0), "{second:?}");
    assert!(text(&second.stdout).starts_with("shard 2/3 of "), "{second:?}");
    let half = task(&[("ID", "12")]);
    assert_eq!(half.status.code(), Some(2));
    assert!(text(&half.stderr).starts_with("error: SLURM_ARRAY_TASK_MIN is not set although"));
}

#[test]
fn merge_tells_what_is_missing_and_writes_no_table_until_then() {
    let (folder, config) = folder_with(&cheap(7, 1, 1));
    let out = folder.path().join("out");
    output(&mut sweep(&[path_text(&config), "--out", path_text(&out), "--shard", "1/7"]));
    let merged = output(&mut sweep(&["merge", path_text(&out)]));
    assert_eq!(merged.status.code(), Some(1));
    let lines: Vec<&str> = text(&merged.stdout).lines().collect();
    assert_eq!(lines[0], "7 cells: 6 missing, 0 failed, 0 found twice and equal, 0 of no cell");
    assert!(lines[1].starts_with("missing: training.method.entropy_bonus = 0.001, "), "{lines:?}");
    assert_eq!(lines[6], "missing: and 1 more");
    assert!(!out.join("results.csv").exists());
}

#[test]
fn equal_results_of_a_cell_are_one_and_different_ones_a_conflict() {
    let (folder, config) = folder_with(&cheap(2, 1, 1));
    let out = folder.path().join("out");
    output(&mut sweep(&[path_text(&config), "--out", path_text(&out)]));
    let computed = read(&out.join("shard-1-of-1.jsonl"));
    let copy = out.join("shard-1-of-2.jsonl");
    fs::write(&copy, &computed).unwrap();
    let merged = output(&mut sweep(&["merge", path_text(&out)]));
    assert_eq!(merged.status.code(), Some(0), "{merged:?}");
    assert!(text(&merged.stdout).contains("2 found twice and equal"));
    let mut record: serde_json::Value =
        serde_json::from_str(computed.lines().next().unwrap()).unwrap();
    record["outcome"]["figures"]["entropy"] = 7.0.into();
    fs::write(&copy, format!("{record}\n")).unwrap();
    let merged = output(&mut sweep(&["merge", path_text(&out)]));
    assert_eq!(merged.status.code(), Some(2));
    let error = text(&merged.stderr);
    assert!(
        error.contains("1 cells have results that differ, such as `training.method"),
        "{error}"
    );
    assert!(error.contains("shard-1-of-1.jsonl and "), "{error}");
}

#[test]
fn torn_and_damaged_lines_are_computed_again_and_the_damaged_named() {
    let (folder, config) = folder_with(&cheap(3, 1, 1));
    let out = folder.path().join("out");
    let arguments = [path_text(&config), "--out", path_text(&out)];
    output(&mut sweep(&arguments));
    let file = out.join("shard-1-of-1.jsonl");
    let complete = read(&file);
    fs::write(&file, &complete[..complete.len() - 9]).unwrap();
    let again = output(&mut sweep(&arguments));
    assert!(text(&again.stdout).contains("3 cells, 2 found, 1 computed"), "{again:?}");
    assert_eq!(read(&file), complete);
    fs::write(&file, complete.replacen("entropy", "\"", 1)).unwrap();
    let expected = format!("{} line 1: no result of a cell (", file.display());
    let missing = output(&mut sweep(&["merge", path_text(&out)]));
    assert_eq!(missing.status.code(), Some(1));
    assert!(text(&missing.stdout).starts_with("3 cells: 1 missing, 0 failed"), "{missing:?}");
    let damaged = output(&mut sweep(&arguments));
    assert_eq!(damaged.status.code(), Some(0), "{damaged:?}");
    assert!(text(&damaged.stdout).contains("3 cells, 2 found, 1 computed"), "{damaged:?}");
    for told in [missing, damaged] {
        assert!(text(&told.stderr).starts_with(&expected), "{told:?}");
    }
    merged_tables(&out);
}

#[test]
fn a_folder_of_another_sweep_is_refused() {
    let (folder, config) = folder_with(&cheap(3, 1, 1));
    let out = folder.path().join("out");
    let arguments = [path_text(&config), "--out", path_text(&out)];
    output(&mut sweep(&arguments));
    // The same cells written otherwise are the same sweep.
    fs::write(&config, format!("# again\n{}", cheap(3, 1, 1))).unwrap();
    assert_eq!(output(&mut sweep(&arguments)).status.code(), Some(0));
    fs::write(&config, cheap(4, 1, 1)).unwrap();
    let refused = output(&mut sweep(&arguments));
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("holds another sweep: 0 of its 3 cells"), "{refused:?}");
}

#[test]
fn mistakes_end_with_2_and_are_named() {
    let (folder, config) = folder_with("[grid]\n\"training.method.entropy\" = [0.0]");
    let missing = folder.path().join("missing.toml");
    for (arguments, named) in [
        (
            vec![path_text(&config)],
            "grid.toml: cell `training.method.entropy = 0.0, seed 0`: unknown field",
        ),
        (vec![path_text(&missing)], "missing.toml: cannot read: "),
        (vec![path_text(&config), "--shard", "0/4"], "`0/4` is no shard, expected i/n"),
        (vec!["merge", path_text(folder.path())], "sweep.toml"),
        (vec![], "<CONFIG>"),
    ] {
        let output = output(&mut sweep(&arguments));
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains(named), "{arguments:?}: {output:?}");
    }
}

#[test]
fn a_cell_that_panics_costs_itself_alone() {
    let plan: Plan = Plan::read(&cheap(5, 1, 1)).unwrap();
    let (folder, _) = folder_with("");
    let sweep = Folder::open(folder.path(), &cheap(5, 1, 1), &plan).unwrap();
    let bad = &plan.cells[2].key;
    let compute = |cell: &Cell| {
        assert!(cell.key != *bad, "out of luck");
        cell.compute()
    };
    let tally = run_shard(&plan, &sweep, Shard::WHOLE, compute, |_| {}).unwrap();
    assert_eq!((tally.computed, tally.failed), (5, 1));
    let merged = merge(&plan, &sweep).unwrap();
    let expected = format!("{}: panicked: out of luck", plan.cells[2]);
    assert_eq!(merged.failed, [expected]);
    let table = read(&folder.path().join("results.csv"));
    assert_eq!(table.lines().filter(|line| line.contains("panicked: out of luck")).count(), 1);
}

#[test]
fn a_second_process_of_a_shard_is_turned_away() {
    let plan: Plan = Plan::read(&cheap(1, 1, 1)).unwrap();
    let (folder, _) = folder_with("");
    let sweep = Folder::open(folder.path(), &cheap(1, 1, 1), &plan).unwrap();
    let again = |_: &Cell| {
        let second = run_shard(&plan, &sweep, Shard::WHOLE, |_| unreachable!(), |_| {});
        CellResult::Failed(second.map_or_else(|error| error.to_string(), |_| String::new()))
    };
    run_shard(&plan, &sweep, Shard::WHOLE, again, |_| {}).unwrap();
    let line = read(&folder.path().join("shard-1-of-1.jsonl"));
    assert!(line.contains("is being written by another process"), "{line}");
}

/// The sweeps that come with the project can be run.
#[test]
fn committed_sweeps_can_be_read() {
    let configs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs");
    let mut sweeps = 0;
    for entry in fs::read_dir(configs).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().unwrap().to_str().unwrap().starts_with("sweep-") {
            let plan = Plan::read(&read(&path));
            let plan = plan.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            assert!(plan.cells.len() > 1);
            sweeps += 1;
        }
    }
    assert!(sweeps > 0);
}
