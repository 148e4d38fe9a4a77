//! Servers that want the password itself, as those with PAM and LDAP do.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};

use onecopy_mysql::PluginSet;
use onecopy_mysql::blocking::Connection;
use onecopy_net::Endpoint;
use onecopy_proxy::config::BackendConfig;
use onecopy_testkit::server::{Server, lacks};

use crate::common::{connect, loopback, pooled, said};
use crate::sides::{Front, Way, unique};

const USER: &str = "of_directory";

/// A greeting of MariaDB with the plugin mysql_native_password, laid out after its page of the connection phase.
const GREETING: &[u8] =
    b"\x0A5.5.5-11.4.2-MariaDB\0\x07\0\0\x0012345678\0\x0F\xA2\x2D\x02\0\xFF\x01\x15\
    \0\0\0\0\0\0\0\0\0\x00123456789012\0mysql_native_password\0";

fn send(stream: &mut UnixStream, sequence: u8, payload: &[u8]) {
    let len = u8::try_from(payload.len()).unwrap();
    let packet = [&[len, 0, 0, sequence], payload].concat();
    // Who only wanted the greeting is gone.
    let _ = stream.write_all(&packet);
}

/// The payload of the next packet, where there is one.
fn receive(stream: &mut UnixStream) -> Option<Vec<u8>> {
    let mut header = [0; 4];
    stream.read_exact(&mut header).ok()?;
    let len = u32::from_le_bytes([header[0], header[1], header[2], 0]);
    let mut payload = vec![0; len as usize];
    stream.read_exact(&mut payload).ok()?;
    Some(payload)
}

/// A server on a Unix socket that asks each client for its password by this plugin, tells it, and lets nobody in.
fn asking(question: &'static [u8]) -> (PathBuf, Receiver<Vec<u8>>) {
    let path = unique("sock");
    let listener = UnixListener::bind(&path).unwrap();
    let (told, passwords) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            ask(stream.unwrap(), question, &told);
        }
    });
    (path, passwords)
}

fn ask(mut stream: UnixStream, question: &[u8], told: &Sender<Vec<u8>>) {
    send(&mut stream, 0, GREETING);
    if receive(&mut stream).is_none() {
        return;
    }
    send(&mut stream, 2, question);
    if let Some(password) = receive(&mut stream) {
        let _ = told.send(password);
        send(
            &mut stream,
            4,
            b"\xFF\x15\x04#28000Access denied by the directory",
        );
    }
}

fn front(backend: Endpoint, plugins: PluginSet) -> Front {
    pooled(&[(USER, "secret")], |listener| {
        let mut backend = BackendConfig::new(backend);
        backend.auth_plugins = plugins;
        listener.backends = vec![backend];
    })
}

/// What the first client is answered, at its login or at its first statement.
fn answer(front: &Front) -> (u16, String) {
    let config = front.config_of(Way::Plain, USER, "secret");
    let ran = connect(&config).and_then(|mut conn| conn.run("DO 1").map(drop));
    said(&ran.unwrap_err())
}

#[test]
fn a_password_itself_goes_where_its_plugin_is_named_and_nowhere_else() {
    let clear: &[u8] = b"\xFEmysql_clear_password\0";
    // The byte in front of the text says that the answer is a secret, and that no other question follows.
    let dialog: &[u8] = b"\xFEdialog\0\x05Password: ";
    for (question, name, plugin) in [
        (clear, "mysql_clear_password", PluginSet::CLEAR_PASSWORD),
        (dialog, "dialog", PluginSet::DIALOG),
    ] {
        let (path, passwords) = asking(question);
        let refused = answer(&front(Endpoint::Unix(path.clone()), PluginSet::SAFE));
        let advice = format!("add {name} to auth-plugins");
        assert!(refused.1.contains(&advice), "{refused:?}");
        assert!(passwords.try_recv().is_err());
        let allowed = front(Endpoint::Unix(path), PluginSet::SAFE | plugin);
        let denied = (1045, "Access denied by the directory".to_owned());
        let said = answer(&allowed);
        assert!(said.0 == denied.0 && said.1.contains(&denied.1), "{said:?}");
        assert_eq!(passwords.recv().unwrap(), b"secret\0", "{name}");
    }
}

#[test]
fn a_server_with_pam_is_told_the_password_over_a_way_that_is_safe() {
    let server = Server::start().unwrap();
    let mut admin = Connection::connect(&server.socket_url()).unwrap();
    if let Err(error) = admin.run("INSTALL SONAME 'auth_pam_v1'") {
        return lacks("pam", &error.to_string());
    }
    for host in ["localhost", "127.0.0.1"] {
        let account = format!("CREATE USER {USER}@{host} IDENTIFIED VIA pam USING 'other'");
        admin.run(account).unwrap();
    }
    let plugins = PluginSet::SAFE | PluginSet::DIALOG;
    // PAM knows no such user, and refuses whoever it is.
    let socket = Endpoint::Unix(server.socket().to_owned());
    let (code, message) = answer(&front(socket, plugins));
    assert_eq!(code, 1045, "{message}");
    let (_, message) = answer(&front(loopback(server.port()), plugins));
    assert!(
        message.contains("tls that verifies the server"),
        "{message}"
    );
}
