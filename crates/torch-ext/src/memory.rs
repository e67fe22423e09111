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

/// Asks the system to lay what is written to `memory`, up to its capacity, on large pages, where it has such.
///
/// Weights that are read from end to end come faster then: the processor looks up fewer pages, and fetches ahead within one. To be
/// called before the memory is first written.
pub fn prefer_large_pages<T>(memory: &mut Vec<T>) {
    #[cfg(target_os = "linux")]
    {
        /// Bytes of a large page of most processors.
        const LARGE: usize = 2 << 20;
        let bytes = memory.capacity() * size_of::<T>();
        let start = memory.as_mut_ptr().cast::<libc::c_void>();
        let before = start.addr() % LARGE;
        let whole = (before + bytes).next_multiple_of(LARGE);
        if bytes >= LARGE {
            // SAFETY: the advice changes neither what memory holds nor who may use it, so that it may go beyond the vector; of an
            // address that is not mapped nothing is done.
            unsafe { libc::madvise(start.wrapping_byte_sub(before), whole, libc::MADV_HUGEPAGE) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = memory;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_on_large_pages_is_memory() {
        for count in [0, 1, 100, 3 << 20] {
            let mut numbers: Vec<u32> = Vec::with_capacity(count);
            prefer_large_pages(&mut numbers);
            numbers.extend((0..).take(count));
            assert!(numbers.iter().zip(0..).all(|(found, expected)| *found == expected));
            assert_eq!(numbers.len(), count);
        }
    }
}
