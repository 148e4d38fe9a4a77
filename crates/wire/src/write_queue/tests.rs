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

/// What waits, as one text.
fn waiting(queue: &WriteQueue, lent: &[u8]) -> Vec<u8> {
    let mut slices = [IoSlice::new(&[]); 16];
    let count = queue.slices(lent, &mut slices);
    slices[..count]
        .iter()
        .flat_map(|slice| slice.iter().copied())
        .collect()
}

#[test]
fn a_queue_cut_anywhere_goes_on_behind_the_cut() {
    let lent = b"LENT";
    let whole = b"firstLENTsecondLENTthird";
    for sent in 0..whole.len() {
        for kept in 0..=whole.len() - sent {
            let mut queue = WriteQueue::new();
            for part in [&b"first"[..], b"second", b"third"] {
                queue.push(part);
                if part != b"third" {
                    queue.push_lent(0, 0, 4);
                }
            }
            if sent > 0 {
                queue.advance(sent);
            }
            queue.truncate(kept);
            assert_eq!(waiting(&queue, lent), whole[sent..][..kept], "{sent} sent");
            assert_eq!(queue.len(), kept);

            queue.push(b"more");
            queue.push_lent(0, 1, 2);
            queue.push(b"end");
            let expected = [&whole[sent..][..kept], b"moreENend"].concat();
            assert_eq!(waiting(&queue, lent), expected, "{sent} sent, {kept} kept");
            queue.advance(expected.len());
            assert!(queue.is_empty());
        }
    }
}

#[test]
fn a_queue_of_several_chunks_is_cut_back_to_one() {
    let bytes: Vec<u8> = (0..=u8::MAX).cycle().take(3 * CHUNK).collect();
    let mut queue = WriteQueue::new();
    queue.push(&bytes);
    queue.truncate(CHUNK + 5);
    queue.push(b"end");
    let expected = [&bytes[..CHUNK + 5], b"end"].concat();
    assert_eq!(waiting(&queue, b""), expected);
}
