//! The session against the library's own server, in memory.

use onecopy_testkit::certificate::Authority;
use onecopy_wire::WireError;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, SupportedProtocolVersion};
use std::io::{Read as _, Write as _};

use super::*;
use crate::tls::{TlsCache, TlsConnector, TlsOptions};

const VERSIONS: [&SupportedProtocolVersion; 2] = [&rustls::version::TLS12, &rustls::version::TLS13];

/// Both ends.
struct Pair {
    client: Session,
    server: ServerConnection,
    /// What the server has read.
    heard: Vec<u8>,
}

impl Pair {
    fn new(version: &'static SupportedProtocolVersion) -> Self {
        let options = TlsOptions {
            verify: Verify::None,
            ..TlsOptions::default()
        };
        let connector = TlsConnector::new(&options, "localhost", &TlsCache::default()).unwrap();
        let certificate = Authority::new("tests").server(&["localhost"]);
        let config = ServerConfig::builder_with_provider(Arc::new(
            rustls::crypto::aws_lc_rs::default_provider(),
        ))
        .with_protocol_versions(&[version])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from_pem_slice(certificate.certificate.as_bytes()).unwrap()],
            PrivateKeyDer::from_pem_slice(certificate.key.as_bytes()).unwrap(),
        )
        .unwrap();
        let mut server = ServerConnection::new(config.into()).unwrap();
        server.set_buffer_limit(None);
        Self {
            client: connector.session().unwrap(),
            server,
            heard: Vec::new(),
        }
    }

    fn established(version: &'static SupportedProtocolVersion) -> Self {
        let mut pair = Self::new(version);
        loop {
            let is_done = pair.client.shake_hands().unwrap();
            pair.deliver_to_server();
            pair.deliver_to_client();
            if is_done {
                return pair;
            }
        }
    }

    fn deliver_to_server(&mut self) {
        let mut unsent = self.client.unsent();
        let n = unsent.len();
        while !unsent.is_empty() {
            self.server.read_tls(&mut unsent).unwrap();
            self.server.process_new_packets().unwrap();
            // Its end is that there is no more for now.
            let _ = self.server.reader().read_to_end(&mut self.heard);
        }
        if n > 0 {
            self.client.sent(n);
        }
    }

    fn deliver_to_client(&mut self) {
        let mut records = Vec::new();
        while self.server.wants_write() {
            self.server.write_tls(&mut records).unwrap();
        }
        self.put(&records);
    }

    fn put(&mut self, mut records: &[u8]) {
        while !records.is_empty() {
            self.client.prepare().unwrap();
            let n = scatter(records, self.client.targets().as_mut(), 0);
            self.client.commit(n);
            records = &records[n..];
        }
    }

    /// The server says these, each in records of its own.
    fn say(&mut self, parts: &[&[u8]]) {
        for part in parts {
            self.server.writer().write_all(part).unwrap();
            self.deliver_to_client();
        }
    }

    /// What the client has written arrives.
    fn heard(&mut self) -> Vec<u8> {
        self.deliver_to_server();
        std::mem::take(&mut self.heard)
    }

    /// One read into targets of these lengths.
    fn read(&mut self, lens: &[usize]) -> (Read, Vec<u8>) {
        let mut memory: Vec<_> = lens.iter().map(|len| vec![0; *len]).collect();
        let mut slices: Vec<_> = memory
            .iter_mut()
            .map(|part| IoSliceMut::new(part))
            .collect();
        let read = self.client.read(&mut slices).unwrap();
        let n = match read {
            Read::Bytes(n) => n,
            _ => 0,
        };
        (read, memory.concat()[..n].to_vec())
    }
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|i| u8::try_from(i % 251).unwrap()).collect()
}

fn slices<'s>(parts: &[&'s [u8]]) -> Vec<IoSlice<'s>> {
    parts.iter().map(|part| IoSlice::new(part)).collect()
}

/// The lengths of the records that wait to be sent, without their headers.
fn records(session: &Session) -> Vec<usize> {
    let mut lens = Vec::new();
    let mut rest = session.unsent();
    while let Some(len) = record_len(rest) {
        lens.push(len);
        rest = &rest[RECORD_HEADER + len..];
    }
    lens
}

#[test]
fn a_session_says_what_was_agreed_on_once_it_stands() {
    for (version, name) in VERSIONS.into_iter().zip(["TLSv1.2", "TLSv1.3"]) {
        let agreed = Pair::established(version).client.agreed().unwrap();
        assert_eq!(agreed.version, name);
        assert!(
            agreed.cipher_suite.contains("_WITH_") || name == "TLSv1.3",
            "{agreed:?}"
        );
        assert_eq!(agreed.verify, Verify::None);
        assert_eq!(Pair::new(version).client.agreed(), None);
    }
}

