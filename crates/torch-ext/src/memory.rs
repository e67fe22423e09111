//! Controls how the C library returns memory to the system.

/// Makes the C library keep freed memory for later allocations; returns whether it will.
///
/// glibc maps each large block anew and returns it at once, so the system clears the pages of every CPU buffer of libtorch: up
/// to half of a training step. The price is that used memory stays with the process, some of it between blocks in use. It
/// affects large blocks of the main thread, where libtorch works. Call it before any large allocation. Other C libraries are
/// left unchanged.
pub fn keep_freed_memory() -> bool {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        /// Bytes taken from the system at a time beyond the request.
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

/// Asks the system to use large pages for `memory`, up to its capacity, if it has such pages.
///
/// Weights that are read from end to end then load faster: the processor looks up fewer pages, and prefetches within one. Call
/// it before the memory is first written.
pub fn prefer_large_pages<T>(memory: &mut Vec<T>) {
    #[cfg(target_os = "linux")]
    {
        /// Bytes of a large page of most processors.
        const LARGE: usize = 2 << 20;
        let bytes = memory.capacity() * size_of::<T>();
        let start = memory.as_mut_ptr().cast::<libc::c_void>();
        let before = start.addr() % LARGE;
        let length = (before + bytes).next_multiple_of(LARGE);
        if bytes >= LARGE {
            // SAFETY: the advice changes neither what memory holds nor who may use it, so that it may go beyond the vector; of an
            // address that is not mapped nothing is done.
            unsafe { libc::madvise(start.wrapping_byte_sub(before), length, libc::MADV_HUGEPAGE) };
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
            assert!(numbers.iter().zip(0..).all(|(actual, expected)| *actual == expected));
            assert_eq!(numbers.len(), count);
        }
    }
}
