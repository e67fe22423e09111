//! Namespaces of a program: a user without rights, a network without devices, and a file system in memory for its files.

use std::ffi::CString;
use std::fs;
use std::io;
use std::path::Path;

use rustix::mount::{MountFlags, mount};
use rustix::process::{getgid, getuid};
use rustix::thread::UnshareFlags;

use super::scratch::ENTRIES;

/// User and group of a program within its namespaces. They are not 0, so that the program gets no capabilities.
const NOBODY: u32 = 65_534;

/// Gives this process a user without rights, a network without devices, message queues and a host name of its own.
pub(super) fn separate_network() -> io::Result<()> {
    unshare(UnshareFlags::empty())
}

/// Does what [`separate_network`] does, and covers `folder` by a file system in memory.
///
/// It has room for the files that lie in `folder` now, of which it gets copies, and for `bytes` beside them. It is gone
/// with the last process of the namespace.
pub(super) fn separate_directory(folder: &Path, bytes: u64) -> io::Result<()> {
    let files = files_of(folder)?;
    let page = rustix::param::page_size() as u64;
    let room = files.iter().fold(bytes, |room, (_, content)| {
        room.saturating_add((content.len() as u64).next_multiple_of(page))
    });
    let (user, group) = (getuid().as_raw(), getgid().as_raw());
    unshare(UnshareFlags::NEWNS)?;
    // A user whom the namespace does not know cannot make files.
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{NOBODY} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{NOBODY} {group} 1"))?;
    let entries = ENTRIES + 1 + files.len();
    let options = CString::new(format!("size={room},nr_inodes={entries},mode=0700"))?;
    mount("code", folder, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, options.as_c_str())?;
    for (name, content) in files {
        fs::write(folder.join(name), content)?;
    }
    Ok(())
}

fn files_of(folder: &Path) -> io::Result<Vec<(std::ffi::OsString, Vec<u8>)>> {
    let entries = fs::read_dir(folder)?;
    entries
        .map(|entry| entry.and_then(|entry| Ok((entry.file_name(), fs::read(entry.path())?))))
        .collect()
}

#[expect(deprecated, reason = "safe but for the table of open files, which is not asked for")]
fn unshare(more: UnshareFlags) -> io::Result<()> {
    let flags =
        UnshareFlags::NEWUSER | UnshareFlags::NEWNET | UnshareFlags::NEWIPC | UnshareFlags::NEWUTS;
    Ok(rustix::thread::unshare(flags | more)?)
}
