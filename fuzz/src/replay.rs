//! Every target over its corpus, and over inputs near it, on the stable toolchain and without libFuzzer.
//!
//! The inputs near it are the same in each run: a change that breaks what a target holds shows here first, before
//! `make fuzz` is run.

use std::fs;
use std::path::Path;
use std::thread;

use crate::{TARGETS, Target, corpus};

/// Inputs made from each target's corpus.
const MUTATIONS: usize = 1000;

/// Longest input that is made: what libFuzzer makes of an empty corpus too.
const LONGEST: usize = 4 << 10;

/// Says what input it was where a target panics.
struct Shown<'i>(&'i [u8]);

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            let hex: String = self.0.iter().map(|byte| format!("{byte:02x}")).collect();
            eprintln!("the input, to be written to a file by `xxd -r -p`: {hex}");
        }
    }
}

fn run(target: Target, input: &[u8]) {
    let _shown = Shown(input);
    target(input);
}

/// Runs a target over its corpus, then over what a few changes make of it.
fn holds(name: &str) {
    let found = TARGETS.iter().find(|(target, _)| *target == name);
    let (_, target) = *found.expect("a target of that name");
    let inputs = corpus::read(name).expect("the target's corpus");
    assert!(!inputs.is_empty(), "{name} has no corpus");
    for input in &inputs {
        run(target, input);
    }
    let mut dice = Dice(0x9E37_79B9_7F4A_7C15);
    for _ in 0..MUTATIONS {
        let mut input = dice.pick(&inputs).clone();
        for _ in 0..1 + dice.below(4) {
            mutate(&mut input, &inputs, &mut dice);
        }
        input.truncate(LONGEST);
        run(target, &input);
    }
}

fn mutate(input: &mut Vec<u8>, inputs: &[Vec<u8>], dice: &mut Dice) {
    let at = dice.below(input.len() + 1);
    let end = (at + 1 + dice.below(16)).min(input.len());
    match dice.below(7) {
        0 => {
            if let Some(byte) = input.get_mut(at) {
                *byte ^= 1 << dice.below(8);
            }
        }
        1 => {
            // Lengths and headers are near these.
            const EDGES: [u8; 10] = [0x00, 0x01, 0x7F, 0x80, 0xFA, 0xFB, 0xFC, 0xFD, 0xFE, 0xFF];
            if let Some(byte) = input.get_mut(at) {
                *byte = *dice.pick(&EDGES);
            }
        }
        2 => input.insert(at, dice.byte()),
        3 => drop(input.drain(at..end)),
        4 => {
            let copy = input[at..end].to_vec();
            input.splice(at..at, copy);
        }
        5 => {
            let other = dice.pick(inputs);
            let from = dice.below(other.len() + 1);
            input.truncate(at);
            input.extend_from_slice(&other[from..]);
        }
        _ => input.truncate(at),
    }
}

/// A small generator (xorshift): the same in every run.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound).expect("a length");
        usize::try_from(self.next() % bound).expect("a length")
    }

    fn byte(&mut self) -> u8 {
        self.next().to_le_bytes()[3]
    }

    fn pick<'l, T>(&mut self, list: &'l [T]) -> &'l T {
        &list[self.below(list.len())]
    }
}

#[test]
fn every_target_has_a_program_and_a_corpus() {
    let names = |folder: &Path| {
        let files = fs::read_dir(folder).expect("a folder");
        let stem = |file: fs::DirEntry| file.path().with_extension("").file_name().map(Into::into);
        let mut names: Vec<std::ffi::OsString> = files
            .filter_map(|file| stem(file.expect("a file")))
            .collect();
        names.sort();
        names
    };
    let mut targets = TARGETS.map(|(name, _)| name);
    targets.sort_unstable();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    assert_eq!(names(&root.join("fuzz_targets")), targets);
    assert_eq!(names(&root.join("corpus")), targets);
}

#[test]
fn packets_hold_near_their_corpus() {
    holds("packets");
}

#[test]
fn greetings_hold_near_their_corpus() {
    holds("greeting");
}

#[test]
fn oks_hold_near_their_corpus() {
    holds("ok");
}

#[test]
fn text_rows_hold_near_their_corpus() {
    holds("text_rows");
}

#[test]
fn binary_rows_hold_near_their_corpus() {
    holds("binary_rows");
}

#[test]
fn authentications_hold_near_their_corpus() {
    holds("auth");
}

#[test]
fn round_trips_hold_near_their_corpus() {
    holds("round_trip");
}

#[test]
fn servers_hold_near_their_corpus() {
    holds("server");
}

#[test]
fn relays_hold_near_their_corpus() {
    holds("relay");
}

#[test]
fn compressed_frames_hold_near_their_corpus() {
    holds("compression");
}

#[test]
fn conversations_hold_near_their_corpus() {
    holds("conversation");
}

#[test]
fn replies_of_resp_hold_near_their_corpus() {
    holds("resp_replies");
}

#[test]
fn conversations_of_resp_hold_near_their_corpus() {
    holds("resp_conversation");
}

#[test]
fn requests_of_resp_hold_near_their_corpus() {
    holds("resp_requests");
}

#[test]
fn headers_of_the_proxy_protocol_hold_near_their_corpus() {
    holds("proxy_protocol");
}

#[test]
fn descriptions_of_clusters_hold_near_their_corpus() {
    holds("topology");
}

#[test]
fn streams_and_messages_hold_near_their_corpus() {
    holds("messages");
}
