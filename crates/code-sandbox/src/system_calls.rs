//! List of the system calls that a program may make; all others are denied.
//!
//! The denied calls close what file permissions do not: new processes, the network, signals to others, owners and modes
//! of files, other processes' memory, memory that no limit counts, mounts, and all calls that a later kernel adds.

use libc::{c_long, pid_t};
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen as Length, SeccompCmpOp,
    SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
};

/// Alternatives of which the arguments of a call must fit one.
type Rules = Result<Vec<SeccompRule>, BackendError>;

/// The kernel's numbers of calls, commands and requests, by their names.
macro_rules! numbers {
    ($($name:ident)*) => { &[$(libc::$name),*] };
}

/// Allowed with any arguments.
const PLAIN: &[c_long] = numbers! {
    // Files that Landlock lets it open, and files that are open.
    SYS_openat SYS_openat2 SYS_close SYS_close_range SYS_read SYS_readv SYS_pread64 SYS_preadv
    SYS_write SYS_writev SYS_pwrite64 SYS_pwritev SYS_lseek SYS_ftruncate SYS_fadvise64 SYS_fsync
    SYS_fdatasync SYS_sendfile SYS_copy_file_range SYS_splice SYS_fstat SYS_newfstatat SYS_statx
    SYS_statfs SYS_fstatfs SYS_faccessat SYS_faccessat2 SYS_readlinkat SYS_getdents64 SYS_getcwd
    SYS_chdir SYS_fchdir SYS_umask SYS_mkdirat SYS_unlinkat SYS_renameat SYS_renameat2 SYS_linkat
    SYS_symlinkat SYS_dup SYS_dup3 SYS_pipe2 SYS_eventfd2 SYS_timerfd_create SYS_timerfd_settime
    SYS_timerfd_gettime SYS_ppoll SYS_pselect6 SYS_epoll_create1 SYS_epoll_ctl SYS_epoll_pwait
    SYS_epoll_pwait2
    // Data sent through a pair of sockets that the program made itself.
    SYS_recvfrom SYS_shutdown SYS_getsockname SYS_getpeername SYS_getsockopt
    // Memory, within its limit.
    SYS_brk SYS_mmap SYS_munmap SYS_mremap SYS_mprotect SYS_madvise SYS_mincore SYS_msync SYS_mlock
    SYS_munlock SYS_membarrier SYS_get_mempolicy
    // Its own threads and signals.
    SYS_execve SYS_exit SYS_exit_group SYS_futex SYS_futex_waitv SYS_set_robust_list
    SYS_get_robust_list SYS_set_tid_address SYS_rseq SYS_rt_sigaction SYS_rt_sigprocmask
    SYS_rt_sigreturn SYS_rt_sigpending SYS_rt_sigtimedwait SYS_rt_sigsuspend SYS_sigaltstack
    SYS_restart_syscall SYS_sched_yield SYS_sched_getaffinity SYS_sched_getparam
    SYS_sched_getscheduler SYS_sched_get_priority_max SYS_sched_get_priority_min SYS_wait4
    SYS_waitid SYS_getpid SYS_getppid SYS_gettid SYS_getpgid SYS_getsid SYS_getuid SYS_geteuid
    SYS_getgid SYS_getegid SYS_getresuid SYS_getresgid SYS_getgroups
    // Clocks and the machine.
    SYS_clock_gettime SYS_clock_getres SYS_clock_nanosleep SYS_nanosleep SYS_gettimeofday SYS_times
    SYS_getitimer SYS_setitimer SYS_getrusage SYS_getrlimit SYS_getrandom SYS_getcpu SYS_uname
    SYS_sysinfo
};

/// Older calls, which newer architectures do without.
#[cfg(target_arch = "x86_64")]
const OLDER: &[c_long] = numbers! {
    SYS_arch_prctl SYS_open SYS_creat SYS_stat SYS_lstat SYS_access SYS_readlink SYS_getdents
    SYS_mkdir SYS_rmdir SYS_unlink SYS_rename SYS_link SYS_symlink SYS_dup2 SYS_pipe SYS_eventfd
    SYS_poll SYS_select SYS_epoll_create SYS_epoll_wait SYS_getpgrp SYS_time SYS_alarm SYS_pause
};
#[cfg(not(target_arch = "x86_64"))]
const OLDER: &[c_long] = &[];

