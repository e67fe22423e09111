//! Programs that want out, or want everything.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

use code_sandbox::{CodeSection, Sandbox};
use serde_json::json;
use workspace_tests::processes::wait_until;

use crate::{fault, helper, holds, judge, sandbox, sandbox_on_the_disk, settings};

#[test]
fn time_memory_and_output_are_bounded() {
    let Some(sandbox) = sandbox() else { return };
    for (program, expected) in [
        ("while True: pass", "killed after 2 s of processor time"),
        ("x = bytearray(1 << 40)", "MemoryError"),
        ("x = []\nwhile True: x.append(bytearray(1 << 20))", "MemoryError"),
        ("import os\nwhile True: os.write(1, b'x' * 4096)", "killed"),
        (
            "import sys\nwhile True: sys.stderr.write('x' * 4096)",
            "killed: over 65536 bytes of output",
        ),
        ("raise Exception('x' * 10_000_000)", "Exception: xxx"),
        ("def f(): f()\nf()", "RecursionError"),
        ("n = [open('/dev/null') for _ in range(1000)]", "Too many open files"),
        (
            "import threading, time\nwhile True: threading.Thread(target=time.sleep, args=(99,)).start()",
            "can't start new thread",
        ),
        ("import ctypes\nctypes.string_at(0)", "killed by signal 11"),
        ("import os\nos.abort()", "killed by signal 6"),
        ("exec('(' * 100_000)", "the program does not run"),
    ] {
        let words = fault(sandbox, program);
        assert!(expected.split('|').any(|one| words.contains(one)), "{program}: {words}");
    }
    let tests = json!({"inputs": [""], "outputs": ["x"]});
    let (right, words) = judge(sandbox, "while True: print('x' * 4096)", &tests);
    assert!(!right && words.contains("killed: over 65536 bytes of output"), "{words}");
}

/// A program's own file system is full at the limit; elsewhere the program is ended soon after.
#[test]
fn files_are_bounded_in_size_and_number() {
    for (sandbox, total) in [
        (sandbox(), "No space left on device|killed: files of over"),
        (sandbox_on_the_disk(), "killed: files of over"),
    ] {
        let Some(sandbox) = sandbox else { return };
        for (program, expected) in [
            // Either the write itself is refused, or what it has written by then is seen first.
            ("open('big', 'wb').write(b'x' * (1 << 22))", "OSError|killed: files of over"),
            (
                "import signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_DFL)\nopen('big', 'wb').write(b'x' * (1 << 22))",
                "a file of over 1048576 bytes|killed: files of over|No space left on device",
            ),
            (
                "n = 0\nwhile True:\n    open(str(n), 'wb').write(b'x' * (1 << 19))\n    n += 1",
                total,
            ),
            ("import os\nwhile True:\n    os.mkdir('d')\n    os.chdir('d')", total),
            ("n = 0\nwhile True:\n    open(str(n), 'w')\n    n += 1", total),
        ] {
            let words = fault(sandbox, program);
            assert!(expected.split('|').any(|one| words.contains(one)), "{program}: {words}");
        }
    }
}

/// The kernel keeps the limit of a program's own file system, to the byte and also for files without a name.
#[test]
fn a_file_system_of_its_own_holds_exactly_its_limit() {
    let Some(sandbox) = sandbox() else { return };
    if !sandbox.notes().is_empty() {
        return eprintln!("NOT TESTED: {:?}", sandbox.notes());
    }
    holds(
        sandbox,
        "import os, resource
kept = []
written = 0
try:
    while True:
        file = open('x', 'wb', buffering=0)
        kept.append(file)
        os.unlink('x')
        for _ in range(32):
            written += file.write(b'x' * 4096)
except OSError as error:
    assert error.errno == 28, error
assert written == 1 << 20, written
kept.clear()
with open('x', 'wb') as file:
    file.write(b'x' * (1 << 20))
files = os.statvfs('.')
assert files.f_bfree == 0 and files.f_files < 1100, files
assert os.listdir('.') in (['x', 'program.py'], ['program.py', 'x']), os.listdir('.')",
    );
}