#[test]
fn a_record_that_the_targets_do_not_hold_is_left_for_the_next_reads_in_order() {
    for version in VERSIONS {
        for lens in [&[1][..], &[3, 5], &[0, 7], &[1000, 1, 1000], &[RECORD - 1]] {
            let mut pair = Pair::established(version);
            let all = pattern(RECORD + 100);
            pair.say(&[&all[..RECORD], &all[RECORD..]]);
            let mut read = Vec::new();
            while let (Read::Bytes(n), bytes) = pair.read(lens) {
                assert!(n > 0 && n <= lens.iter().sum());
                read.extend(bytes);
            }
            assert!(read == all, "{lens:?}: {} bytes", read.len());
            assert_eq!(pair.read(lens).0, Read::NeedInput);
        }
    }
}

#[test]
fn records_that_fit_are_read_together_and_one_that_may_not_waits() {
    let mut pair = Pair::established(&rustls::version::TLS13);
    pair.say(&[b"one", b"and two", &pattern(1000)]);
    assert_eq!(
        pair.read(&[4, 0, 100]),
        (Read::Bytes(10), b"oneand two".to_vec())
    );
    assert_eq!(pair.read(&[400, 2000]), (Read::Bytes(1000), pattern(1000)));
    assert_eq!(pair.read(&[1]).0, Read::NeedInput);
}

#[test]
fn a_record_cut_at_any_byte_is_read_once_it_is_whole() {
    let mut pair = Pair::established(&rustls::version::TLS13);
    pair.server.writer().write_all(b"whole").unwrap();
    let mut record = Vec::new();
    pair.server.write_tls(&mut record).unwrap();
    let (last, first) = record.split_last().unwrap();
    for byte in first {
        pair.put(&[*byte]);
        assert_eq!(pair.read(&[100]).0, Read::NeedInput);
    }
    pair.put(&[*last]);
    assert_eq!(pair.read(&[100]), (Read::Bytes(5), b"whole".to_vec()));
}

#[test]
fn small_parts_of_a_write_go_in_one_record() {
    let mut pair = Pair::established(&rustls::version::TLS13);
    let parts: [&[u8]; 4] = [b"head", b"", b"er and", b" body"];
    assert_eq!(pair.client.write(&slices(&parts)).unwrap(), 15);
    assert_eq!(records(&pair.client).len(), 1);
    assert_eq!(pair.heard(), b"header and body");
}

#[test]
fn a_write_takes_one_record_of_small_parts_and_four_of_a_large_one() {
    for version in VERSIONS {
        let mut pair = Pair::established(version);
        let large = pattern(100 << 10);
        let half = &large[..RECORD - 1];
        assert_eq!(pair.client.write(&slices(&[half, &large])).unwrap(), RECORD);
        assert_eq!(records(&pair.client).len(), 1);
        assert!(pair.heard() == [half, &large[..1]].concat());
        assert_eq!(pair.client.write(&slices(&[&large, b"x"])).unwrap(), WRITE);
        assert_eq!(records(&pair.client).len(), 4);
        assert!(pair.heard() == large[..WRITE]);
        assert_eq!(pair.client.write(&slices(&[&large])).unwrap(), WRITE);
        assert!(pair.heard() == large[..WRITE]);
        assert_eq!(pair.client.write(&[]).unwrap(), 0);
        assert!(!pair.client.has_unsent());
    }
}

#[test]
fn what_is_sent_in_pieces_stays_in_order_and_can_be_dropped() {
    let mut pair = Pair::established(&rustls::version::TLS13);
    pair.client.write(&slices(&[b"piece by piece"])).unwrap();
    while let [byte, ..] = *pair.client.unsent() {
        pair.server.read_tls(&mut &[byte][..]).unwrap();
        pair.server.process_new_packets().unwrap();
        pair.client.sent(1);
    }
    let _ = pair.server.reader().read_to_end(&mut pair.heard);
    assert_eq!(pair.heard(), b"piece by piece");
    pair.client.write(&slices(&[b"nobody reads this"])).unwrap();
    pair.client.drop_unsent();
    assert!(!pair.client.has_unsent());
    assert_eq!(pair.client.unsent(), b"");
}

#[test]
fn what_has_come_when_something_is_written_is_kept_for_the_next_read() {
    for version in VERSIONS {
        let mut pair = Pair::established(version);
        pair.say(&[b"first, ", b"second, "]);
        assert_eq!(pair.read(&[2]), (Read::Bytes(2), b"fi".to_vec()));
        pair.client.write(&slices(&[b"question"])).unwrap();
        pair.say(&[b"third"]);
        let mut read = Vec::new();
        while let (Read::Bytes(_), bytes) = pair.read(&[3]) {
            read.extend(bytes);
        }
        assert_eq!(read, b"rst, second, third");
        assert_eq!(pair.heard(), b"question");
    }
}

