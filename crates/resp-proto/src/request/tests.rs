use std::io::IoSlice;

use onecopy_wire::{CHUNK, WriteQueue};

use super::RequestWriter;

/// What is queued, in one piece.
fn written(write: impl FnOnce(&mut RequestWriter<'_>)) -> Vec<u8> {
    let mut queue = WriteQueue::new();
    let mut writer = RequestWriter::new(&mut queue);
    write(&mut writer);
    writer.end().unwrap();
    let mut slices = [IoSlice::new(&[]); 64];
    let count = queue.slices(&(), &mut slices);
    slices[..count]
        .iter()
        .flat_map(|slice| slice.to_vec())
        .collect()
}

#[test]
fn a_bulk_of_every_number_of_digits_has_its_length_in_front() {
    for len in [
        0, 1, 9, 10, 99, 100, 101, 999, 1_000, 1_234, 9_999, 10_000, 54_321, 99_999, 100_000,
        123_456,
    ] {
        let body = vec![b'x'; len];
        let expected = [format!("${len}\r\n").as_bytes(), &body, b"\r\n"].concat();
        assert!(written(|writer| writer.bulk(&body)) == expected, "{len}");
    }
}

#[test]
fn bulks_go_on_in_the_next_chunk_wherever_one_ends() {
    for before in CHUNK - 40..CHUNK {
        let filler = vec![b'.'; before];
        let bytes = written(|writer| {
            writer.encoded(&filler);
            writer.bulk(b"0123456789abcdef");
            writer.bulk(b"");
        });
        assert_eq!(
            &bytes[before..],
            b"$16\r\n0123456789abcdef\r\n$0\r\n\r\n",
            "{before}"
        );
    }
}

#[test]
fn counts_and_numbers_are_decimal() {
    let text = |write: fn(&mut RequestWriter<'_>)| String::from_utf8(written(write)).unwrap();
    assert_eq!(text(|writer| writer.array(3)), "*3\r\n");
    assert_eq!(text(|writer| writer.array(10)), "*10\r\n");
    assert_eq!(text(|writer| writer.array(4_000_000)), "*4000000\r\n");
    assert_eq!(text(|writer| writer.integer(0)), "$1\r\n0\r\n");
    assert_eq!(text(|writer| writer.integer(90_307)), "$5\r\n90307\r\n");
    assert_eq!(text(|writer| writer.integer(100_000)), "$6\r\n100000\r\n");
    assert_eq!(
        text(|writer| writer.integer(u64::MAX)),
        "$20\r\n18446744073709551615\r\n"
    );
    assert_eq!(text(|writer| writer.signed(-5)), "$2\r\n-5\r\n");
    assert_eq!(text(|writer| writer.signed(5)), "$1\r\n5\r\n");
    assert_eq!(
        text(|writer| writer.signed(i64::MIN)),
        "$20\r\n-9223372036854775808\r\n"
    );
}