/// A program that fills its file system, or that is longer than it, is judged all the same.
#[test]
fn a_program_longer_than_its_files_may_be_runs() {
    let Some(sandbox) = sandbox() else { return };
    let narrow = CodeSection { file_bytes: 4096, ..settings() };
    let narrow = Sandbox::start(&narrow, helper()).unwrap();
    if narrow.notes().is_empty() {
        holds(
            &narrow,
            &format!("x = '{}'\nopen('own', 'w').write('x' * 4096)", "y".repeat(100_000)),
        );
    }
    holds(sandbox, "assert open('program.py').read()");
}

/// A user of its own namespaces that kept capabilities could mount.
#[test]
fn a_program_has_no_capabilities() {
    if sandbox().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for isolation in ["directory", "network"] {
        let confinement = json!({
            "interpreter": "/bin/cat", "arguments": ["/proc/self/status"], "folder": folder.path(),
            "readable": ["/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache", "/proc"], "isolation": isolation,
            "token": "",
            "settings": {"cpu_seconds": 5, "memory_bytes": 1 << 28, "file_bytes": 4096, "open_files": 16},
        });
        let output = Command::new(env!("CARGO_BIN_EXE_llm-trainer-sandbox"))
            .arg(confinement.to_string())
            .output()
            .unwrap();
        let status = String::from_utf8(output.stdout).unwrap();
        if status.is_empty() {
            eprintln!("NOT TESTED: {}", String::from_utf8_lossy(&output.stderr));
            continue;
        }
        for set in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
            assert!(status.contains(&format!("{set}:\t{:016}\n", 0)), "{isolation}: {status}");
        }
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// Also the trial's, by which a sandbox starts: not less than a busy machine takes for it.
#[test]
fn a_program_that_sleeps_is_ended_after_its_wall_time() {
    if sandbox().is_none() {
        return;
    }
    let hasty = CodeSection { wall_seconds: 20.0, ..settings() };
    let words = fault(&Sandbox::start(&hasty, helper()).unwrap(), "import time\ntime.sleep(1e6)");
    assert!(words.contains("killed after 20 s of wall time"), "{words}");
}

/// Unlinked files are on the disk all the same: a program kept 3 GB of them below a limit of 16 MiB.
#[test]
fn files_without_a_name_count() {
    let Some(sandbox) = sandbox_on_the_disk() else { return };
    let kept = "
import ctypes, os
libc = ctypes.CDLL(None)
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
kept = []
def keep(is_mapped):
    with open('x', 'w+b') as file:
        file.write(b'x' * (1 << 19))
        file.flush()
        if is_mapped:
            libc.mmap(None, 4096, 1, 1, file.fileno(), 0)
        else:
            kept.append(os.dup(file.fileno()))
    os.unlink('x')
";
    for is_mapped in ["True", "False"] {
        let program = format!("{kept}for _ in range(9): keep({is_mapped})\nwhile True: pass");
        let words = fault(sandbox, &program);
        assert!(words.contains("killed: files of over"), "{is_mapped}: {words}");
    }
    holds(sandbox, &format!("{kept}keep(False)\nos.close(kept.pop())\nkeep(False)"));
    let words = fault(
        sandbox,
        "import os\nos.posix_fallocate(os.open('x', os.O_CREAT | os.O_RDWR), 0, 4096)",
    );
    assert!(words.contains("PermissionError"), "{words}");
}

/// The trainer's own `PYTHONPATH` opened the folders it names.
#[test]
fn paths_of_the_environment_are_not_opened() {
    if sandbox().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("secret"), "gold").unwrap();
    let interpreter = folder.path().join("python");
    let script =
        format!("#!/bin/sh\nPYTHONPATH='{}' exec python3 \"$@\"\n", folder.path().display());
    fs::write(&interpreter, script).unwrap();
    fs::set_permissions(&interpreter, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let settings = CodeSection { interpreter: interpreter.display().to_string(), ..settings() };
    let sandbox = Sandbox::start(&settings, helper()).unwrap();
    let words = fault(&sandbox, &format!("open('{}/secret')", folder.path().display()));
    assert!(words.contains("PermissionError"), "{words}");
}

#[test]
fn files_of_others_are_neither_read_nor_written() {
    let Some(sandbox) = sandbox() else { return };
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret");
    fs::write(&secret, "gold").unwrap();
    let program = format!(
        "import os, pathlib
place = pathlib.Path({:?})
def refused(action):
    try:
        action()
    except PermissionError:
        return True
    except OSError as error:
        return error.errno == 18  # what Landlock says of a link or a name into another folder
    return False
pathlib.Path('own').write_text('mine')
assert pathlib.Path('own').read_text() == 'mine'
os.symlink(place, 'way')
secret = place / 'secret'
for action in [
    lambda: secret.read_text(), lambda: secret.write_text(''), lambda: secret.unlink(),
    lambda: (place / 'new').write_text(''), lambda: os.listdir(place), lambda: os.listdir('..'),
    lambda: pathlib.Path('way/secret').read_text(), lambda: os.link(secret, 'copy'),
    lambda: os.rename(secret, 'copy'), lambda: os.rename('own', place / 'own'), lambda: os.mkdir(place / 'x'),
    lambda: os.truncate(secret, 0), lambda: os.chmod(secret, 0), lambda: os.utime(secret), lambda: os.chown(secret, 0, 0),
    lambda: open('/etc/passwd'), lambda: open('/proc/self/environ'), lambda: open('/proc/1/cmdline'),
    lambda: open('/dev/tty'), lambda: os.mknod('pipe'), lambda: os.chroot('.'),
    lambda: os.setxattr(secret, 'user.x', b'1'), lambda: open('/usr/new', 'w'), lambda: open('/tmp/new', 'w'),
]:
    assert refused(action), action.__code__.co_firstlineno",
        folder.path()
    );
    holds(sandbox, &program);
    assert_eq!(fs::read_to_string(&secret).unwrap(), "gold");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn the_environment_is_empty_and_nothing_is_left_open() {
    let Some(sandbox) = sandbox() else { return };
    holds(
        sandbox,
        "import os\nassert set(os.environ) <= {'LANG', 'LC_CTYPE', 'OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'PATH', \
         'PYTHONHASHSEED', 'HOME', 'TMPDIR'}, os.environ\nopen_files = []\nfor fd in range(3, 64):\n    try: open_files.append(os.fstat(fd))\n    except OSError: pass\n\
         # The harness's own two, to say how the tests went and to say nothing.\nassert len(open_files) <= 3, open_files",
    );
}

#[test]
fn there_is_no_network() {
    let Some(sandbox) = sandbox() else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let program = format!(
        "import socket, urllib.request
def refused(action):
    try:
        action()
    except OSError:
        return True
    return False
for action in [
    lambda: socket.create_connection(('127.0.0.1', {port}), 2), lambda: urllib.request.urlopen('http://127.0.0.1:{port}', timeout=2),
    lambda: socket.socket(socket.AF_UNIX), lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
    lambda: socket.socket(socket.AF_NETLINK), lambda: socket.getaddrinfo('example.org', 80),
    lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b'x', '/run/systemd/journal/dev-log'),
]:
    assert refused(action), action.__code__.co_firstlineno
left, right = socket.socketpair()
left.send(b'within')
assert right.recv(9) == b'within'
# No limit counts what waits in a socket, and a host may let it be megabytes.
assert refused(lambda: left.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 30))
import asyncio
asyncio.run(asyncio.sleep(0))"
    );
    holds(sandbox, &program);
    assert!(listener.accept().is_err(), "somebody has connected");
}

