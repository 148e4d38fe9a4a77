//! The work for a reply grows with its length and no faster: bytes copied always, time in the soak. The instructions for a long
//! reply are held by `make gates`.

use std::time::{Duration, Instant};

use onecopy_resp_proto::{Client, Limits, Message};
use onecopy_wire::{BufferConfig, Buffers, Core, Step};

/// How much longer the longer reply is.
const TIMES: usize = 16;

fn is_soak() -> bool {
    std::env::var_os("ONECOPY_SOAK").is_some()
}

/// Bytes of the longer reply.
fn longest() -> usize {
    if is_soak() { 100_000_000 } else { 4_000_000 }
}

/// The time and the bytes copied for a reply that comes in chunks of 16 KiB; `elements` is what it has.
fn cost(stream: &[u8], elements: usize) -> (Duration, u64) {
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
                    return (started.elapsed(), buffers.meter().copied());
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

/// Linear costs grow as the length does, quadratic ones with its square: the bound is between the two.
fn assert_linear(make: impl Fn(usize) -> (Vec<u8>, usize)) {
    let (short, short_elements) = make(longest() / TIMES);
    let (long, long_elements) = make(longest());
    let (short_time, short_copied) = cost(&short, short_elements);
    let (long_time, long_copied) = cost(&long, long_elements);
    assert!(
        long_copied <= 2 * long.len() as u64 && short_copied <= 2 * short.len() as u64,
        "{short_copied} copied for {} B, {long_copied} for {} B",
        short.len(),
        long.len()
    );
    let bound = short_time * 5 * u32::try_from(TIMES).unwrap();
    assert!(
        !is_soak() || long_time < bound,
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
