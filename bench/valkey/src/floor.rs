//! What the work costs at the least: requests that were made before, replies that are drained by their known length.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::workload::{DEPTH, KEY, LARGE, LARGE_KEY, Laps, SMALL, Workload, runtime, value};

/// Stores what the workload reads.
pub(crate) fn prepare(path: &str, workload: Workload) {
    let mut stream = UnixStream::connect(path).expect("the server");
    let small = request(&[b"SET", KEY.as_bytes(), &value()]);
    stream.write_all(&small).expect("a request");
    drain(&mut stream, 5, &mut [0; 5]);
    if workload.is_large() {
        let mut size = [0; 64];
        stream
            .write_all(&request(&[b"STRLEN", LARGE_KEY.as_bytes()]))
            .expect("a request");
        let n = stream.read(&mut size).expect("a reply");
        if &size[..n] != format!(":{LARGE}\r\n").as_bytes() {
            let large = request(&[b"SET", LARGE_KEY.as_bytes(), &vec![b'x'; LARGE]]);
            stream.write_all(&large).expect("a request");
            drain(&mut stream, 5, &mut [0; 5]);
        }
    }
}

pub(crate) fn run(path: &str, workload: Workload, requests: usize) {
    each(workload, requests, batches(path, workload));
}

pub(crate) fn tokio(path: &str, workload: Workload, requests: usize) {
    each(workload, requests, tokio_batches(path, workload));
}

/// Runs the requests, large ones one by one with the time of each.
fn each(workload: Workload, requests: usize, mut batches: impl FnMut(usize)) {
    if !workload.is_large() {
        return batches(requests / DEPTH);
    }
    let mut laps = Laps::start();
    for _ in 0..requests {
        batches(1);
        laps.lap();
    }
}

/// What runs so many batches, on a connection of its own.
pub(crate) fn batches(path: &str, workload: Workload) -> impl FnMut(usize) + use<> {
    let mut stream = UnixStream::connect(path).expect("the server");
    let (batch, replies) = batch(workload);
    let mut buffer = vec![0; 256 << 10];
    move |batches| {
        for _ in 0..batches {
            stream.write_all(&batch).expect("requests");
            drain(&mut stream, replies, &mut buffer);
        }
    }
}

/// The same where the requests are copied into one buffer before each write: the least that a client which does so can cost.
pub(crate) fn copying_batches(path: &str, workload: Workload) -> impl FnMut(usize) + use<> {
    assert!(!workload.is_large(), "only small requests are gathered");
    let mut stream = UnixStream::connect(path).expect("the server");
    let (batch, replies) = batch(workload);
    let mut output = Vec::with_capacity(batch.len());
    let mut buffer = vec![0; 256 << 10];
    move |batches| {
        let one = &batch[..batch.len() / DEPTH];
        for _ in 0..batches {
            output.clear();
            for _ in 0..DEPTH {
                output.extend_from_slice(std::hint::black_box(one));
            }
            stream.write_all(&output).expect("requests");
            drain(&mut stream, replies, &mut buffer);
        }
    }
}

/// The same over tokio: what its runtime and its waits cost anybody.
pub(crate) fn tokio_batches(path: &str, workload: Workload) -> impl FnMut(usize) + use<> {
    let runtime = runtime();
    let mut stream = runtime
        .block_on(tokio::net::UnixStream::connect(path))
        .expect("the server");
    let (batch, replies) = batch(workload);
    let mut buffer = vec![0; 256 << 10];
    move |batches| {
        runtime.block_on(async {
            for _ in 0..batches {
                stream.write_all(&batch).await.expect("requests");
                let mut left = replies;
                while left > 0 {
                    let most = left.min(buffer.len());
                    let n = stream.read(&mut buffer[..most]).await.expect("replies");
                    assert!(n > 0, "the server closed the stream");
                    left -= n;
                }
            }
        });
    }
}

/// Requests that leave together, and the bytes of their replies. A large value is asked for by itself.
fn batch(workload: Workload) -> (Vec<u8>, usize) {
    let (one, reply, depth) = match workload {
        Workload::Set => (request(&[b"SET", KEY.as_bytes(), &value()]), 5, DEPTH),
        Workload::Get => (request(&[b"GET", KEY.as_bytes()]), SMALL + 9, DEPTH),
        _ => (request(&[b"GET", LARGE_KEY.as_bytes()]), LARGE + 13, 1),
    };
    (one.repeat(depth), reply * depth)
}

fn request(parts: &[&[u8]]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", parts.len()).into_bytes();
    for part in parts {
        bytes.extend_from_slice(format!("${}\r\n", part.len()).as_bytes());
        bytes.extend_from_slice(part);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

fn drain(stream: &mut UnixStream, mut left: usize, buffer: &mut [u8]) {
    while left > 0 {
        let most = left.min(buffer.len());
        let n = stream.read(&mut buffer[..most]).expect("replies");
        assert!(n > 0, "the server closed the stream");
        left -= n;
    }
}
