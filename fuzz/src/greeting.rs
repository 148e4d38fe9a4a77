//! The greeting and the rest of a client's login.
//!
//! | bytes | field                                                  |
//! |-------|--------------------------------------------------------|
//! | 1     | configuration: TLS (2 bits), Unix socket, verified TLS |
//! | 1     | plugins that are allowed; the highest bit: any key too |
//! | 1     | how the stream is cut                                  |
//! | rest  | what the server sends, as chunks of a login            |
//!
//! Held: the login comes to the same however the greeting is cut; the password never leaves but over a channel that may
//! carry it; nothing at all leaves where TLS is demanded and not offered.

use onecopy_mysql_proto::Error;
use onecopy_mysql_proto::auth::{AuthOptions, PluginSet, Secret};
use onecopy_mysql_proto::client::{Handshake, HandshakeConfig, HandshakeReply, TlsDemand};
use onecopy_wire::{Buffers, Core};

use crate::crypto::{Plain, is_slow};
use crate::delivery::Pieces;
use crate::input::Input;
use crate::packets::check_line;
use crate::pump::{Outcome, Pump};
use crate::session::{LIMITS, buffers};
use crate::stream::packets;

/// No input contains it at random.
const PASSWORD: &[u8] = b"correct horse battery staple";

/// What the login came to.
#[derive(Debug, PartialEq)]
enum End {
    In(u32),
    Refused(Vec<u8>),
    Failed(Error),
}

struct Login {
    config: HandshakeConfig,
    /// Whether a password may be sent over the stream before TLS, and behind it.
    carries: [bool; 2],
}

/// Logs in twice, with the server's bytes whole and in pieces.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let login = Login::new(input.byte(), input.byte());
    let pieces = Pieces::new(input.byte());
    let server = packets(&mut input, 0);
    if is_slow(&server) {
        return;
    }
    let (whole, whole_sent) = login.play(&server, Pieces::WHOLE);
    let (cut, cut_sent) = login.play(&server, pieces);
    // What comes too early shows only where it has arrived by then.
    let is_early =
        |end: &End| matches!(end, End::Failed(Error::Unsolicited | Error::BytesBeforeTls));
    if !is_early(&whole) && !is_early(&cut) {
        assert_eq!(whole, cut);
        assert_eq!(whole_sent, cut_sent);
    }
}

impl Login {
    #[allow(clippy::needless_update)] // a field that is added keeps its default here
    fn new(flags: u8, allowed: u8) -> Self {
        let is_unix = flags & 4 != 0;
        let tls_verifies = flags & 8 != 0;
        let config = HandshakeConfig {
            user: b"ada".to_vec(),
            password: Secret::new(PASSWORD),
            database: (flags & 16 != 0).then(|| b"shop".to_vec()),
            is_unix,
            tls: match flags & 3 {
                0 | 1 => TlsDemand::None,
                2 => TlsDemand::IfOffered,
                _ => TlsDemand::Required,
            },
            tls_verifies,
            auth: AuthOptions {
                allowed: PluginSet(allowed & 0x7F),
                get_server_public_key: allowed & 0x80 != 0,
                crypto: &Plain,
                ..AuthOptions::default()
            },
            multi_statements: flags & 32 != 0,
            found_rows: flags & 64 != 0,
            full_metadata: flags & 128 != 0,
            attributes: vec![("name".into(), "value".into())],
            ..HandshakeConfig::default()
        };
        Self {
            config,
            carries: [is_unix, is_unix || tls_verifies],
        }
    }

    fn play(&self, server: &[u8], pieces: Pieces) -> (End, Vec<u8>) {
        let mut handshake = Handshake::new(self.config.clone(), LIMITS);
        let mut buffers = Buffers::new(buffers());
        let mut pump = Pump::new(server, pieces);
        let mut tls_from = None;
        let end = loop {
            match pump.step(&mut handshake, &mut buffers, &()) {
                Outcome::Message(HandshakeReply::Done) => {
                    let core = handshake.into_core();
                    assert!(core.is_idle());
                    break End::In(core.session().connection_id);
                }
                Outcome::Message(HandshakeReply::Err(span)) => {
                    break End::Refused(buffers.bytes(span).to_vec());
                }
                Outcome::StartTls => {
                    assert_eq!(tls_from, None, "tls in tls");
                    tls_from = Some(pump.sent().len());
                    if let Err(error) = handshake.tls_started(&mut buffers) {
                        break End::Failed(error);
                    }
                }
                Outcome::Failed(error) => {
                    check_line(&error);
                    break End::Failed(error);
                }
            }
        };
        pump.check_meter(&buffers, 0);
        self.check_sent(pump.sent(), tls_from, &end);
        (end, pump.sent().to_vec())
    }

    fn check_sent(&self, sent: &[u8], tls_from: Option<usize>, end: &End) {
        let (clear, secret) = sent.split_at(tls_from.unwrap_or(sent.len()));
        for (bytes, carries) in [clear, secret].into_iter().zip(self.carries) {
            let leaks = bytes
                .windows(PASSWORD.len())
                .any(|window| window == PASSWORD);
            assert!(carries || !leaks, "the password left in clear text");
        }
        if *end == End::Failed(Error::TlsNotOffered) {
            assert!(sent.is_empty());
        }
        if self.config.tls == TlsDemand::Required {
            let has_user = clear.windows(4).any(|window| window == b"ada\0");
            assert!(!has_user, "the user's name left before tls");
        }
    }
}