#[test]
fn the_end_comes_behind_the_last_byte() {
    for version in VERSIONS {
        let mut pair = Pair::established(version);
        pair.say(&[b"last words"]);
        pair.server.send_close_notify();
        pair.deliver_to_client();
        assert_eq!(pair.read(&[4]), (Read::Bytes(4), b"last".to_vec()));
        assert_eq!(pair.read(&[40]), (Read::Bytes(6), b" words".to_vec()));
        assert_eq!(pair.read(&[40]).0, Read::Closed);
        assert_eq!(pair.read(&[40]).0, Read::Closed);
    }
}

#[test]
fn a_record_that_was_tampered_with_is_an_error_for_ever_and_the_server_is_told() {
    for version in VERSIONS {
        let mut pair = Pair::established(version);
        pair.server.writer().write_all(b"pay 10").unwrap();
        let mut record = Vec::new();
        pair.server.write_tls(&mut record).unwrap();
        *record.last_mut().unwrap() ^= 1;
        pair.put(&record);
        for _ in 0..2 {
            let mut into = [0; 16];
            let error = pair
                .client
                .read(&mut [IoSliceMut::new(&mut into)])
                .unwrap_err();
            assert!(matches!(error, TlsError::Failed(_)), "{error:?}");
            assert_eq!(into, [0; 16], "nothing of it is handed over");
        }
        let mut alert = pair.client.unsent();
        pair.server.read_tls(&mut alert).unwrap();
        let told = pair.server.process_new_packets().unwrap_err();
        assert!(matches!(told, rustls::Error::AlertReceived(_)), "{told:?}");
    }
}

#[test]
fn clear_text_instead_of_the_server_is_an_error_that_says_so() {
    for clear in [
        &b"\x07\0\0\x02\0\0\0\x02\0\0\0"[..],
        b"\x15\0\0\x02\xff\x15\x04#28000no",
    ] {
        let mut pair = Pair::new(&rustls::version::TLS13);
        assert!(!pair.client.shake_hands().unwrap());
        pair.put(clear);
        let error = pair.client.shake_hands().unwrap_err().to_string();
        assert!(
            error.starts_with("what the server sent is not tls"),
            "{error}"
        );
    }
}

#[test]
fn a_handshake_that_the_server_ends_does_not_stand() {
    let mut pair = Pair::new(&rustls::version::TLS13);
    assert!(!pair.client.shake_hands().unwrap());
    // close_notify, a warning.
    pair.put(b"\x15\x03\x03\x00\x02\x01\x00");
    assert!(!pair.client.shake_hands().unwrap_or(false));
    assert_eq!(pair.client.agreed(), None);
}

#[test]
fn what_came_before_an_error_is_read_and_then_the_error() {
    for version in VERSIONS {
        let mut pair = Pair::established(version);
        pair.say(&[b"last words"]);
        pair.put(b"\x17\x03\x03\x00\x20no record of this session at all");
        assert_eq!(
            pair.read(&[100_000]),
            (Read::Bytes(10), b"last words".to_vec())
        );
        for _ in 0..3 {
            let mut into = [0; 16];
            let error = pair.client.read(&mut [IoSliceMut::new(&mut into)]);
            assert!(matches!(error, Err(TlsError::Failed(_))), "{error:?}");
            assert!(pair.client.write(&slices(&[b"more"])).is_err());
            assert!(pair.client.close_notify().is_err());
        }
    }
}

#[test]
fn copies_are_counted_on_both_ways() {
    let mut pair = Pair::established(&rustls::version::TLS13);
    let before = pair.client.copied();
    pair.say(&[&pattern(1000)]);
    pair.read(&[1000]);
    assert_eq!(
        pair.client.copied() - before,
        2000,
        "into the record and the targets"
    );
    let before = pair.client.copied();
    pair.say(&[&pattern(1000)]);
    pair.read(&[400]);
    pair.read(&[1000]);
    assert_eq!(
        pair.client.copied() - before,
        2600,
        "600 of them by way of what is left"
    );
    let before = pair.client.copied();
    pair.client.write(&slices(&[&pattern(500)])).unwrap();
    assert_eq!(pair.client.copied() - before, 1000);
    pair.heard();
    let before = pair.client.copied();
    pair.client.write(&slices(&[b"ab", b"cd"])).unwrap();
    assert_eq!(pair.client.copied() - before, 12, "put together first");
}

