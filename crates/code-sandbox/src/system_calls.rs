//! List of the system calls that a program may make; all others are denied.
//!
//! The denied calls close what file permissions do not: new processes, the network, signals to others, owners and modes
//! of files, other processes' memory, memory that no limit counts, mounts, and all calls that a later kernel adds.

use libc::{c_long, pid_t};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Length, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch,
};

/// Allowed with any arguments.
const PLAIN: &[c_long] = &[
    // Files that Landlock lets it open, and files that are open.
    libc::SYS_openat,
    libc::SYS_openat2,
    libc::SYS_close,
    libc::SYS_close_range,
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_pread64,
    libc::SYS_preadv,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_pwrite64,
    libc::SYS_pwritev,
    libc::SYS_lseek,
    libc::SYS_ftruncate,
    libc::SYS_fadvise64,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_sendfile,
    libc::SYS_copy_file_range,
    libc::SYS_splice,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_statfs,
    libc::SYS_fstatfs,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_readlinkat,
    libc::SYS_getdents64,
    libc::SYS_getcwd,
    libc::SYS_chdir,
    libc::SYS_fchdir,
    libc::SYS_umask,
    libc::SYS_mkdirat,
    libc::SYS_unlinkat,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_linkat,
    libc::SYS_symlinkat,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_pipe2,
    libc::SYS_eventfd2,
    libc::SYS_timerfd_create,
    libc::SYS_timerfd_settime,
    libc::SYS_timerfd_gettime,
    libc::SYS_ppoll,
    libc::SYS_pselect6,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    // Data sent through a pair of sockets that the program made itself.
    libc::SYS_recvfrom,
    libc::SYS_shutdown,
    libc::SYS_getsockname,
    libc::SYS_getpeername,
    libc::SYS_getsockopt,
    // Memory, within its limit.
    libc::SYS_brk,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_mprotect,
    libc::SYS_madvise,
    libc::SYS_mincore,
    libc::SYS_msync,
    libc::SYS_mlock,
    libc::SYS_munlock,
    libc::SYS_membarrier,
    libc::SYS_get_mempolicy,
    // Its own threads and signals.
    libc::SYS_execve,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_futex,
    libc::SYS_futex_waitv,
    libc::SYS_set_robust_list,
    libc::SYS_get_robust_list,
    libc::SYS_set_tid_address,
    libc::SYS_rseq,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigpending,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_rt_sigsuspend,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_getparam,
    libc::SYS_sched_getscheduler,
    libc::SYS_sched_get_priority_max,
    libc::SYS_sched_get_priority_min,
    libc::SYS_wait4,
    libc::SYS_waitid,
    libc::SYS_getpid,
    libc::SYS_getppid,
    libc::SYS_gettid,
    libc::SYS_getpgid,
    libc::SYS_getsid,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_getresuid,
    libc::SYS_getresgid,
    libc::SYS_getgroups,
    // Clocks and the machine.
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_gettimeofday,
    libc::SYS_times,
    libc::SYS_getitimer,
    libc::SYS_setitimer,
    libc::SYS_getrusage,
    libc::SYS_getrlimit,
    libc::SYS_getrandom,
    libc::SYS_getcpu,
    libc::SYS_uname,
    libc::SYS_sysinfo,
];

/// Older calls, which newer architectures do without.
#[cfg(target_arch = "x86_64")]
const OLDER: &[c_long] = &[
    libc::SYS_arch_prctl,
    libc::SYS_open,
    libc::SYS_creat,
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_access,
    libc::SYS_readlink,
    libc::SYS_getdents,
    libc::SYS_mkdir,
    libc::SYS_rmdir,
    libc::SYS_unlink,
    libc::SYS_rename,
    libc::SYS_link,
    libc::SYS_symlink,
    libc::SYS_dup2,
    libc::SYS_pipe,
    libc::SYS_eventfd,
    libc::SYS_poll,
    libc::SYS_select,
    libc::SYS_epoll_create,
    libc::SYS_epoll_wait,
    libc::SYS_getpgrp,
    libc::SYS_time,
    libc::SYS_alarm,
    libc::SYS_pause,
];
#[cfg(not(target_arch = "x86_64"))]
const OLDER: &[c_long] = &[];

/// Commands of `fcntl` that send no signals, leases or notices to others.
const FCNTL: [libc::c_int; 11] = [
    libc::F_DUPFD,
    libc::F_DUPFD_CLOEXEC,
    libc::F_GETFD,
    libc::F_SETFD,
    libc::F_GETFL,
    libc::F_SETFL,
    libc::F_GETLK,
    libc::F_SETLK,
    libc::F_SETLKW,
    libc::F_GETPIPE_SZ,
    libc::F_SETPIPE_SZ,
];

/// Requests of `ioctl` that concern only the program itself.
const IOCTL: [u64; 6] =
    [libc::TCGETS, libc::TIOCGWINSZ, libc::FIONBIO, libc::FIOCLEX, libc::FIONCLEX, libc::FIONREAD];

/// Returns the filters in the order in which they must be applied.
///
/// # Errors
///
/// A message if the architecture is not supported.
pub(super) fn filters() -> Result<[BpfProgram; 2], String> {
    let architecture = TargetArch::try_from(std::env::consts::ARCH).map_err(words)?;
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
        (libc::SYS_kill, any_of(0, &[own_id])?),
        (libc::SYS_tgkill, any_of(0, &[own_id])?),
        // Limits may be read, never set.
        (libc::SYS_prlimit64, null(2)?),
        (libc::SYS_socketpair, any_of(0, &[bits(libc::AF_UNIX)])?),
        (libc::SYS_sendto, null(4)?),
        (libc::SYS_fcntl, any_of(1, &FCNTL.map(bits))?),
        (libc::SYS_ioctl, any_of(1, &IOCTL)?),
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
) -> Result<BpfProgram, String> {
    let filter = SeccompFilter::new(calls.into_iter().collect(), otherwise, listed, architecture);
    BpfProgram::try_from(filter.map_err(words)?).map_err(words)
}

/// Returns the rule of one comparison of an argument.
fn rule(
    argument: u8,
    length: Length,
    comparison: SeccompCmpOp,
    value: u64,
) -> Result<Vec<SeccompRule>, String> {
    let condition = SeccompCondition::new(argument, length, comparison, value).map_err(words)?;
    Ok(vec![SeccompRule::new(vec![condition]).map_err(words)?])
}

/// Returns a rule for each value that a number may have.
fn any_of(argument: u8, values: &[u64]) -> Result<Vec<SeccompRule>, String> {
    let rules = values.iter().map(|&value| rule(argument, Length::Dword, SeccompCmpOp::Eq, value));
    Ok(rules.collect::<Result<Vec<_>, _>>()?.concat())
}

fn bits(number: pid_t) -> u64 {
    u64::from(number.cast_unsigned())
}

fn code(number: libc::c_int) -> u32 {
    number.cast_unsigned()
}

#[expect(clippy::needless_pass_by_value, reason = "what `map_err` takes")]
fn words(error: seccompiler::BackendError) -> String {
    error.to_string()
}
