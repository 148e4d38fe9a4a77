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
    let mut stream = UnixStream::connect(path).expect("the server");
    let (batch, reply, depth) = batch(workload);
    let mut buffer = vec![0; 256 << 10];
    let mut laps = workload.is_large().then(Laps::start);
    for _ in 0..requests / depth {
        stream.write_all(&batch).expect("requests");
        drain(&mut stream, reply * depth, &mut buffer);
        if let Some(laps) = &mut laps {
            laps.lap();
        }
    }
}

/// The same where the requests are copied into one buffer before each write: what whoever does so pays at the least.
pub(crate) fn copying(path: &str, workload: Workload, requests: usize) {
    let mut stream = UnixStream::connect(path).expect("the server");
    let (batch, reply, depth) = batch(workload);
    let one = &batch[..batch.len() / depth];
    let mut output = Vec::with_capacity(batch.len());
    let mut buffer = vec![0; 256 << 10];
    for _ in 0..requests / depth {
        output.clear();
        for _ in 0..depth {
            output.extend_from_slice(std::hint::black_box(one));
        }
        stream.write_all(&output).expect("requests");
        drain(&mut stream, reply * depth, &mut buffer);
    }
}

/// The same over tokio: what its runtime and its waits cost anybody.
pub(crate) fn tokio(path: &str, workload: Workload, requests: usize) {
    runtime().block_on(async {
        let stream = tokio::net::UnixStream::connect(path).await;
        let mut stream = stream.expect("the server");
        let (batch, reply, depth) = batch(workload);
        let mut buffer = vec![0; 256 << 10];
        let mut laps = workload.is_large().then(Laps::start);
        for _ in 0..requests / depth {
            stream.write_all(&batch).await.expect("requests");
            let mut left = reply * depth;
            while left > 0 {
                let most = left.min(buffer.len());
                let n = stream.read(&mut buffer[..most]).await.expect("replies");
                assert!(n > 0, "the server closed the stream");
                left -= n;
            }
            if let Some(laps) = &mut laps {
                laps.lap();
            }
        }
    });
}

/// Requests that leave together, the bytes of the reply to each, and how many they are.
fn batch(workload: Workload) -> (Vec<u8>, usize, usize) {
    let (one, reply, depth) = match workload {
        Workload::Set => (request(&[b"SET", KEY.as_bytes(), &value()]), 5, DEPTH),
        Workload::Get => (request(&[b"GET", KEY.as_bytes()]), SMALL + 9, DEPTH),
        _ => (request(&[b"GET", LARGE_KEY.as_bytes()]), LARGE + 13, 1),
    };
    (one.repeat(depth), reply, depth)
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
