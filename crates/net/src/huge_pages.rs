//! Huge pages for large values: a new allocation of 64 MiB costs 16,384 page faults, and 32 with huge pages.
//!
//! This file contains the only `unsafe` code outside the C interface. `docs/design/huge-pages.md` says what it gains, and why
//! there is no alternative.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;

/// Asks the system for huge pages in memory that was not touched yet. Has no effect if the system has none to give.
#[cfg(target_os = "linux")]
pub fn advise_huge_pages(memory: &mut [MaybeUninit<u8>]) {
    use rustix::mm::{Advice, madvise};

    let page = rustix::param::page_size();
    let before = memory.as_ptr().align_offset(page);
    let Some(len) = memory.len().checked_sub(before) else {
        return;
    };
    let whole = &mut memory[before..before + len / page * page];
    // SAFETY: the range is whole pages inside of memory that is borrowed here for itself alone, and MADV_HUGEPAGE changes
    // neither what it holds nor whether it may be used, only the size of the pages behind it.
    let _ = unsafe {
        madvise(
            whole.as_mut_ptr().cast(),
            whole.len(),
            Advice::LinuxHugepage,
        )
    };
}

/// Does nothing: other systems choose the size of their pages themselves.
#[cfg(not(target_os = "linux"))]
pub fn advise_huge_pages(memory: &mut [MaybeUninit<u8>]) {
    let _ = memory;
}
