//! Authentication: an honest exchange between our two roles, and each role with a hostile other side.
//!
//! | bytes | field                                                                  |
//! |-------|------------------------------------------------------------------------|
//! | 1     | who is hostile: nobody, the server, the client                         |
//! | 1     | the channel (2 bits), the server's plugin (2 bits), other flags        |
//! | 1     | plugins that the client allows                                         |
//! | short | the password                                                           |
//! | rest  | names, nonces and packets of the hostile side, each behind its length  |
//!
//! Held: who knows the password gets in and nobody else, on every channel on which the client takes part; the password
//! leaves only over a channel that may carry it; a failed exchange stays failed; steps are bounded.

use onecopy_mysql_proto::auth::{
    AuthAction, AuthOptions, Channel, ClientAuth, Plugin, PluginSet, Secret, ServerAuth,
    ServerAuthAction, Verifier, caching_sha2, ed25519, native_password,
};
use onecopy_mysql_proto::packet::{AuthMoreData, AuthSwitchRequest};

use crate::crypto::{Plain, is_slow};
use crate::input::Input;
use crate::packets::check_line;

/// Steps that an exchange has at most: the client's own limit is 16.
const MOST_STEPS: usize = 20;

/// A nonce of an honest server.
const NONCE: [u8; 32] = *b"0123456789abcdefghijklmnopqrstuv";

/// Long enough that no input has it at random.
const SECRET: &[u8] = b"correct horse battery staple";

const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];

/// Plays one exchange.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let hostile = input.below(3);
    let exchange = Exchange::new(&mut input);
    match hostile {
        0 => exchange.honest(&mut input),
        1 => exchange.hostile_server(&mut input),
        _ => exchange.hostile_client(&mut input),
    }
}

struct Exchange<'a> {
    channel: Channel,
    plugin: Plugin,
    has_empty_cache: bool,
    password_over_unverified_tls: bool,
    takes_any_key: bool,
    allowed: PluginSet,
    password: &'a [u8],
}

impl<'a> Exchange<'a> {
    fn new(input: &mut Input<'a>) -> Self {
        let flags = input.byte();
        Self {
            channel: match flags & 3 {
                0 => Channel::Plain,
                1 => Channel::UnixSocket,
                2 => Channel::TlsVerified,
                _ => Channel::TlsUnverified,
            },
            plugin: match flags >> 2 & 3 {
                0 | 1 => Plugin::NativePassword,
                2 => Plugin::CachingSha2Password,
                _ => Plugin::ClientEd25519,
            },
            has_empty_cache: flags & 16 != 0,
            password_over_unverified_tls: flags & 32 != 0,
            takes_any_key: flags & 64 != 0,
            allowed: PluginSet(input.byte()),
            password: input.short(),
        }
    }

    #[allow(clippy::needless_update)] // an option that is added keeps its default here
    fn options(&self) -> AuthOptions {
        AuthOptions {
            allowed: self.allowed,
            password_over_unverified_tls: self.password_over_unverified_tls,
            get_server_public_key: self.takes_any_key,
            crypto: &Plain,
            ..AuthOptions::default()
        }
    }

    fn verifier(&self, password: &[u8]) -> Verifier {
        let password = &Secret::new(password);
        match self.plugin {
            _ if password.is_empty() => Verifier::NoPassword,
            Plugin::CachingSha2Password => {
                Verifier::CachingSha2Password(caching_sha2::Verifier::from_password(password))
            }
            Plugin::ClientEd25519 => {
                Verifier::ClientEd25519(ed25519::Verifier::from_password(password))
            }
            _ => Verifier::NativePassword(native_password::Verifier::from_password(password)),
        }
    }

    /// The server's side, with the nonce that its plugin takes.
    fn server(&self, password: &[u8]) -> (ServerAuth, &'static [u8]) {
        let verifier = self.verifier(password);
        let nonce = match verifier {
            Verifier::ClientEd25519(_) => &NONCE[..],
            _ => &NONCE[..20],
        };
        let auth = ServerAuth::new(verifier, nonce, self.channel);
        let auth = auth.expect("a good nonce");
        let auth = if self.has_empty_cache {
            auth.with_empty_cache()
        } else {
            auth
        };
        (auth, nonce)
    }

