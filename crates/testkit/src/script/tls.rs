//! Conversations over TLS: their scripts, and the server's end of it.

use std::sync::{Arc, OnceLock};

use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection};

use super::{Fault, HEADER, Place, Script};
use crate::certificate::Authority;

/// CLIENT_SSL in the second byte of both sides' capabilities.
const CLIENT_SSL: u8 = 0x08;

/// Bytes of the SSLRequest without its header: what the response begins with.
const SSL_REQUEST: usize = 32;

/// Records as small as the library makes them; a packet is cut into many then.
const SMALL_RECORD: usize = 48;

/// Which TLS the server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsVersion {
    /// 1.2.
    Tls12,
    /// 1.3.
    Tls13,
}

impl Script {
    /// The same conversation over TLS: the greeting offers it, the client asks for it, and from there on all is inside.
    /// Until the first command sequence ids are one higher, as the request takes one.
    ///
    /// `None` of one that does not begin with a greeting and a response, or is [`in_clear_text`](Self::in_clear_text).
    pub fn over_tls(&self) -> Option<Self> {
        let response = packet_len(&self.client, 0)?;
        let greeting = packet_len(&self.server, 0)?;
        let second = self.gates.get(1).map_or(self.server.len(), |gate| gate.0);
        let is_login = self.gates.first() == Some(&(0, 0))
            && second == greeting
            && response >= HEADER + SSL_REQUEST;
        if !is_login || self.is_clear_text || self.tls_from.is_some() {
            return None;
        }
        let mut script = self.clone();
        let end = self.login_end();
        count_up(&mut script.client[..end]);
        for (index, &(from, needs)) in self.gates.iter().enumerate().skip(1) {
            if needs <= end {
                let to = self
                    .gates
                    .get(index + 1)
                    .map_or(self.server.len(), |gate| gate.0);
                count_up(&mut script.server[from..to]);
            }
        }
        script.server[capabilities_of_greeting(&self.server)? + 1] |= CLIENT_SSL;
        script.client[HEADER + 1] |= CLIENT_SSL;
        Some(script.ask_for_tls(greeting))
    }

    /// The same, and a fault at the same place of it: the client's bytes are moved behind its request.
    pub fn over_tls_with(&self, fault: Option<Fault>) -> Option<(Self, Option<Fault>)> {
        let script = self.over_tls()?;
        let (_, moved) = script.tls_from?;
        let fault = fault.map(|fault| match fault.place {
            Place::Client(at) => Fault {
                place: Place::Client(at.saturating_add(moved)),
                ..fault
            },
            _ => fault,
        });
        Some((script, fault))
    }

    /// Puts the SSLRequest in front of the client's bytes.
    fn ask_for_tls(mut self, greeting: usize) -> Self {
        let request = [&[32, 0, 0, 1], &self.client[HEADER..HEADER + SSL_REQUEST]].concat();
        let moved = request.len();
        self.client.splice(0..0, request);
        for gate in self.gates.iter_mut().skip(1) {
            gate.1 += moved;
        }
        for mark in &mut self.client_marks {
            *mark += moved;
        }
        self.client_marks.splice(0..0, [0, HEADER]);
        self.tls_from = Some((greeting, moved));
        self
    }

    /// Where the client's first command begins: the packet with the sequence id 0.
    fn login_end(&self) -> usize {
        let mut at = 0;
        while let Some(len) = packet_len(&self.client, at) {
            if self.client[at + HEADER - 1] == 0 {
                return at;
            }
            at += len;
        }
        self.client.len()
    }
}

/// The length of the packet at `at` with its header, where all of it is there.
fn packet_len(bytes: &[u8], at: usize) -> Option<usize> {
    let [a, b, c, _] = *bytes.get(at..)?.first_chunk::<HEADER>()?;
    let len = HEADER + (usize::from(a) | usize::from(b) << 8 | usize::from(c) << 16);
    (bytes.len() - at >= len).then_some(len)
}

/// One more for each packet's sequence id.
fn count_up(bytes: &mut [u8]) {
    let mut at = 0;
    while let Some(sequence) = bytes.get_mut(at + HEADER - 1) {
        *sequence = sequence.wrapping_add(1);
        let Some(len) = packet_len(bytes, at) else {
            return;
        };
        at += len;
    }
}

/// Where the lower capabilities are: behind the version and its NUL, the connection's number, the nonce's head and a
/// filler.
fn capabilities_of_greeting(greeting: &[u8]) -> Option<usize> {
    let version = greeting.get(HEADER + 1..)?;
    let nul = version.iter().position(|byte| *byte == 0)?;
    let at = HEADER + 1 + nul + 1 + 4 + 8 + 1;
    (at + 1 < greeting.len()).then_some(at)
}

/// The certificate of the CA that [`tls_server`] has its own from, for the host `localhost`; in PEM.
pub fn tls_authority() -> &'static str {
    &identity().authority
}

/// The end of TLS of a server that speaks only this version and is no client's acquaintance: each run has a CA
/// of its own. `small_records`: of at most 48 bytes.
///
/// # Panics
/// Where the library refuses.
pub fn tls_server(version: TlsVersion, small_records: bool) -> ServerConnection {
    static CONFIGS: OnceLock<[Arc<ServerConfig>; 4]> = OnceLock::new();
    let configs = CONFIGS.get_or_init(|| {
        let [a, b] =
            [TlsVersion::Tls12, TlsVersion::Tls13].map(|version| server_config(version, 1));
        let small = [&a, &b].map(|config| {
            let mut small = config.clone();
            small.max_fragment_size = Some(SMALL_RECORD);
            small.into()
        });
        let [small_a, small_b] = small;
        [a.into(), b.into(), small_a, small_b]
    });
    let index = usize::from(version == TlsVersion::Tls13) + 2 * usize::from(small_records);
    ServerConnection::new(Arc::clone(&configs[index])).expect("a server's end of tls")
}

/// The same, of a server that sends its certificate so many times over, and so many tickets to resume the session with.
///
/// # Panics
/// Where the library refuses.
pub fn hostile_tls_server(
    version: TlsVersion,
    certificates: usize,
    tickets: usize,
) -> ServerConnection {
    let mut config = server_config(version, certificates);
    config.send_tls13_tickets = tickets;
    ServerConnection::new(config.into()).expect("a server's end of tls")
}

/// Made once in each run.
struct Identity {
    authority: String,
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
}

fn identity() -> &'static Identity {
    static IDENTITY: OnceLock<Identity> = OnceLock::new();
    IDENTITY.get_or_init(|| {
        let authority = Authority::new("scripts");
        let server = authority.ed25519_server(&["localhost"]);
        Identity {
            authority: authority.certificate(),
            certificate: CertificateDer::from_pem_slice(server.certificate.as_bytes())
                .expect("pem"),
            key: PrivateKeyDer::from_pem_slice(server.key.as_bytes()).expect("pem"),
        }
    })
}

fn server_config(version: TlsVersion, certificates: usize) -> ServerConfig {
    let version = match version {
        TlsVersion::Tls12 => &rustls::version::TLS12,
        TlsVersion::Tls13 => &rustls::version::TLS13,
    };
    let Identity {
        certificate, key, ..
    } = identity();
    ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_protocol_versions(&[version])
        .expect("a version")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone(); certificates], key.clone_key())
        .expect("a certificate")
}
