//! `caching_sha2_password` and `sha256_password` where only one of the two sides is secure, and passwords in clear text.

use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::thread::JoinHandle;

use aws_lc_rs::encoding::{AsDer, PublicKeyX509Der};
use aws_lc_rs::rsa::{KeySize, OAEP_SHA1_MGF1SHA1, OaepPrivateDecryptingKey, PrivateDecryptingKey};
use onecopy_mysql::blocking::Connection;
use onecopy_mysql::{Config, Error, PublicKey};
use onecopy_mysql_proto::auth::{Secret, rsa};
use onecopy_net::Endpoint;
use onecopy_proxy::config::BackendConfig;
use onecopy_testkit::server::{ServerKind, lacks};

use crate::basics::text;
use crate::common::{loopback, until};
use crate::sides::{Front, Way, account, sides, unique};

const NONCE: [u8; 20] = *b"twenty bytes, a salt";
const PASSWORD: &str = "correct horse battery";

/// HandshakeV10 of a server with TLS for none, whose accounts have this plugin.
fn greeting(plugin: &str) -> Vec<u8> {
    let mut greeting = b"\x0A9.7.0\0\x2A\0\0\0".to_vec();
    greeting.extend(&NONCE[..8]);
    // CONNECT_WITH_DB, PROTOCOL_41, SECURE_CONNECTION; utf8mb4, AUTOCOMMIT; PLUGIN_AUTH, lenenc data.
    greeting.extend([0, 0x0D, 0x82, 45, 2, 0, 0x28, 0, 21]);
    greeting.extend([0; 10]);
    greeting.extend(&NONCE[8..]);
    greeting.push(0);
    greeting.extend(plugin.as_bytes());
    greeting.push(0);
    greeting
}

/// One client's connection to a backend of a few words.
struct Backend<S> {
    stream: S,
    sequence: u8,
}

impl<S: Read + Write> Backend<S> {
    fn greet(stream: S, plugin: &str) -> Self {
        let mut backend = Self {
            stream,
            sequence: 0,
        };
        backend.say(&greeting(plugin));
        backend
    }

    fn say(&mut self, payload: &[u8]) {
        let [a, b, c, ..] = payload.len().to_le_bytes();
        let packet = [&[a, b, c, self.sequence], payload].concat();
        self.sequence += 1;
        self.stream.write_all(&packet).unwrap();
    }

    /// The next payload; `None` where the proxy has closed.
    fn hear(&mut self) -> Option<Vec<u8>> {
        let mut header = [0; 4];
        self.stream.read_exact(&mut header).ok()?;
        assert_eq!(header[3], self.sequence, "the sequence id");
        self.sequence += 1;
        let mut payload = vec![0; usize::from(header[0]) + (usize::from(header[1]) << 8)];
        self.stream.read_exact(&mut payload).ok()?;
        Some(payload)
    }

    /// Everything that still comes.
    fn rest(mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        let _ = self.stream.read_to_end(&mut rest);
        rest
    }
}

const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];
const ASKS: &[u8] = &[1, 4];

fn switch(plugin: &str) -> Vec<u8> {
    [b"\xFE", plugin.as_bytes(), b"\0", &NONCE, b"\0"].concat()
}

/// A backend over TCP in clear text, for one client.
fn plain<T: Send + 'static>(
    plugin: &'static str,
    talk: impl FnOnce(Backend<std::net::TcpStream>) -> T + Send + 'static,
) -> (BackendConfig, JoinHandle<T>) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread =
        std::thread::spawn(move || talk(Backend::greet(listener.accept().unwrap().0, plugin)));
    (BackendConfig::new(loopback(port)), thread)
}

fn front(backend: BackendConfig, reencrypts: bool) -> Front {
    sides().proxy(backend, |listener| {
        listener.reencrypt_passwords = reencrypts
    })
}

fn log_in(front: &Front, way: Way) -> Result<Connection, Error> {
    Connection::connect_with(&front.config_of(way, "app", PASSWORD))
}

fn code(error: &Error) -> u16 {
    error.server().unwrap_or_else(|| panic!("{error}")).code
}

/// A key, and what goes before it.
fn key() -> (OaepPrivateDecryptingKey, PublicKey) {
    let private = PrivateDecryptingKey::generate(KeySize::Rsa2048).unwrap();
    let der: PublicKeyX509Der<'_> = private.public_key().as_der().unwrap();
    let public = PublicKey::from_der(der.as_ref()).unwrap();
    (OaepPrivateDecryptingKey::new(private).unwrap(), public)
}

fn decrypted(private: &OaepPrivateDecryptingKey, encrypted: &[u8]) -> String {
    let mut room = vec![0; private.min_output_size()];
    let message = private
        .decrypt(&OAEP_SHA1_MGF1SHA1, encrypted, &mut room, None)
        .unwrap();
    let plain = rsa::unmask(&Secret::new(&*message), &NONCE).unwrap();
    String::from_utf8(plain.expose().to_vec()).unwrap()
}

