//! Memory that was freed, given back to the system.

#![allow(unsafe_code)]

/// Gives pages back that hold nothing any more. The allocator of the GNU libc keeps them for what
/// may come: good for a program that ends, not for one that stays (malloc_trim(3)). Elsewhere it
/// does nothing.
pub fn give_back_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: the call takes no pointer and touches nothing but free pages, under the allocator's
    // own locks.
    unsafe {
        libc::malloc_trim(0);
    }
}
