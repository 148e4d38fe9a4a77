//! A client's and a server's core wired back to back, and the network that delivers in pieces.

use onecopy_wire::{Borrowed, Buffers, Core, Step};

use super::{
    Account, ServerHandshake, ServerHandshakeConfig, ServerHandshakeMessage, ServerLimits,
};
use crate::Capabilities;
use crate::auth::{Channel, Plugin, Secret, Verifier, caching_sha2, ed25519, native_password};
use crate::client::{Handshake, HandshakeConfig, HandshakeReply, Limits};

pub(crate) const NONCE: [u8; 20] = *b".)$wM\\ehYdlolN#aCfZq";
pub(crate) const USER: &str = "ada";
pub(crate) const PASSWORD: &str = "lovelace";

/// Bytes in flight, handed over in pieces of at most `most` bytes; 0 for as many as the reader takes.
#[derive(Debug, Default)]
pub(crate) struct Link {
    bytes: Vec<u8>,
    at: usize,
    most: usize,
    seed: u64,
}

impl Link {
    /// Pieces of random sizes up to `most` bytes.
    pub(crate) fn new(most: usize, seed: u64) -> Self {
        Self {
            most,
            seed: seed | 1,
            ..Self::default()
        }
    }

    /// Takes all that `from` has queued.
    pub(crate) fn take(&mut self, from: &mut Buffers, borrowed: &(impl Borrowed + ?Sized)) {
        while from.has_output() {
            let mut slices = [std::io::IoSlice::new(&[]); 8];
            let count = from.output_slices(borrowed, &mut slices);
            let before = self.bytes.len();
            for slice in &slices[..count] {
                self.bytes.extend_from_slice(slice);
            }
            let n = self.bytes.len() - before;
            from.commit_output(n);
        }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub(crate) fn waiting(&self) -> &[u8] {
        &self.bytes[self.at..]
    }

    /// One read; gives how many bytes it brought.
    pub(crate) fn deliver(&mut self, to: &mut Buffers) -> usize {
        to.prepare().expect("within the limits");
        let mut left = self.piece();
        let mut n = 0;
        for target in to.targets().as_mut() {
            let now = target.len().min(left);
            target[..now].copy_from_slice(&self.bytes[self.at..][..now]);
            self.at += now;
            left -= now;
            n += now;
        }
        to.commit(n);
        n
    }

    fn piece(&mut self) -> usize {
        let waiting = self.bytes.len() - self.at;
        if self.most == 0 {
            return waiting;
        }
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        let most = u64::try_from(self.most).expect("64 bits");
        waiting.min(usize::try_from(self.seed % most).expect("small") + 1)
    }
}

/// Runs `core` on what has arrived and comes; `None` once nothing comes any more.
pub(crate) fn pump<C: Core>(
    core: &mut C,
    buffers: &mut Buffers,
    from: &mut Link,
) -> Result<Option<C::Message>, C::Error> {
    loop {
        match core.advance(buffers)? {
            Step::Message(message) => return Ok(Some(message)),
            Step::StartTls => return Ok(None),
            Step::NeedInput(_) => {
                if from.waiting().is_empty() || from.deliver(buffers) == 0 {
                    return Ok(None);
                }
            }
        }
    }
}

pub(crate) fn server_config(capabilities: Capabilities, plugin: Plugin) -> ServerHandshakeConfig {
    ServerHandshakeConfig {
        server_version: b"8.4.3".to_vec(),
        connection_id: 11,
        nonce: NONCE,
        capabilities,
        plugin,
        collation: 45,
        channel: Channel::UnixSocket,
    }
}

pub(crate) fn account(plugin: Plugin, password: &str) -> Account {
    let secret = Secret::new(password);
    let verifier = match plugin {
        Plugin::NativePassword => {
            Verifier::NativePassword(native_password::Verifier::from_password(&secret))
        }
        Plugin::CachingSha2Password => {
            Verifier::CachingSha2Password(caching_sha2::Verifier::from_password(&secret))
        }
        _ => Verifier::ClientEd25519(ed25519::Verifier::from_password(&secret)),
    };
    let nonce = (plugin == Plugin::ClientEd25519).then(|| vec![7; 32]);
    Account {
        verifier,
        nonce,
        empty_cache: false,
    }
}

/// Both ends of a login, before their first step.
pub(crate) struct Pair {
    pub(crate) client: Handshake,
    pub(crate) server: ServerHandshake,
    pub(crate) client_buffers: Buffers,
    pub(crate) server_buffers: Buffers,
    pub(crate) up: Link,
    pub(crate) down: Link,
}

impl Pair {
    pub(crate) fn new(
        capabilities: Capabilities,
        plugin: Plugin,
        limits: Limits,
        server_limits: ServerLimits,
        (most, seed): (usize, u64),
    ) -> Self {
        let config = HandshakeConfig {
            user: USER.into(),
            password: Secret::new(PASSWORD),
            database: Some(b"shop".to_vec()),
            is_unix: true,
            attributes: vec![("_client_name".into(), "onecopy".into())],
            ..HandshakeConfig::default()
        };
        Self {
            client: Handshake::new(config, limits),
            server: ServerHandshake::new(server_config(capabilities, plugin), server_limits),
            client_buffers: Buffers::new(limits.buffer_config()),
            server_buffers: Buffers::new(server_limits.buffer_config()),
            up: Link::new(most, seed),
            down: Link::new(most, seed.wrapping_add(5)),
        }
    }

    /// Runs the login, the server having this account, and gives what both sides say of it.
    pub(crate) fn login(&mut self, account: &Account) -> (HandshakeReply, ServerHandshakeMessage) {
        let mut said = None;
        loop {
            let message = pump(&mut self.server, &mut self.server_buffers, &mut self.up);
            match message.expect("an honest client") {
                Some(ServerHandshakeMessage::User) => {
                    let plugin = self.server.client_plugin();
                    let plugin = plugin.map(String::from_utf8_lossy).unwrap_or_default();
                    assert!(
                        plugin.ends_with("_password") || plugin.ends_with("_ed25519"),
                        "{plugin}"
                    );
                    let answered = self
                        .server
                        .answer(&mut self.server_buffers, account.clone());
                    answered.expect("a good nonce");
                    continue;
                }
                Some(
                    message @ (ServerHandshakeMessage::Authenticated
                    | ServerHandshakeMessage::Denied),
                ) => {
                    assert!(
                        !self.server_buffers.has_output(),
                        "the client learns nothing"
                    );
                    let answered = match message {
                        ServerHandshakeMessage::Denied => {
                            self.server.deny(&mut self.server_buffers)
                        }
                        _ => self.server.accept(&mut self.server_buffers),
                    };
                    answered.expect("it waits for that");
                    continue;
                }
                Some(message) => said = Some(message),
                None => {}
            }
            self.down.take(&mut self.server_buffers, &());
            let reply = pump(&mut self.client, &mut self.client_buffers, &mut self.down);
            if let Some(reply) = reply.expect("an honest server") {
                return (reply, said.expect("the server ended it"));
            }
            self.up.take(&mut self.client_buffers, &());
        }
    }
}