#[test]
fn a_password_from_tls_goes_to_a_backend_without_it_under_its_key() {
    for (plugin, request, is_pinned) in [
        ("caching_sha2_password", 2, false),
        ("sha256_password", 1, false),
        ("caching_sha2_password", 2, true),
        ("sha256_password", 1, true),
    ] {
        let (private, public) = key();
        let pem = [b"\x01", public.to_pem().as_bytes()].concat();
        let (mut backend, thread) = plain("caching_sha2_password", move |mut backend| {
            backend.hear().unwrap();
            if plugin == "sha256_password" {
                backend.say(&switch(plugin));
            } else {
                backend.say(ASKS);
            }
            if !is_pinned {
                assert_eq!(backend.hear().unwrap(), [request]);
                backend.say(&pem);
            }
            let encrypted = backend.hear().unwrap();
            backend.say(OK);
            (decrypted(&private, &encrypted), backend.rest())
        });
        backend.public_key = is_pinned.then_some(public);
        let front = front(backend, true);
        drop(log_in(&front, Way::Tls).unwrap());
        let (password, rest) = thread.join().unwrap();
        assert_eq!(password, PASSWORD, "{plugin}");
        assert!(rest.len() <= 5, "QUIT alone: {rest:?}");
    }
}

#[test]
fn a_password_under_the_proxys_key_goes_itself_to_a_secure_backend() {
    let socket = unique("sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let thread = std::thread::spawn(move || {
        let mut backend = Backend::greet(listener.accept().unwrap().0, "caching_sha2_password");
        backend.hear().unwrap();
        backend.say(ASKS);
        let password = backend.hear().unwrap();
        backend.say(OK);
        drop(backend.rest());
        password
    });
    let front = front(BackendConfig::new(Endpoint::Unix(socket.clone())), true);
    let mut config = front.config_of(Way::Plain, "app", PASSWORD);
    config.get_server_public_key = true;
    drop(Connection::connect_with(&config).unwrap());
    assert_eq!(
        thread.join().unwrap(),
        [PASSWORD.as_bytes(), b"\0"].concat()
    );
    std::fs::remove_file(socket).unwrap();
}

#[test]
fn without_leave_no_password_passes_and_the_setting_is_named() {
    for asks in [ASKS.to_vec(), switch("sha256_password")] {
        let (backend, thread) = plain("caching_sha2_password", move |mut backend| {
            backend.hear().unwrap();
            backend.say(&asks);
            backend.rest()
        });
        let front = front(backend, false);
        let error = log_in(&front, Way::Tls).unwrap_err();
        assert_eq!(code(&error), 3159);
        assert!(error.to_string().contains("reencrypt-passwords"), "{error}");
        assert_eq!(thread.join().unwrap(), b"");
    }
}

#[test]
fn no_password_in_clear_text_leaves_tls_for_a_backend_without_it() {
    for plugin in [
        "mysql_clear_password",
        "dialog",
        "authentication_ldap_simple",
    ] {
        for reencrypts in [false, true] {
            let (backend, thread) = plain("caching_sha2_password", move |mut backend| {
                backend.hear().unwrap();
                backend.say(&switch(plugin));
                backend.rest()
            });
            let front = front(backend, reencrypts);
            let mut config = front.config_of(Way::Tls, "app", PASSWORD);
            config.auth_plugins |= onecopy_mysql::PluginSet::CLEAR_PASSWORD;
            let error = Connection::connect_with(&config).unwrap_err();
            assert_eq!(code(&error), 3159);
            assert_eq!(thread.join().unwrap(), b"", "{plugin}");
        }
    }
}

#[test]
fn a_password_that_a_client_guesses_to_be_wanted_does_not_pass() {
    // Over TLS a client answers a greeting of these plugins with the password itself.
    for plugin in ["mysql_clear_password", "sha256_password"] {
        let (backend, thread) = plain(plugin, move |mut backend| {
            let response = backend.hear().unwrap();
            backend.say(&switch("mysql_native_password"));
            let hash = backend.hear().unwrap();
            backend.say(OK);
            drop(backend.rest());
            (response, hash)
        });
        let front = front(backend, false);
        let mut config = front.config_of(Way::Tls, "app", PASSWORD);
        config.auth_plugins |= onecopy_mysql::PluginSet::CLEAR_PASSWORD;
        drop(Connection::connect_with(&config).unwrap());
        let (response, hash) = thread.join().unwrap();
        let contains = |bytes: &[u8]| response.windows(bytes.len()).any(|part| part == bytes);
        assert!(
            contains(b"app\0") && !contains(PASSWORD.as_bytes()),
            "{plugin}"
        );
        assert_eq!(hash.len(), 20);
    }
}

