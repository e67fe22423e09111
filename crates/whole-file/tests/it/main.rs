//! Files and folders that appear whole or not at all.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::Command;

use whole_file::{
    DirectoryInProgress, FolderLock, write_atomically, write_atomically_with, write_new,
};
use workspace_tests::files::{folder, message, names};

#[test]
fn a_written_file_replaces_the_old_one_and_leaves_nothing_else() {
    let folder = folder(&[("f", "old")]);
    let path = folder.path().join("f");
    write_atomically(&path, b"new").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!(names(folder.path()), ["f"]);
}

/// `/dev/full` gives the error of a full disk after the first half was written.
#[test]
fn a_full_disk_leaves_the_old_file_and_no_half_of_the_new_one() {
    let folder = folder(&[("f", "old")]);
    let path = folder.path().join("f");
    let result = write_atomically_with(&path, |file| {
        file.write_all(b"the first half")?;
        File::options().write(true).open("/dev/full")?.write_all(b"the second half")
    });
    let text = message(result, folder.path());
    assert!(text.starts_with("DIR/f: cannot write: No space left on device"), "{text}");
    assert_eq!(fs::read(&path).unwrap(), b"old");
    assert_eq!(names(folder.path()), ["f"]);
}

#[test]
fn a_place_that_cannot_be_written_is_named() {
    let folder = folder(&[("file", "")]);
    let text = message(write_atomically(&folder.path().join("file/x"), b""), folder.path());
    assert!(text.starts_with("DIR/file/x: cannot write: "), "{text}");
    let text = message(DirectoryInProgress::begin(&folder.path().join("file/x")), folder.path());
    assert!(text.starts_with("DIR/file/x: cannot create the folder: "), "{text}");
}

/// A report that root wrote to `/dev/null` took the device's place.
#[cfg(unix)]
#[test]
fn devices_pipes_and_folders_are_not_replaced() {
    use std::os::unix::fs::{FileTypeExt, symlink};
    let folder = folder(&[("folder/f", "")]);
    let path = |name: &str| folder.path().join(name);
    assert!(Command::new("mkfifo").arg(path("pipe")).status().unwrap().success());
    symlink("/dev/null", path("null")).unwrap();
    for name in ["pipe", "null", "folder"] {
        let text = message(write_atomically(&path(name), b"x"), folder.path());
        let expected = "cannot write: there is something other than a file";
        assert_eq!(text, format!("DIR/{name}: {expected}"));
    }
    assert!(path("pipe").metadata().unwrap().file_type().is_fifo());
    assert!(path("null").is_symlink());
    assert_eq!(names(folder.path()), ["folder", "null", "pipe"]);
}

#[test]
fn a_file_that_is_there_is_not_written_anew() {
    let folder = folder(&[]);
    let path = folder.path().join("sweep.toml");
    assert!(write_new(&path, b"first").unwrap());
    assert!(!write_new(&path, b"second").unwrap());
    assert_eq!(fs::read(&path).unwrap(), b"first");
    assert_eq!(names(folder.path()), ["sweep.toml"]);
}

#[test]
fn a_path_without_a_name_is_refused() {
    let error = write_atomically(Path::new(".."), b"x").unwrap_err();
    assert_eq!(error.to_string(), "..: cannot write: expected a path that ends in a file name");
}

#[cfg(unix)]
#[test]
fn others_may_read_what_they_may_read_of_any_file() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder(&[("plain", "x")]);
    let mode = |name: &str| fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
    write_atomically(&folder.path().join("whole"), b"x").unwrap();
    assert_eq!(mode("whole"), mode("plain"));
}

#[test]
fn a_folder_appears_whole_on_commit() {
    let folder = folder(&[]);
    let target = folder.path().join("a/step-1");
    let progress = DirectoryInProgress::begin(&target).unwrap();
    fs::create_dir(progress.path().join("trainer")).unwrap();
    fs::write(progress.path().join("trainer/state"), "s").unwrap();
    assert!(!target.exists());
    progress.commit().unwrap();
    assert_eq!(fs::read_to_string(target.join("trainer/state")).unwrap(), "s");
    assert_eq!(names(&folder.path().join("a")), ["step-1"]);
}

#[test]
fn a_dropped_folder_vanishes() {
    let folder = folder(&[]);
    let progress = DirectoryInProgress::begin(&folder.path().join("step-1")).unwrap();
    fs::write(progress.path().join("half"), "h").unwrap();
    drop(progress);
    assert!(names(folder.path()).is_empty());
}

#[test]
fn a_committed_folder_replaces_an_older_one_and_what_a_crash_left() {
    let folder = folder(&[]);
    let target = folder.path().join("step-1");
    for (round, name) in ["old", "new"].into_iter().enumerate() {
        if round == 1 {
            let crashed = DirectoryInProgress::begin(&target).unwrap();
            fs::write(crashed.path().join("torn"), "").unwrap();
            std::mem::forget(crashed);
        }
        let progress = DirectoryInProgress::begin(&target).unwrap();
        fs::write(progress.path().join(name), "").unwrap();
        progress.commit().unwrap();
    }
    assert_eq!(names(&target), ["new"]);
    assert_eq!(names(folder.path()), ["step-1"]);
}

/// A process that still runs keeps its half of a folder; one that has ended does not.
#[test]
fn only_the_halves_of_ended_processes_are_removed() {
    let folder = folder(&[]);
    let target = folder.path().join("step-1");
    let left = |process: u32| folder.path().join(format!(".step-1.{process}.partial"));
    let mut ended = std::process::Command::new("true").spawn().unwrap();
    ended.wait().unwrap();
    let (running, ended) = (std::os::unix::process::parent_id(), ended.id());
    for process in [running, ended] {
        fs::create_dir(left(process)).unwrap();
    }
    fs::create_dir(folder.path().join(".step-1.partial")).unwrap();
    fs::create_dir(folder.path().join(".step-12.partial")).unwrap();
    DirectoryInProgress::begin(&target).unwrap().commit().unwrap();
    let kept = format!(".step-1.{running}.partial");
    assert_eq!(names(folder.path()), [kept.as_str(), ".step-12.partial", "step-1"]);
}

#[test]
fn a_link_in_the_place_of_a_half_is_not_followed() {
    let folder = folder(&[("precious/file", "x")]);
    let link = folder.path().join(format!(".step-1.{}.partial", std::process::id()));
    std::os::unix::fs::symlink(folder.path().join("precious"), &link).unwrap();
    let progress = DirectoryInProgress::begin(&folder.path().join("step-1")).unwrap();
    fs::write(progress.path().join("new"), "").unwrap();
    progress.commit().unwrap();
    assert_eq!(names(&folder.path().join("precious")), ["file"]);
    assert_eq!(names(&folder.path().join("step-1")), ["new"]);
}

#[test]
fn a_folder_is_locked_by_one_at_a_time_and_a_linked_lock_file_is_left_as_it_is() {
    let folder = folder(&[("precious", "x")]);
    std::os::unix::fs::symlink(folder.path().join("precious"), folder.path().join(".lock"))
        .unwrap();
    let lock = FolderLock::take(folder.path()).unwrap();
    assert!(lock.is_some());
    assert!(FolderLock::take(folder.path()).unwrap().is_none());
    drop(lock);
    assert!(FolderLock::take(folder.path()).unwrap().is_some());
    assert_eq!(fs::read_to_string(folder.path().join("precious")).unwrap(), "x");
}
