//! How the C library hands memory back to the system.

/// Makes the C library keep memory that was freed for what is asked for next, and says whether it will.
///
/// glibc maps each large block anew and gives it back at once, so every buffer of libtorch on the CPU costs its pages
/// being cleared: up to half of a training step. The price is that memory once used stays with the process, and some of it
/// lies between blocks in use. Large blocks of the main thread are meant, where libtorch works; to be called before anything large is made; other C libraries are left as they are.
pub fn keep_freed_memory() -> bool {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        /// How much more than was asked for is taken from the system at a time, in bytes.
        const GROWTH: libc::c_int = 64 << 20;
        let settings = [
            (libc::M_MMAP_MAX, 0),
            (libc::M_TRIM_THRESHOLD, libc::c_int::MAX),
            (libc::M_TOP_PAD, GROWTH),
        ];
        settings.into_iter().all(|(name, value)| {
            // SAFETY: takes two integers and keeps no reference; glibc guards its own state with a lock.
            unsafe { libc::mallopt(name, value) == 1 }
        })
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    false
}
