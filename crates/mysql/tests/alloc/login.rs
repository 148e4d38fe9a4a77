//! Logins whose texts are long, on either side.

use onecopy_mysql::Config;
use onecopy_mysql_proto::Capabilities;
use onecopy_testkit::script::noise;

use crate::conversation::Fate;
use crate::packets::{OK, answered, config, greeting, response};

/// A user, a database and attributes, each longer than what may fail.
fn long_config() -> Config {
    let mut config = config();
    config.user = "u".repeat(5000);
    config.database = Some("d".repeat(6000));
    config.attributes = vec![("a".into(), "b".into()); 100];
    config.attributes[98] = ("n".repeat(4200), "v".repeat(50_000));
    config
}

#[test]
fn long_names_attributes_and_server_versions() {
    let capabilities = Capabilities::CONNECT_WITH_DB | Capabilities::CONNECT_ATTRS;
    let version: Vec<u8> = noise(20_000)
        .iter()
        .map(|byte| byte | 1) // no NUL, and mostly no UTF-8
        .collect();
    let plugin = "p".repeat(9000);
    // A plugin that is not known is answered by the client's own, and switched from.
    let own = b"caching_sha2_password";
    let switch = [
        &b"\xfemysql_native_password\0"[..],
        b"12345678901234567890\0",
    ]
    .concat();
    let script = greeting(capabilities, &version, plugin.as_bytes())
        .client(&response(&long_config(), capabilities, own))
        .server_packets(2, &[&switch])
        .client(&[0, 0, 0, 3])
        .server_packets(4, &[OK]);
    let talk = conversation!(long_config(), |conn, step, wait| {
        step!(|conn| { wait!(conn.ping()) });
        let version = conn.conn.server_version();
        assert!(version.len() > 20_000 && version.contains('\u{FFFD}'));
    });
    talk.run(&answered(script), &[Fate::Closed, Fate::NotSent]);
}

#[test]
fn a_refusal_with_a_long_text() {
    let capabilities = Capabilities::empty();
    let text = [&b"\xff\x15\x04#28000"[..], noise(60_000)].concat();
    let script = greeting(capabilities, b"8.4.3", b"mysql_native_password")
        .client(&response(&config(), capabilities, b"mysql_native_password"))
        .server_packets(2, &[&text]);
    let talk = conversation!(config(), |conn, step, wait| {
        step!(|conn| { wait!(conn.ping()) });
    });
    talk.run_refused(&script, 1045);
}

#[test]
fn a_switch_with_much_data() {
    let capabilities = Capabilities::empty();
    let data = [&b"\xfemysql_native_password\0"[..], noise(60_000)].concat();
    let script = greeting(capabilities, b"8.4.3", b"mysql_native_password")
        .client(&response(&config(), capabilities, b"mysql_native_password"))
        .server_packets(2, &[&data]);
    let talk = conversation!(config(), |conn, step, wait| {
        step!(|conn| { wait!(conn.ping()) });
    });
    talk.run_refused(&script, 0);
}
