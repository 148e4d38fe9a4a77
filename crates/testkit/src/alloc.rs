//! An allocator that counts, and fails where it is told to.
//!
//! ```
//! use onecopy_testkit::alloc::{Allocator, Watch};
//!
//! #[global_allocator]
//! static ALLOCATOR: Allocator = Allocator;
//!
//! let watch = Watch::above(4 << 10).failing(2);
//! let (first, second) = watch.run(|| {
//!     let reserve = || Vec::<u8>::new().try_reserve_exact(8 << 10);
//!     (reserve(), reserve())
//! });
//! assert!(first.is_ok() && second.is_err());
//! assert_eq!((watch.large(), watch.failed()), (2, Some(8 << 10)));
//! ```
//!
//! A watch sees what its own thread allocates while it runs something, and nothing else: tests that run beside each other
//! do not meet, and what a test allocates for itself, outside of [`Watch::run`], never fails.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::pin;

/// The system's allocator under watch. Goes behind `#[global_allocator]` of a test.
#[derive(Debug, Default, Clone, Copy)]
pub struct Allocator;

/// What is counted on a thread, and what is to fail there.
///
/// ```text
///   Watch::run puts its tally here -> allocations change it -> and takes it back
/// ```
#[derive(Debug, Clone, Copy)]
struct Tally {
    /// Allocations of more bytes than this count as large.
    threshold: usize,
    /// The large allocation that fails, counted from 1; 0 for none.
    nth: usize,
    /// Bytes that may be in use at once.
    cap: usize,
    /// Large allocations so far, those that failed included.
    large: usize,
    /// Size of the first one that failed; 0 for none.
    failed: usize,
    /// Bytes in use, less those that were in use before and were given back since.
    used: isize,
    /// The most of them.
    peak: isize,
}

thread_local! {
    /// Constant and without a destructor: reaching it allocates nothing.
    static TALLY: Cell<Option<Tally>> = const { Cell::new(None) };
}

/// Watches what a thread allocates while [`run`](Self::run) or [`poll`](Self::poll) is under way; keeps counting from one
/// run to the next.
#[derive(Debug)]
pub struct Watch(Cell<Tally>);

impl Watch {
    /// A watch for which allocations of more than `threshold` bytes are large. None of them fails.
    pub fn above(threshold: usize) -> Self {
        Self(Cell::new(Tally {
            threshold,
            nth: 0,
            cap: usize::MAX,
            large: 0,
            failed: 0,
            used: 0,
            peak: 0,
        }))
    }

    /// The `nth` large allocation fails, counted from 1; those behind it do not.
    #[must_use]
    pub fn failing(self, nth: usize) -> Self {
        Self(Cell::new(Tally {
            nth,
            ..self.0.get()
        }))
    }

    /// An allocation, large or not, fails where more than `bytes` bytes would be in use.
    #[must_use]
    pub fn capped(self, bytes: usize) -> Self {
        Self(Cell::new(Tally {
            cap: bytes,
            ..self.0.get()
        }))
    }

    /// Runs `work` under this watch.
    ///
    /// # Panics
    /// Inside another watch's run.
    pub fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        let running = Running::new(self);
        let done = work();
        drop(running);
        done
    }

    /// Drives a future, each of its polls under this watch: what the runtime allocates between them is not of interest.
    pub async fn poll<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        poll_fn(|context| self.run(|| work.as_mut().poll(context))).await
    }

    /// How many large allocations there were, the failed one included.
    pub fn large(&self) -> usize {
        self.0.get().large
    }

    /// The size in bytes of the allocation that failed first, if any did.
    pub fn failed(&self) -> Option<usize> {
        Some(self.0.get().failed).filter(|bytes| *bytes > 0)
    }

    /// The bytes that are in use beyond those at the start.
    pub fn in_use(&self) -> usize {
        usize::try_from(self.0.get().used).unwrap_or(0)
    }

    /// The most bytes that were in use at once, beyond those at the start.
    pub fn peak(&self) -> usize {
        usize::try_from(self.0.get().peak).unwrap_or(0)
    }
}

/// Takes the watch off again, after a panic too.
struct Running<'w>(&'w Watch);

impl<'w> Running<'w> {
    fn new(watch: &'w Watch) -> Self {
        let before = TALLY.replace(Some(watch.0.get()));
        assert!(before.is_none(), "one watch at a time");
        Self(watch)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if let Some(tally) = TALLY.take() {
            self.0.0.set(tally);
        }
    }
}

impl Tally {
    /// Whether an allocation of `size` bytes may be made, in which `old` bytes continue.
    fn admits(&mut self, size: usize, old: usize) -> bool {
        let is_large = size > self.threshold;
        self.large += usize::from(is_large);
        let is_due = is_large && self.large == self.nth;
        let used = self.used.saturating_add_unsigned(size - old.min(size));
        let is_over = usize::try_from(used).is_ok_and(|used| used > self.cap);
        // A test that fails gets the memory to say so.
        if (is_due || is_over) && !std::thread::panicking() {
            if self.failed == 0 {
                self.failed = size;
            }
            return false;
        }
        true
    }

    fn took(&mut self, size: usize, old: usize) {
        self.used = self
            .used
            .saturating_add_unsigned(size)
            .saturating_sub_unsigned(old);
        self.peak = self.peak.max(self.used);
    }
}

/// Changes the thread's tally where there is one. The last allocations of a thread that ends find none.
fn with_tally<T>(change: impl FnOnce(&mut Tally) -> T) -> Option<T> {
    let cell = |cell: &Cell<Option<Tally>>| {
        let mut tally = cell.get()?;
        let changed = change(&mut tally);
        cell.set(Some(tally));
        Some(changed)
    };
    TALLY.try_with(cell).ok().flatten()
}

fn admits(size: usize, old: usize) -> bool {
    with_tally(|tally| tally.admits(size, old)).unwrap_or(true)
}

fn took(allocated: *mut u8, size: usize, old: usize) -> *mut u8 {
    if !allocated.is_null() {
        with_tally(|tally| tally.took(size, old));
    }
    allocated
}

// SAFETY: every allocation is the system's own, with the caller's own layout, or null, which the trait allows as a
// failure. Counting neither allocates nor unwinds: it reads and writes a `Cell` and saturates.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !admits(layout.size(), 0) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promises for `alloc` are handed on unchanged.
        took(unsafe { System.alloc(layout) }, layout.size(), 0)
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !admits(layout.size(), 0) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promises for `alloc_zeroed` are handed on unchanged.
        took(unsafe { System.alloc_zeroed(layout) }, layout.size(), 0)
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // One that shrinks needs no memory, and the standard library does not expect it to fail.
        if size > layout.size() && !admits(size, layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: the pointer came from the system's allocator, as all of ours do, and the caller's promises for
        // `realloc` are handed on unchanged.
        let moved = unsafe { System.realloc(pointer, layout, size) };
        took(moved, size, layout.size())
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        with_tally(|tally| tally.took(0, layout.size()));
        // SAFETY: the pointer came from the system's allocator, as all of ours do, with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }
}
