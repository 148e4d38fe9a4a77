//! The tests of hostile servers, again with hardly any address space.

use std::process::Command;

use onecopy_testkit::alloc::Watch;

/// 256 MiB, in the unit of `ulimit -v`.
const ADDRESS_SPACE_KIB: u32 = 256 << 10;

/// What a cap is worth: without it the tests above would hold none.
#[test]
fn the_allocator_of_these_tests_counts() {
    let watch = Watch::above(4 << 10).capped(1 << 20);
    let refused = watch.run(|| Vec::<u8>::new().try_reserve_exact(2 << 20).is_err());
    assert!(refused);
    assert_eq!((watch.large(), watch.failed()), (1, Some(2 << 20)));
}

/// This binary runs itself: all tests whose module begins with `hostile`, and those of bytes that nobody asked
/// for, one after the other.
#[test]
fn broken_servers_are_met_within_256_mib_of_address_space() {
    let tests = std::env::current_exe().unwrap();
    let output = Command::new("sh")
        .args([
            "-c",
            r#"ulimit -v "$1" && exec "$0" hostile session::unsolicited --test-threads=1"#,
        ])
        .arg(&tests)
        .arg(ADDRESS_SPACE_KIB.to_string())
        .env("RUST_BACKTRACE", "0")
        // Each of glibc's arenas reserves 64 MiB of addresses, and which threads get one is chance.
        .env("MALLOC_ARENA_MAX", "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{}\n{text}\n{errors}",
        output.status
    );
    let passed = text.matches(" ... ok").count();
    assert!(passed >= 30, "only {passed} tests ran:\n{text}");
    for both in [
        "unsolicited_bytes_behind_a_reply",
        "unsolicited_bytes_behind_the_login",
    ] {
        assert!(text.contains(both), "{both} did not run:\n{text}");
    }
}