#[test]
fn there_are_no_other_processes() {
    let Some(sandbox) = sandbox() else { return };
    holds(
        sandbox,
        "import os, subprocess, multiprocessing, signal, ctypes, fcntl
def refused(action):
    try:
        action()
    except OSError:
        return True
    return False
def daemon():
    if os.fork() == 0:
        while True: pass
pipe, other = os.pipe()
for action in [
    daemon, lambda: os.forkpty(), lambda: subprocess.run(['/bin/sh', '-c', 'sleep 9']), lambda: os.posix_spawn('/bin/sh', ['sh'], {}),
    lambda: multiprocessing.Process(target=print).start(), lambda: os.kill(os.getppid() or 1, signal.SIGKILL), lambda: os.kill(1, 9),
    lambda: os.kill(-1, signal.SIGKILL), lambda: os.kill(0, signal.SIGKILL), lambda: os.killpg(os.getpgrp(), 9), lambda: os.setsid(),
    lambda: os.setpgid(0, 0), lambda: os.nice(-5), lambda: os.setpriority(os.PRIO_PROCESS, 0, -5), lambda: os.setuid(0),
    lambda: fcntl.fcntl(pipe, fcntl.F_SETOWN, 1),
]:
    assert refused(action), action.__code__.co_firstlineno
libc = ctypes.CDLL(None, use_errno=True)
for call in [101, 272, 308, 425, 319, 298, 321, 165, 250, 29, 240]:  # ptrace, unshare, setns, io_uring_setup, memfd_create, ...
    ctypes.set_errno(0)
    assert libc.syscall(call, 0, 0, 0, 0, 0) == -1 and ctypes.get_errno() == 1, (call, ctypes.get_errno())
# The numbers of the x32 interface.
for call in [0x40000000 + 57, 0x40000000 + 41]:
    assert libc.syscall(call, 0, 0, 0, 0, 0) == -1
import resource
try: resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
except (ValueError, OSError): pass
else: raise AssertionError('limits can be raised')
import threading
thread = threading.Thread(target=os.getpid)
thread.start()
thread.join()",
    );
}

