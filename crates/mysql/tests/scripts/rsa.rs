//! A password under a server's key, read back by the key's owner. What is encrypted has random bytes in it, so that no
//! script can have its bytes: the server is a thread that decrypts.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use aws_lc_rs::encoding::{AsDer, PublicKeyX509Der};
use aws_lc_rs::rsa::{KeySize, OAEP_SHA1_MGF1SHA1, OaepPrivateDecryptingKey, PrivateDecryptingKey};
use onecopy_mysql::{Config, Endpoint, Error, PublicKey, aio, blocking};

use crate::login::mysql_response;
use crate::talk::config;

const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];
/// The nonce of the greeting.
const NONCE: [u8; 20] = [
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20,
];
const SWITCH: &[u8] = b"\xfesha256_password\0\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x11\x12\x13\x14\0";

/// How the server comes to the ciphertext.
#[derive(Debug, Clone, Copy)]
struct Way {
    /// It switches to `sha256_password`.
    is_sha256: bool,
    /// The client has its key.
    is_pinned: bool,
}

fn key() -> &'static PrivateDecryptingKey {
    static KEY: OnceLock<PrivateDecryptingKey> = OnceLock::new();
    KEY.get_or_init(|| PrivateDecryptingKey::generate(KeySize::Rsa2048).unwrap())
}

/// The public key as a server sends it, its base64 one digit of six bits at a time.
fn pem() -> Vec<u8> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let der: PublicKeyX509Der<'_> = key().public_key().as_der().unwrap();
    let der = der.as_ref();
    let bit = |at: usize| der.get(at / 8).map_or(0, |byte| byte >> (7 - at % 8) & 1);
    let mut text = b"-----BEGIN PUBLIC KEY-----\n".to_vec();
    for line in 0..(der.len() * 8).div_ceil(6 * 64) {
        let digits = (line * 64..line * 64 + 64).take_while(|digit| digit * 6 < der.len() * 8);
        let values =
            digits.map(|digit| (0..6).fold(0, |value, at| value << 1 | bit(digit * 6 + at)));
        text.extend(values.map(|value| DIGITS[usize::from(value)]));
        if line == der.len() * 8 / (6 * 64) {
            text.extend(&b"=="[..(3 - der.len() % 3) % 3]);
        }
        text.push(b'\n');
    }
    text.extend(b"-----END PUBLIC KEY-----\n");
    text
}

fn packet(stream: &mut TcpStream) -> Vec<u8> {
    let mut header = [0; 4];
    stream.read_exact(&mut header).unwrap();
    let mut payload = vec![0; usize::from(u16::from_le_bytes([header[0], header[1]]))];
    stream.read_exact(&mut payload).unwrap();
    payload
}

fn send(stream: &mut TcpStream, sequence: u8, payload: &[u8]) {
    let [low, high] = u16::try_from(payload.len()).unwrap().to_le_bytes();
    let header = [low, high, 0, sequence];
    stream.write_all(&[&header, payload].concat()).unwrap();
}

/// Plays one login; gives the password that the client sent.
fn serve(listener: &TcpListener, way: Way) -> Vec<u8> {
    let (mut stream, _) = listener.accept().unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    stream.write_all(mysql_response().server_bytes()).unwrap();
    packet(&mut stream);
    let request = if way.is_sha256 {
        send(&mut stream, 2, SWITCH);
        0x01
    } else {
        send(&mut stream, 2, b"\x01\x04");
        0x02
    };
    let mut sequence = 4;
    if !way.is_pinned {
        assert_eq!(packet(&mut stream), [request]);
        send(&mut stream, sequence, &[&[0x01], &pem()[..]].concat());
        sequence += 2;
    }
    let encrypted = packet(&mut stream);
    assert_eq!(encrypted.len(), 256);
    let owner = OaepPrivateDecryptingKey::new(key().clone()).unwrap();
    let mut room = vec![0; owner.min_output_size()];
    let message = owner
        .decrypt(&OAEP_SHA1_MGF1SHA1, &encrypted, &mut room, None)
        .unwrap();
    let plain = message.iter().zip(NONCE.iter().cycle());
    let plain = plain.map(|(byte, mask)| byte ^ mask).collect();
    send(&mut stream, sequence, OK);
    plain
}

/// Has `connect` log in to such a server; gives the password that came there.
fn given(way: Way, password: &str, connect: fn(&Config) -> Result<(), Error>) -> Vec<u8> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut config = config();
    config.endpoint = Endpoint::Tcp {
        host: "127.0.0.1".into(),
        port: listener.local_addr().unwrap().port(),
    };
    config.connect_timeout = Some(Duration::from_secs(60));
    config.password = password.into();
    if way.is_pinned {
        config.server_public_key = Some(PublicKey::from_pem(&pem()).unwrap());
    } else {
        config.get_server_public_key = true;
    }
    let server = thread::spawn(move || serve(&listener, way));
    connect(&config).unwrap();
    server.join().unwrap()
}

fn over_blocking(config: &Config) -> Result<(), Error> {
    blocking::Connection::connect_with(config).map(drop)
}

fn over_tokio(config: &Config) -> Result<(), Error> {
    let runtime = ::tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async { aio::Connection::connect_with(config).await.map(drop) })
}

#[test]
fn the_keys_owner_reads_the_password_and_its_nul() {
    for connect in [over_blocking, over_tokio] {
        for is_sha256 in [false, true] {
            for is_pinned in [false, true] {
                let way = Way {
                    is_sha256,
                    is_pinned,
                };
                for password in ["x", "ключ🔑", &"x".repeat(21), &"x".repeat(213)] {
                    let expected = [password.as_bytes(), b"\0"].concat();
                    assert_eq!(given(way, password, connect), expected, "{way:?}");
                }
            }
        }
    }
}