/// Commands of `fcntl` that send no signals, leases or notices to others.
const FCNTL: &[libc::c_int] = numbers! {
    F_DUPFD F_DUPFD_CLOEXEC F_GETFD F_SETFD F_GETFL F_SETFL F_GETLK F_SETLK F_SETLKW F_GETPIPE_SZ
    F_SETPIPE_SZ
};

/// Requests of `ioctl` that concern only the program itself.
const IOCTL: &[u64] = numbers! {
    TCGETS TIOCGWINSZ FIONBIO FIOCLEX FIONCLEX FIONREAD
};

/// Returns the filters in the order in which they must be applied; an error where the architecture is not supported.
pub(super) fn filters() -> Result<[BpfProgram; 2], BackendError> {
    let architecture = TargetArch::try_from(std::env::consts::ARCH)?;
    let own_id = u64::from(std::process::id());
    let mut calls: Vec<(c_long, Vec<SeccompRule>)> =
        PLAIN.iter().chain(OLDER).map(|&call| (call, Vec::new())).collect();
    // Pointers are compared with 64 bits, numbers with 32.
    let null = |argument| rule(argument, Length::Qword, SeccompCmpOp::Eq, 0);
    let thread = bits(libc::CLONE_THREAD);
    calls.extend([
        (libc::SYS_clone, rule(0, Length::Dword, SeccompCmpOp::MaskedEq(thread), thread)?),
        // The second filter answers this call.
        (libc::SYS_clone3, Vec::new()),
        (libc::SYS_kill, any_of(0, [own_id])?),
        (libc::SYS_tgkill, any_of(0, [own_id])?),
        // Limits may be read, never set.
        (libc::SYS_prlimit64, null(2)?),
        (libc::SYS_socketpair, any_of(0, [bits(libc::AF_UNIX)])?),
        (libc::SYS_sendto, null(4)?),
        (libc::SYS_fcntl, any_of(1, FCNTL.iter().map(|&command| bits(command)))?),
        (libc::SYS_ioctl, any_of(1, IOCTL.iter().copied())?),
    ]);
    let denied = SeccompAction::Errno(code(libc::EPERM));
    let allowed = filter(calls, denied, SeccompAction::Allow, architecture)?;
    // The flags of `clone3` lie in memory that a filter cannot read; libraries then fall back to `clone`.
    let unknown = SeccompAction::Errno(code(libc::ENOSYS));
    let calls = vec![(libc::SYS_clone3, Vec::new())];
    Ok([filter(calls, SeccompAction::Allow, unknown, architecture)?, allowed])
}

fn filter(
    calls: Vec<(c_long, Vec<SeccompRule>)>,
    otherwise: SeccompAction,
    listed: SeccompAction,
    architecture: TargetArch,
) -> Result<BpfProgram, BackendError> {
    SeccompFilter::new(calls.into_iter().collect(), otherwise, listed, architecture)?.try_into()
}

/// Returns the rule of one comparison of an argument.
fn rule(argument: u8, length: Length, comparison: SeccompCmpOp, value: u64) -> Rules {
    let condition = SeccompCondition::new(argument, length, comparison, value)?;
    Ok(vec![SeccompRule::new(vec![condition])?])
}

/// Returns a rule for each value that a number may have.
fn any_of(argument: u8, values: impl IntoIterator<Item = u64>) -> Rules {
    let rule = |value| rule(argument, Length::Dword, SeccompCmpOp::Eq, value);
    Ok(values.into_iter().map(rule).collect::<Result<Vec<_>, _>>()?.concat())
}

fn bits(number: pid_t) -> u64 {
    u64::from(number.cast_unsigned())
}

fn code(number: libc::c_int) -> u32 {
    number.cast_unsigned()
}