/// A fork bomb and its like are refused at the first fork: the machine has as many processes as before.
#[test]
fn a_fork_bomb_does_not_go_off() {
    let Some(sandbox) = sandbox() else { return };
    let words = fault(sandbox, "import os\nwhile True: os.fork()");
    assert!(words.contains("PermissionError"), "{words}");
    let bomb = "import ctypes\nlibc = ctypes.CDLL(None)\nwhile True: libc.fork()";
    assert!(fault(sandbox, bomb).contains("killed"));
}

#[test]
fn nothing_is_left_on_the_disk() {
    let Some(sandbox) = sandbox() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().file_name().unwrap().to_string_lossy().into_owned();
    holds(
        sandbox,
        &format!(
            "import os\nopen({mark:?}, 'w').write('x')\nos.makedirs('a/b')\nos.symlink('/', 'root')\nos.mkdir('closed', 0)"
        ),
    );
    let left = fs::read_dir(std::env::temp_dir()).unwrap().flatten().filter(|entry| {
        entry.file_name().to_string_lossy().starts_with("code-")
            && entry.path().join(&mark).exists()
    });
    assert_eq!(left.count(), 0);
}

/// A program ends with the process that judges it, even where that is killed.
#[test]
fn a_program_dies_with_its_judge() {
    if sandbox().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let confinement = json!({
        "interpreter": "/bin/sleep", "arguments": ["71.25"], "folder": folder.path(),
        "readable": ["/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache"], "isolation": "shared", "token": "",
        "settings": {"cpu_seconds": 5, "memory_bytes": 1 << 28, "file_bytes": 4096, "open_files": 16},
    });
    // The judge is a shell here, which does not become its child.
    let mut judge = Command::new("/bin/sh")
        .args(["-c", "\"$0\" \"$1\" & echo $!; wait", env!("CARGO_BIN_EXE_llm-trainer-sandbox")])
        .arg(confinement.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut stdout = std::io::BufReader::new(judge.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut stdout, &mut line).unwrap();
    let process = Path::new("/proc").join(line.trim());
    let named = || fs::read_to_string(process.join("cmdline")).unwrap_or_default();
    wait_until("it becomes the program", || {
        named().contains("71.25\0") && !named().contains("limits")
    });
    judge.kill().unwrap();
    judge.wait().unwrap();
    wait_until("it ends", || !named().contains("71.25"));
}