#[test]
fn memory_is_given_back_but_for_what_is_still_to_be_read_or_sent() {
    let mut pair = Pair::established(&rustls::version::TLS13);
    pair.say(&[&pattern(RECORD)]);
    pair.read(&[10]);
    pair.client.write(&slices(&[b"un", b"sent"])).unwrap();
    pair.client.release(0);
    assert_eq!(pair.read(&[RECORD]).1, &pattern(RECORD)[10..]);
    assert_eq!(pair.heard(), b"unsent");
    pair.client.release(0);
    let Session {
        left,
        gathered,
        output,
        ..
    } = &pair.client;
    assert_eq!(
        left.capacity() + gathered.capacity() + output.bytes.capacity(),
        0
    );
    pair.say(&[b"and on"]);
    assert_eq!(pair.read(&[10]), (Read::Bytes(6), b"and on".to_vec()));
}

#[test]
fn debug_shows_nothing_of_what_is_said() {
    let mut pair = Pair::established(&rustls::version::TLS13);
    pair.say(&[b"hunter2 hunter2"]);
    pair.read(&[2]);
    pair.client.write(&slices(&[b"hunter2"])).unwrap();
    let shown = format!("{:?}", pair.client);
    for secret in ["hunter2", "104, 117", "68, 75"] {
        assert!(!shown.contains(secret), "{shown}");
    }
    assert!(shown.len() < 400, "{shown}");
}

#[test]
fn a_second_farewell_behind_both_ends_is_refused_at_once() {
    let mut pair = Pair::established(&rustls::version::TLS13);
    pair.client.close_notify().unwrap();
    pair.deliver_to_server();
    pair.server.send_close_notify();
    pair.deliver_to_client();
    assert_eq!(pair.read(&[4]).0, Read::Closed);
    assert!(pair.client.close_notify().is_err());
    assert!(pair.client.last_words().is_empty());
}

thread_local!(pub(super) static NO_MEMORY: std::cell::Cell<bool> = const { std::cell::Cell::new(false) });

#[test]
fn no_memory_for_what_is_left_ends_the_session_with_just_that() {
    let mut pair = Pair::established(&rustls::version::TLS13);
    pair.say(&[&pattern(RECORD)]);
    NO_MEMORY.set(true);
    let first = pair.read(&[10]);
    NO_MEMORY.set(false);
    assert_eq!(first.0, Read::Bytes(10));
    let mut into = [0; 16];
    let again = pair.client.read(&mut [IoSliceMut::new(&mut into)]);
    assert!(
        matches!(again, Err(TlsError::Buffer(WireError::OutOfMemory { .. }))),
        "{again:?}"
    );
}

#[test]
fn only_buffers_over_the_bound_are_given_back() {
    let mut pair = Pair::established(&rustls::version::TLS13);
    let parts = [pattern(100), pattern(200)];
    pair.client
        .write(&[IoSlice::new(&parts[0]), IoSlice::new(&parts[1])])
        .unwrap();
    pair.deliver_to_server();
    pair.say(&[&pattern(RECORD)]);
    assert_eq!(pair.read(&[10]).0, Read::Bytes(10));
    assert_eq!(pair.read(&[RECORD]).0, Read::Bytes(RECORD - 10));
    let held = |session: &Session| {
        [
            session.left.capacity(),
            session.output.bytes.capacity(),
            session.gathered.capacity(),
        ]
    };
    let before = held(&pair.client);
    assert!(before.iter().all(|bytes| *bytes > 0), "{before:?}");
    pair.client.release(256 << 10);
    assert_eq!(held(&pair.client), before);
    pair.client.release(0);
    assert_eq!(held(&pair.client), [0; 3]);
}

#[test]
fn the_length_of_a_record_has_two_bytes() {
    assert_eq!(record_len(&[23, 3, 3, 0x40, 0x01, 0]), Some(0x4001));
    assert_eq!(record_len(&[23, 3, 3, 0x40]), None);
}

#[test]
fn nothing_is_there_to_be_read_until_a_whole_record_is() {
    for version in VERSIONS {
        let mut pair = Pair::established(version);
        let mut targets = [0; 64];
        while pair
            .client
            .read(&mut [IoSliceMut::new(&mut targets)])
            .unwrap()
            != Read::NeedInput
        {}
        assert!(!pair.client.has_input());
        pair.server.writer().write_all(b"said").unwrap();
        pair.deliver_to_client();
        assert!(pair.client.has_input());
    }
}

#[test]
fn a_buffer_of_exactly_what_may_be_kept_stays() {
    let mut pair = Pair::established(VERSIONS[1]);
    let client = &mut pair.client;
    client.left = Vec::with_capacity(100);
    client.gathered = Vec::with_capacity(100);
    client.output = Output::default();
    client.output.bytes = Vec::with_capacity(100);
    let kept = |client: &Session| {
        let buffers = [&client.left, &client.gathered, &client.output.bytes];
        buffers.map(|buffer| buffer.capacity() >= 100)
    };
    client.release(100);
    assert_eq!(kept(client), [true; 3]);
    client.release(99);
    assert_eq!(kept(client), [false; 3]);
}
