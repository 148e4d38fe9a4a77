//! Values of any size in constant memory. Resident memory is the kernel's high-water mark of the child (`VmHWM`), read while
//! it runs; the allocator is the C library's.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use sha2::{Digest, Sha256};

use crate::{is_soak, onecopy, stderr, stdout, url, valkey_input};

/// What the whole process may take while a large value passes through: 8 MB, or 4 MiB more than for a small value where its code, of
/// which more pages are read, is not optimised.
fn max_resident() -> u64 {
    match is_soak() {
        true => 8_000_000,
        false => resident_for_a_small_value() + (4 << 20),
    }
}

fn resident_for_a_small_value() -> u64 {
    let mut child = onecopy().arg(url()).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"ECHO small\n").unwrap();
    let mut reply = [0; 6];
    child
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut reply)
        .unwrap();
    assert_eq!(&reply, b"small\n");
    let peak = resident(&child).unwrap();
    drop(stdin);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    peak
}

/// Bytes of the value: 64 MiB, or 2 GiB.
fn value_bytes() -> usize {
    if is_soak() { 2 << 30 } else { 64 << 20 }
}

/// A file of bytes that repeat nowhere soon, removed on drop.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> (Self, [u8; 32]) {
        let path =
            std::env::temp_dir().join(format!("onecopy-valkey-large-{}", std::process::id()));
        let mut file = File::create(&path).unwrap();
        let mut hash = Sha256::new();
        let mut piece = [0; 1 << 10];
        for number in 0..value_bytes() / piece.len() {
            piece[..8].copy_from_slice(&number.to_le_bytes());
            piece[512..520].copy_from_slice(&number.to_be_bytes());
            hash.update(piece);
            file.write_all(&piece).unwrap();
        }
        (Self(path), hash.finalize().into())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// The most that was resident so far, in bytes; nothing any more where it has ended.
fn resident(child: &Child) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10)
}

/// Runs a command that writes the value: how many bytes came, their hash, and the most that was resident.
fn read_value(command: &mut Command, input: &[u8]) -> (usize, [u8; 32], u64) {
    let mut child = command.spawn().unwrap();
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input).unwrap();
    }
    let mut value = child.stdout.take().unwrap();
    let mut hash = Sha256::new();
    let mut piece = vec![0; 1 << 20];
    let (mut read, mut peak) = (0, 0);
    loop {
        // It waits for us to read on: what it took for nearly all of the value is known while it runs.
        if read + piece.len() > value_bytes() - (1 << 20) {
            peak = resident(&child).unwrap_or(peak);
        }
        let n = value.read(&mut piece).unwrap();
        if n == 0 {
            break;
        }
        hash.update(&piece[..n]);
        read += n;
    }
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
    (read, hash.finalize().into(), peak)
}

#[test]
fn a_large_value_goes_in_from_a_file_and_comes_out_in_constant_memory() {
    let most = max_resident();
    let (file, sum) = Scratch::new();
    let mut child = onecopy()
        .args([url(), "-x", "SET", "large:value"])
        .stdin(Stdio::from(File::open(&file.0).unwrap()))
        .spawn()
        .unwrap();
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        peak = resident(&child).unwrap_or(peak);
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
    assert_eq!(output.stdout, b"OK\n");
    assert!(peak < most, "{peak} bytes of {most}");
    assert_eq!(
        stdout(&["STRLEN", "large:value"]),
        format!("{}\n", value_bytes())
    );

    let (read, read_sum, peak) = read_value(onecopy().args([url(), "GET", "large:value"]), b"");
    assert_eq!((read, read_sum), (value_bytes(), sum));
    assert!(peak < most, "{peak} bytes of {most}");

    // The line feed behind it ends the reply.
    let mut command = onecopy();
    command.arg(url()).stdin(Stdio::piped());
    let (read, _, peak) = read_value(&mut command, b"GET large:value\n");
    assert_eq!(read, value_bytes() + 1);
    assert!(peak < most, "{peak} bytes of {most}");
    stdout(&["DEL", "large:value"]);
}

#[test]
fn a_large_value_through_a_pipe_arrives_whole() {
    let value = vec![b'p'; 5 << 20];
    let output = valkey_input(&["-x", "SET", "large:piped"], &value);
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
    let output = crate::valkey(&["GET", "large:piped"]);
    assert!(output.stdout == value);
    // Not streamed, and whole all the same.
    let output = crate::valkey(&["-f", "json", "GET", "large:piped"]);
    assert_eq!(output.stdout.len(), value.len() + "\"\"\n".len());
    stdout(&["DEL", "large:piped"]);
}
