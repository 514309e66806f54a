//! Keeps the memory of a daemon small: one heap, and what is free in it returned to the system.

#![allow(unsafe_code)]

/// All threads allocate from one heap. The GNU libc gives each thread its own (mallopt(3),
/// `M_ARENA_MAX`), of which [`give_back_memory`] hardly returns anything: after a verdict the
/// judge's kept ten megabytes. Takes effect for threads that start afterwards; with other libraries
/// it does nothing.
pub fn use_one_heap() {
    #[cfg(target_env = "gnu")]
    // SAFETY: the call takes no pointer, and only bounds a count of the allocator.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}

/// Returns free pages to the system. The GNU libc keeps them for later allocations: good for a
/// short-lived program, not for a daemon (malloc_trim(3)). With other libraries it does nothing.
pub fn give_back_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: the call takes no pointer and touches nothing but free pages, under the allocator's
    // own locks.
    unsafe {
        libc::malloc_trim(0);
    }
}
