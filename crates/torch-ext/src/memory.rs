//! How memory comes from the system and goes back to it.

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

/// Asks the system to hold this memory in huge pages, where it has whole ones, and says whether it agreed.
///
/// Weights that are read once a token come a third to twice as fast from them: a page of 4 KiB ends what the processor reads
/// ahead, and looking up its address costs as much as reading it. What was written already is moved at once, where the kernel
/// can (Linux 6.1), else page by page later.
pub fn advise_huge_pages<T>(memory: &[T]) -> bool {
    #[cfg(target_os = "linux")]
    {
        const HUGE: usize = 2 << 20;
        let own = memory.as_ptr_range();
        let start = (own.start as usize).next_multiple_of(HUGE);
        let end = own.end as usize / HUGE * HUGE;
        if start >= end {
            return false;
        }
        // SAFETY: the range lies within `memory`, which is borrowed meanwhile; advice changes no byte of it.
        let advise =
            |advice| unsafe { libc::madvise(start as *mut libc::c_void, end - start, advice) == 0 };
        let agreed = advise(libc::MADV_HUGEPAGE);
        let _at_once = advise(libc::MADV_COLLAPSE);
        agreed
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = memory;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::advise_huge_pages;

    #[test]
    fn advice_changes_no_byte_and_needs_a_whole_page() {
        let numbers: Vec<u32> = (0..3 << 20).collect();
        let _agreed = advise_huge_pages(&numbers);
        assert!(numbers.iter().zip(0..).all(|(found, expected)| *found == expected));
        assert!(!advise_huge_pages(&numbers[..1000]));
        assert!(!advise_huge_pages::<u8>(&[]));
    }
}
