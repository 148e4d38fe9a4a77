use onecopy_wire::{BufferConfig, Buffers};

use super::{Scanned, Scanner};
use crate::{Limits, ProtocolError};

/// Feeds a stream in chunks of at most `chunk` bytes; gives each value as it shows itself.
fn scan(stream: &[u8], chunk: usize, limits: Limits) -> Result<Vec<String>, ProtocolError> {
    let mut buffers = Buffers::new(BufferConfig::default());
    let mut scanner = Scanner::new(limits);
    let mut shown = Vec::new();
    let mut rest = stream;
    loop {
        match scanner.scan(&mut buffers)? {
            Scanned::Frame(frame) => shown.push(format!("{:?}", scanner.reply(frame, &buffers))),
            Scanned::NeedInput(_) if rest.is_empty() => return Ok(shown),
            Scanned::NeedInput(_) => {
                buffers.prepare().unwrap();
                let mut now = &rest[..rest.len().min(chunk)];
                let n = std::io::Read::read_vectored(&mut now, buffers.targets().as_mut()).unwrap();
                buffers.commit(n);
                rest = &rest[n..];
            }
        }
    }
}

#[test]
fn every_type_comes_the_same_however_the_stream_is_cut() {
    let mut stream = b"+OK\r\n-ERR no\r\n:-5\r\n$3\r\na\r\n\r\n$-1\r\n*-1\r\n_\r\n#t\r\n,1.5e3\r\n(-123\r\n\
        !5\r\nERR x\r\n=7\r\ntxt:abc\r\n*3\r\n:1\r\n*0\r\n*2\r\n:2\r\n:3\r\n%1\r\n+k\r\n~1\r\n:1\r\n\
        >2\r\n+invalidate\r\n_\r\n|1\r\n+ttl\r\n:9\r\n*2\r\n|1\r\n+a\r\n:1\r\n:7\r\n:8\r\n$0\r\n\r\n"
        .to_vec();
    stream.extend_from_slice(b"*2\r\n$200\r\n");
    stream.extend_from_slice(&[b'x'; 200]);
    stream.extend_from_slice(b"\r\n:4\r\n");
    let limits = Limits {
        large: 100,
        ..Limits::default()
    };
    let whole = scan(&stream, usize::MAX, Limits::default()).unwrap();
    assert_eq!(whole.len(), 18, "{whole:?}");
    assert_eq!(
        whole[12],
        "Array [Integer(1), Array [], Array [Integer(2), Integer(3)]]"
    );
    assert_eq!(whole[15], "Array [Integer(7), Integer(8)]");
    for chunk in 1..=stream.len() {
        assert_eq!(
            scan(&stream, chunk, Limits::default()).unwrap(),
            whole,
            "{chunk}"
        );
        assert_eq!(
            scan(&stream, chunk, limits).unwrap(),
            whole,
            "{chunk}, homes"
        );
    }
}
