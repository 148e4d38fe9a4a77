//! Values around 16 MiB over TLS and without on either side: they are the same on both ends, and the proxy holds little of
//! them. Its memory is the kernel's high-water mark (`VmHWM`); the allocator is the C library's. `ONECOPY_SOAK=1` adds 256 MiB.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Child;

use onecopy_mysql::blocking::Connection;
use onecopy_mysql::{Config, SslMode};
use onecopy_net::{Endpoint, Pem};
use onecopy_testkit::certificate::Authority;
use onecopy_testkit::server::shared;

use crate::{after, onecopy, signal};

/// The longest payload of one packet.
const PACKET: usize = 0xFF_FFFF;

/// Bytes by which the proxy may grow while a value passes. A session has two directions with a buffer of at most 512 KiB each, and
/// TLS keeps records of 16 KiB a side; the rest is what malloc keeps of what was given back.
const GROWTH: u64 = 4 << 20;

/// The query is 12 bytes longer, `SET @v = '...'` behind its first byte; a row of text 4, or 9 from 16 MiB on.
fn sizes() -> Vec<usize> {
    let mut sizes = vec![PACKET - 12, PACKET - 4, 1 << 24, 2 * PACKET - 9];
    if std::env::var_os("ONECOPY_SOAK").is_some_and(|value| value == "1") {
        sizes.push(256 << 20);
    }
    sizes
}

/// A folder with certificates and a file of one listener for each kind of both sides: clear and clear, clear and TLS, ...
struct Ground {
    folder: PathBuf,
    authority: Authority,
}

impl Ground {
    fn new() -> Self {
        let folder = std::env::temp_dir().join(format!("onecopy-large-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let authority = Authority::new("clients of the proxy");
        let certificate = authority.server(&["127.0.0.1"]);
        certificate.write(&folder, "front").unwrap();
        let ground = Self { folder, authority };
        fs::write(ground.file(), ground.listeners()).unwrap();
        ground
    }

    fn file(&self) -> PathBuf {
        self.folder.join("proxy.toml")
    }

    fn listeners(&self) -> String {
        let (server, ca) = (shared().port(), shared().authority().unwrap());
        let kind = |number: usize| {
            let mut text = format!("[[mysql]]\nname = '{number}'\nlisten = '127.0.0.1:0'\n");
            if is_tls(number / 2) {
                text += "[mysql.tls]\ncertificate = 'front.pem'\nkey = 'front-key.pem'\n";
            }
            text += &format!("[[mysql.backend]]\nserver = '127.0.0.1:{server}'\n");
            if is_tls(number % 2) {
                text += &format!("[mysql.backend.tls]\nca = '{}'\n", ca.display());
            }
            text
        };
        (0..4).map(kind).collect()
    }

    /// The way to the server by one of the listeners.
    fn config(&self, number: usize, port: u16) -> Config {
        let mut config = Config::from_url(&shared().url()).unwrap();
        config.endpoint = Endpoint::Tcp {
            host: "127.0.0.1".into(),
            port,
        };
        config.ssl_mode = Some(SslMode::Disabled);
        if is_tls(number / 2) {
            config.ssl_mode = Some(SslMode::VerifyFull);
            config.ssl_ca = Some(Pem::Text(self.authority.certificate().into_bytes()));
        }
        config
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn is_tls(side: usize) -> bool {
    side == 1
}

#[test]
fn values_around_16_mib_pass_over_all_kinds_of_sides_in_little_memory() {
    let ground = Ground::new();
    let mut child = onecopy(&["--config", ground.file().to_str().unwrap()])
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let largest = sizes().into_iter().max().unwrap();
    let letters: String = (0..largest).map(letter).collect();
    for number in 0..4 {
        let port = after(&mut lines, "listening on 127.0.0.1:")
            .parse()
            .unwrap();
        let mut conn = Connection::connect_with(&ground.config(number, port)).unwrap();
        assert_eq!(conn.tls().is_some(), is_tls(number / 2));
        // What a session of this kind needs at all.
        pass(&mut conn, &letters[..1000]);
        let before = resident(&child, "VmRSS:");
        fs::write(proc_file(&child, "clear_refs"), "5").unwrap();
        for len in sizes() {
            pass(&mut conn, &letters[..len]);
        }
        let grown = resident(&child, "VmHWM:").saturating_sub(before);
        assert!(grown <= GROWTH, "{number}: {before} and {grown} more");
        conn.close().unwrap();
    }
    signal(&child, "-TERM");
    assert!(child.wait().unwrap().success());
}

/// A value there and back, by text and as a parameter.
fn pass(conn: &mut Connection, value: &str) {
    conn.run(format!("SET @v = '{value}'")).unwrap();
    let mut rows = conn.query("SELECT @v, LENGTH(@v)").unwrap();
    let row = rows.next().unwrap().unwrap();
    assert!(row.get::<&[u8]>(0).unwrap() == value.as_bytes());
    assert_eq!(row.get::<usize>(1).unwrap(), value.len());
    rows.finish().unwrap();
    let statement = conn.prepare("SELECT ?, LENGTH(?)").unwrap();
    let values = [value.as_bytes().into(), value.as_bytes().into()];
    let mut rows = conn.execute(&statement, &values).unwrap();
    let row = rows.next().unwrap().unwrap();
    assert!(row.get::<&[u8]>(0).unwrap() == value.as_bytes());
    assert_eq!(row.get::<usize>(1).unwrap(), value.len());
    rows.finish().unwrap();
    conn.close_statement(statement).unwrap();
    conn.run("SET @v = NULL").unwrap();
}

/// Letters that repeat in no short period.
fn letter(place: usize) -> char {
    let mixed = (place as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 59;
    char::from(b'a' + u8::try_from(mixed % 26).unwrap())
}

fn proc_file(child: &Child, name: &str) -> PathBuf {
    Path::new("/proc").join(child.id().to_string()).join(name)
}

/// A line of the child's status, in bytes.
fn resident(child: &Child, key: &str) -> u64 {
    let status = fs::read_to_string(proc_file(child, "status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(key));
    let number = line.unwrap().trim().trim_end_matches(" kB");
    number.parse::<u64>().unwrap() << 10
}
