//! Returns freed memory to the system.

#![allow(unsafe_code)]

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
