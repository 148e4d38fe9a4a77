use super::*;

#[test]
fn the_product_and_the_release_are_read_from_the_version() {
    let redis =
        "Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.2.1 bits=64 build=1d8d9e7c\n";
    assert_eq!(version(redis), Some((false, "7.0.15", (7, 0))));
    let valkey = "Valkey server v=8.1.1 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=4ac1\n";
    assert_eq!(version(valkey), Some((true, "8.1.1", (8, 1))));
    assert_eq!(version("redis-cli 7.0.15\n"), None);
    assert_eq!(version("Redis server v=unstable\n"), None);
    assert_eq!(version(""), None);
}

#[test]
fn something_that_is_no_server_is_named_as_such() {
    let why = probe(Path::new("/bin/echo")).unwrap_err();
    assert_eq!(why, "/bin/echo is not a Valkey or Redis server");
}

#[test]
fn a_checker_is_called_by_a_servers_name() {
    let binary = |path: &str, is_valkey| ServerBinary {
        path: path.into(),
        is_valkey,
        version: "8.1.1".into(),
        release: (8, 1),
    };
    assert_eq!(
        binary("/usr/bin/valkey-check-rdb", true).other_name(),
        Some("valkey-server")
    );
    assert_eq!(
        binary("/usr/bin/redis-check-rdb", false).other_name(),
        Some("redis-server")
    );
    assert_eq!(binary("/usr/bin/valkey-server", true).other_name(), None);
}