    /// Our client and our server, who know the same password or not.
    fn honest(&self, input: &mut Input<'_>) {
        let other = input.short();
        let known = if other.is_empty() {
            self.password
        } else {
            other
        };
        let named = input.short();
        let (mut server, nonce) = self.server(known);
        let password = Secret::new(self.password);
        let plugin = Some(named)
            .filter(|name| !name.is_empty())
            .unwrap_or(self.plugin.name().as_bytes());
        // The greeting's nonce is of 20 bytes; a plugin that takes another is switched to.
        let greeting = &NONCE[..20];
        let Ok((mut client, response)) = ClientAuth::new(
            self.options(),
            self.channel,
            password,
            Some(plugin),
            greeting,
        ) else {
            return;
        };
        self.check_leak(&response);
        let name = client.plugin().name().as_bytes();
        let same_nonce = nonce == greeting;
        let mut action = server.on_handshake_response(Some(name), response.expose(), same_nonce);
        for _ in 0..MOST_STEPS {
            let payload = match action {
                ServerAuthAction::Switch => {
                    let request = AuthSwitchRequest {
                        plugin: server.plugin().name().as_bytes(),
                        data: &server.auth_data(),
                    };
                    let mut payload = Vec::new();
                    let encoded = request.encode(&mut payload);
                    encoded.expect("a plugin's name has no nul");
                    payload
                }
                ServerAuthAction::RequestPassword => {
                    more_data(&[caching_sha2::FULL_AUTHENTICATION])
                }
                ServerAuthAction::AcceptFast => {
                    let fast = client.on_packet(&more_data(&[caching_sha2::FAST_OK]));
                    assert!(matches!(fast, Ok(AuthAction::Wait)), "{fast:?}");
                    self.end(&mut client, known, true);
                    return;
                }
                ServerAuthAction::Accept => return self.end(&mut client, known, true),
                ServerAuthAction::Reject => return self.end(&mut client, known, false),
                _ => return,
            };
            match client.on_packet(&payload) {
                Ok(AuthAction::Send(response)) => {
                    self.check_leak(&response);
                    action = server.on_packet(response.expose());
                }
                Ok(other) => panic!("{other:?} to {payload:02x?}"),
                Err(error) => {
                    check_line(&error);
                    let again = client.on_packet(OK);
                    assert_eq!(again.err(), Some(error), "a failed exchange went on");
                    return;
                }
            }
        }
        panic!("the exchange does not end");
    }

    fn end(&self, client: &mut ClientAuth, known: &[u8], accepted: bool) {
        // In clear text the client asks for a key, and our server's role has none to give.
        let lacks_key =
            self.takes_any_key && self.has_empty_cache && self.channel == Channel::Plain;
        let expected = known == self.password && (accepted || !lacks_key);
        assert_eq!(accepted, expected, "{:?}", self.plugin);
        if accepted {
            let done = client.on_packet(OK);
            assert!(matches!(done, Ok(AuthAction::Done)), "{done:?}");
            assert!(client.on_packet(OK).is_err(), "done twice");
        }
    }

    /// A server that names any plugin, any nonce, and continues with anything.
    fn hostile_server(&self, input: &mut Input<'_>) {
        let plugin = input.short();
        let plugin = (!plugin.is_empty()).then_some(plugin);
        let nonce = input.short();
        let options = self.options();
        let begun = ClientAuth::new(options, self.channel, Secret::new(SECRET), plugin, nonce);
        let (mut client, response) = match begun {
            Ok(begun) => begun,
            Err(error) => return check_line(&error),
        };
        self.check_secret(&response);
        let mut steps = 0;
        while !input.is_empty() {
            let packet = input.long();
            if is_slow(packet) {
                return;
            }
            match client.on_packet(packet) {
                Ok(AuthAction::Send(response)) => self.check_secret(&response),
                Ok(AuthAction::Done | AuthAction::Refused) => {
                    assert!(client.on_packet(OK).is_err(), "done twice");
                    return;
                }
                Ok(_) => {}
                Err(error) => {
                    check_line(&error);
                    assert_eq!(client.on_packet(OK).err(), Some(error));
                    return;
                }
            }
            steps += 1;
            assert!(steps <= MOST_STEPS, "the server may continue forever");
        }
    }

    /// A client that does not know the password and sends anything.
    fn hostile_client(&self, input: &mut Input<'_>) {
        let (mut server, _) = self.server(SECRET);
        let plugin = input.short();
        let plugin = (!plugin.is_empty()).then_some(plugin);
        let same_nonce = input.flag();
        let mut action = server.on_handshake_response(plugin, input.short(), same_nonce);
        let mut steps = 0;
        while !matches!(action, ServerAuthAction::Reject) {
            let is_in = matches!(
                action,
                ServerAuthAction::Accept | ServerAuthAction::AcceptFast
            );
            assert!(!is_in, "a client got in without the password");
            action = server.on_packet(input.short());
            steps += 1;
            assert!(steps <= MOST_STEPS, "the client may continue forever");
        }
    }

    /// The password itself is sent over verified channels, or where the caller asked for it.
    fn may_carry(&self) -> bool {
        self.channel.is_verified()
            || self.channel == Channel::TlsUnverified && self.password_over_unverified_tls
    }

    fn check_secret(&self, response: &Secret) {
        let leaks = response
            .expose()
            .windows(SECRET.len())
            .any(|window| window == SECRET);
        assert!(!leaks || self.may_carry(), "the password left");
    }

    fn check_leak(&self, response: &Secret) {
        let leaks = response.expose().strip_suffix(&[0]) == Some(self.password);
        // A password may be as short as what a hash has at random.
        let is_chance = self.password.len() < 16;
        assert!(
            !leaks || is_chance || self.may_carry(),
            "the password left in clear text"
        );
    }
}

fn more_data(data: &[u8]) -> Vec<u8> {
    let mut payload = Vec::new();
    AuthMoreData { data }.encode(&mut payload);
    payload
}
