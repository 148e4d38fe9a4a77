use std::io::Read;

use clap::ValueEnum;

use super::{CHUNK, LARGE, Source, Stream};

fn read(source: &mut Source, mut sizes: impl Iterator<Item = usize>, len: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while bytes.len() < len {
        let mut chunk = vec![0; sizes.next().unwrap().min(len - bytes.len())];
        let n = source.read(&mut chunk).unwrap();
        assert!(n > 0 && n <= CHUNK);
        bytes.extend_from_slice(&chunk[..n]);
    }
    bytes
}

#[test]
fn a_stream_is_its_turn_over_and_over() {
    for &stream in Stream::value_variants() {
        if stream == Stream::Large {
            continue;
        }
        let turn = stream.bytes();
        assert_eq!(Source::turn_bytes(stream), turn.len() as u64);
        let expected: Vec<u8> = turn.iter().copied().cycle().take(1 << 20).collect();
        let mut source = Source::new(stream);
        let sizes = [1, 100, 1 << 20, 16 << 10, 3].into_iter().cycle();
        assert!(read(&mut source, sizes, 1 << 20) == expected, "{stream}");
    }
}

#[test]
fn large_bulks_have_their_length_and_their_line_end() {
    let mut source = Source::new(Stream::Large);
    let turn = usize::try_from(Source::turn_bytes(Stream::Large)).unwrap();
    let bytes = read(
        &mut source,
        [16 << 10, 7, 1, 1 << 20].into_iter().cycle(),
        turn + 5,
    );
    let header = format!("${LARGE}\r\n");
    assert!(bytes.starts_with(header.as_bytes()));
    let body = &bytes[header.len()..][..LARGE];
    assert!(body.iter().all(|&byte| byte == b'x'));
    assert_eq!(&bytes[header.len() + LARGE..], b"\r\n$6710");
}
