//! The time that a reply takes grows with its length and no faster.

use std::time::{Duration, Instant};

use onecopy_resp_proto::{Client, Limits, Message};
use onecopy_wire::{BufferConfig, Buffers, Core, Step};

/// How much longer the longer reply is.
const TIMES: usize = 16;

/// Bytes of the longer reply: 100 MB where there is time.
fn longest() -> usize {
    let is_soak = std::env::var_os("ONECOPY_SOAK").is_some();
    if is_soak { 100_000_000 } else { 4_000_000 }
}

/// The best of three runs, in chunks of 16 KiB; `elements` is what the reply has.
fn time(stream: &[u8], elements: usize) -> Duration {
    let run = || {
        let mut client = Client::new(Limits {
            max_elements: usize::MAX,
            ..Limits::default()
        });
        let mut buffers = Buffers::new(BufferConfig {
            max_buffer: 1 << 30,
            ..BufferConfig::default()
        });
        client.expect(1);
        let mut rest = stream;
        let started = Instant::now();
        loop {
            match client.advance(&mut buffers).unwrap() {
                Step::Message(Message::Reply(frame)) => {
                    assert_eq!(client.reply(frame, &buffers).len(), elements);
                    return started.elapsed();
                }
                _ => {
                    buffers.prepare().unwrap();
                    let mut now = &rest[..rest.len().min(16 << 10)];
                    let n =
                        std::io::Read::read_vectored(&mut now, buffers.targets().as_mut()).unwrap();
                    assert!(n > 0, "the stream is no whole reply");
                    buffers.commit(n);
                    rest = &rest[n..];
                }
            }
        }
    };
    (0..3).map(|_| run()).min().unwrap()
}

/// Linear time grows as the length does, quadratic time with its square: the bound is between the two.
fn assert_linear(make: impl Fn(usize) -> (Vec<u8>, usize)) {
    let (short, short_elements) = make(longest() / TIMES);
    let (long, long_elements) = make(longest());
    let (short_time, long_time) = (time(&short, short_elements), time(&long, long_elements));
    let bound = short_time * 5 * u32::try_from(TIMES).unwrap();
    assert!(
        long_time < bound,
        "{short_time:?} for {} B, {long_time:?} for {} B",
        short.len(),
        long.len()
    );
}

#[test]
fn an_array_takes_linear_time() {
    assert_linear(|len| {
        let count = len / 9;
        (
            [
                format!("*{count}\r\n").into_bytes(),
                b"$3\r\nabc\r\n".repeat(count),
            ]
            .concat(),
            count,
        )
    });
}

#[test]
fn an_array_of_unknown_length_takes_linear_time() {
    assert_linear(|len| {
        (
            [
                b"*?\r\n".to_vec(),
                b":1\r\n".repeat(len / 4),
                b".\r\n".to_vec(),
            ]
            .concat(),
            len / 4,
        )
    });
}

#[test]
fn a_string_in_chunks_takes_linear_time() {
    assert_linear(|len| {
        let chunks = [
            b"*1\r\n$?\r\n".to_vec(),
            b";3\r\nabc\r\n".repeat(len / 9),
            b";0\r\n".to_vec(),
        ];
        (chunks.concat(), 1)
    });
}
