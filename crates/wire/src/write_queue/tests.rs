use super::*;

impl WriteQueue {
    /// Bytes of memory held.
    pub(crate) fn capacity(&self) -> usize {
        self.chunks.iter().map(Vec::capacity).sum::<usize>()
            + self.segments.capacity() * size_of::<Segment>()
    }
}

#[test]
fn a_long_list_of_segments_is_given_back_once_all_has_left() {
    let mut queue = WriteQueue::new();
    for _ in 0..1000 {
        queue.push(b"head");
        queue.push_lent(0, 0, 7);
    }
    let held = queue.capacity();
    queue.shrink();
    assert_eq!(queue.capacity(), held, "not while something waits");
    queue.advance(11_000);
    queue.shrink();
    assert_eq!(queue.capacity(), CHUNK, "only the first chunk is kept");
}

#[test]
fn nothing_appended_is_nothing_to_write() {
    let mut queue = WriteQueue::new();
    queue.push(b"");
    queue.push_patchable(b"");
    queue.push_lent(0, 3, 0);
    assert!(queue.is_empty());
    assert_eq!(queue.slices(&(), &mut [IoSlice::new(&[]); 4]), 0);
}