#[test]
fn a_backend_that_goes_on_before_it_was_answered_gets_no_password() {
    // The client's answer to the first would be passed on as the answer to the second, or as a command.
    for second in [OK.to_vec(), vec![1, 3], switch("mysql_native_password")] {
        let (backend, thread) = plain("caching_sha2_password", move |mut backend| {
            backend.hear().unwrap();
            backend.say(ASKS);
            backend.say(&second);
            backend.rest()
        });
        let front = front(backend, true);
        let _ = log_in(&front, Way::Tls);
        let rest = thread.join().unwrap();
        let contains = |bytes: &[u8]| rest.windows(bytes.len()).any(|part| part == bytes);
        assert!(!contains(PASSWORD.as_bytes()), "{rest:?}");
        until("the end of the session", || front.proxy.sessions() == 0);
    }
}

#[test]
fn a_key_that_is_none_ends_the_login() {
    for answer in [&b"\x01no key"[..], OK, &[1], b"\xFF\x15\x04#28000no"] {
        let (backend, thread) = plain("caching_sha2_password", move |mut backend| {
            backend.hear().unwrap();
            backend.say(ASKS);
            assert_eq!(backend.hear().unwrap(), [2]);
            backend.say(answer);
            backend.rest()
        });
        let front = front(backend, true);
        let error = log_in(&front, Way::Tls).unwrap_err();
        let expected = if answer[0] == 0xFF { 1045 } else { 2027 };
        assert_eq!(code(&error), expected, "{error}");
        assert_eq!(thread.join().unwrap(), b"");
    }
}

#[test]
fn a_change_of_user_takes_no_password_to_a_backend_without_tls() {
    let (backend, thread) = plain("mysql_native_password", move |mut backend| {
        backend.hear().unwrap();
        backend.say(OK);
        backend.sequence = 0;
        loop {
            let command = backend.hear().unwrap();
            backend.sequence = 1;
            if command[0] == 0x11 {
                break;
            }
            backend.say(OK);
            backend.sequence = 0;
        }
        backend.say(&switch("caching_sha2_password"));
        assert_eq!(backend.hear().unwrap().len(), 32);
        backend.say(ASKS);
        backend.rest()
    });
    let front = front(backend, true);
    let mut conn = log_in(&front, Way::Tls).unwrap();
    let error = conn.change_user("other", PASSWORD, None).unwrap_err();
    assert_eq!(code(&error), 3159);
    assert_eq!(thread.join().unwrap(), b"");
}

/// Clients of MySQL's own plugins on uneven sides, cold and warm.
#[test]
fn mysqls_own_plugins_work_between_all_sides() {
    let sides = sides();
    if sides.server.kind() != ServerKind::MySql {
        return lacks("caching_sha2_password, sha256_password", "they are MySQL's");
    }
    const WAYS: [Way; 3] = [Way::Plain, Way::Tls, Way::Socket];
    let socket = Config::from_url(&sides.server.socket_url()).unwrap();
    let mut admin = Connection::connect_with(&socket).unwrap();
    let pinned = text(
        &mut admin,
        "SELECT CONCAT(@@datadir, @@caching_sha2_password_public_key_path)",
    );
    let pinned = PublicKey::from_pem(&std::fs::read(pinned).unwrap()).unwrap();
    for plugin in ["caching_sha2_password", "sha256_password"] {
        for backend_way in WAYS {
            for is_pinned in [false, true] {
                let mut backend = sides.backend(backend_way);
                backend.public_key = is_pinned.then(|| pinned.clone());
                let front = front(backend, true);
                for way in WAYS {
                    for password in [PASSWORD, "", &"long ".repeat(40)] {
                        let what = format!("{plugin} {way:?} {backend_way:?} {password:?}");
                        account(
                            "of_sha2",
                            &format!("IDENTIFIED WITH {plugin} BY '{password}'"),
                        );
                        let mut config = front.config_of(way, "of_sha2", password);
                        config.get_server_public_key = true;
                        for _ in 0..2 {
                            let mut conn = Connection::connect_with(&config).expect(&what);
                            assert_eq!(text(&mut conn, "SELECT CURRENT_USER()"), "of_sha2@%");
                        }
                        let mut wrong = config.clone();
                        wrong.password = "wrong".into();
                        let error = Connection::connect_with(&wrong).unwrap_err();
                        assert_eq!(code(&error), 1045, "{what}");
                    }
                }
            }
        }
    }
    // Without leave: what the server knows passes, as a hash.
    let front = front(sides.backend(Way::Plain), false);
    account(
        "of_sha2",
        &format!("IDENTIFIED WITH caching_sha2_password BY '{PASSWORD}'"),
    );
    let config = front.config_of(Way::Tls, "of_sha2", PASSWORD);
    assert_eq!(code(&Connection::connect_with(&config).unwrap_err()), 3159);
    let mut direct = socket;
    (direct.user, direct.password, direct.database) = ("of_sha2".into(), PASSWORD.into(), None);
    Connection::connect_with(&direct).unwrap();
    Connection::connect_with(&config).unwrap().ping().unwrap();
}
