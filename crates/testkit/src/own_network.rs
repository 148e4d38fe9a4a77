//! A test in a network of its own, whose loopback interface has one more address, with a name that resolves.
//!
//! Servers treat 127.0.0.1 as a special case: they look its name up in no cache and count nothing for it. Connections to
//! [`ADDRESS`] come from [`ADDRESS`], which a server knows no better than any other host's.

use std::ffi::OsString;
use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread;

use crate::private::{POLL, TempFolder};

/// The address, and the only one beside 127.0.0.1 and ::1 in that network.
pub const ADDRESS: &str = "10.77.0.1";

/// Its name in that network's `/etc/hosts`.
pub const HOST: &str = "client.test";

/// Set in the process that runs the test.
const VARIABLE: &str = "ONECOPY_TEST_OWN_NETWORK";

const SCRIPT: &str = r#"
hosts=$1 address=$2
shift 2
ip link set lo up && ip address add "$address/32" dev lo && mount --bind "$hosts" /etc/hosts && exec "$@"
"#;

/// Whether this process runs in a network of its own. Where it does not, runs the test of this name in a process that does,
/// so that the caller has nothing left to do:
///
/// ```no_run
/// # fn a_test() {
/// if !onecopy_testkit::own_network::is_here("module::a_test") {
///     return;
/// }
/// # }
/// ```
///
/// # Panics
/// Where the test fails there, and where the system gives nobody a network of his own; the text says what to change.
pub fn is_here(test: &str) -> bool {
    if std::env::var_os(VARIABLE).is_some() {
        return true;
    }
    let folder = TempFolder::new().expect("a temporary folder");
    let hosts = folder.path().join("hosts");
    let text = format!("127.0.0.1 localhost\n{ADDRESS} {HOST}\n");
    fs::write(&hosts, text).expect("a file in the temporary folder");
    let kinds = namespaces();
    let output = Command::new("unshare")
        .args(kinds)
        .args(["sh", "-c", SCRIPT, "sh"])
        .arg(&hosts)
        .arg(ADDRESS)
        .arg(std::env::current_exe().expect("this test's own program"))
        .args(["--exact", test, "--nocapture"])
        .env(VARIABLE, "1")
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .expect("`unshare` of util-linux");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "in a network of its own:\n{said}");
    // A name that is no test's would have run nothing.
    assert!(said.contains("1 passed"), "no test is called {test}");
    false
}

/// What `unshare` is to make: as any user a user namespace as well, which some containers grant to nobody.
fn namespaces() -> &'static [&'static str] {
    const ANY_USER: &[&str] = &["--user", "--map-root-user", "--net", "--mount"];
    const ROOT: &[&str] = &["--net", "--mount"];
    let works = |kinds: &&&[&str]| {
        let tried = Command::new("unshare").args(**kinds).arg("true").output();
        tried.is_ok_and(|output| output.status.success())
    };
    [ANY_USER, ROOT].iter().find(works).unwrap_or_else(|| {
        panic!(
            "this test needs a network namespace, and `unshare --user --map-root-user --net --mount` fails: allow user \
             namespaces (sysctl kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0), or run \
             as root with CAP_SYS_ADMIN"
        )
    })
}

/// Another host: a network of its own behind a cable, in that network. It is gone when this is dropped.
#[derive(Debug)]
pub struct OtherHost(Child);

/// Its address. This side of the cable has 10.78.0.1.
pub const OTHER_ADDRESS: &str = "10.78.0.2";

/// The hardware's address, so that nobody has to ask for it.
const HARDWARE: &str = "02:00:00:00:00:02";

impl OtherHost {
    /// Makes one, where [`is_here`] is true. `None` where the system has no such cables, which it has if it may load the module
    /// `veth`.
    ///
    /// # Panics
    /// Where the system refuses anything else.
    pub fn new() -> Option<Self> {
        // It holds the network, and nothing else.
        let mut holder = Command::new("unshare")
            .args(["--net", "sleep", "infinity"])
            .stdin(Stdio::null())
            .spawn()
            .expect("`unshare` of util-linux");
        let own = fs::read_link("/proc/self/ns/net").expect("a network");
        let there = format!("/proc/{}/ns/net", holder.id());
        while fs::read_link(&there).is_ok_and(|network| network == own) {
            let is_there = holder.try_wait().is_ok_and(|status| status.is_none());
            assert!(is_there, "`unshare --net` has failed");
            thread::sleep(POLL);
        }
        let host = Self(holder);
        let id = host.0.id().to_string();
        let cable = [
            "link", "add", "cable", "type", "veth", "peer", "name", "cable",
        ];
        let end = ["address", HARDWARE, "netns", &id];
        if !runs(&[], &[&cable[..], &end].concat()) {
            return None;
        }
        let neighbor = ["neighbor", "replace", OTHER_ADDRESS, "lladdr", HARDWARE];
        for command in [
            &["address", "add", "10.78.0.1/24", "dev", "cable"][..],
            &["link", "set", "cable", "up"],
            &[&neighbor[..], &["dev", "cable", "nud", "permanent"]].concat(),
        ] {
            ip(&[], command);
        }
        for device in ["lo", "cable"] {
            ip(&host.entry(), &["link", "set", device, "up"]);
        }
        host.reconnect();
        Some(host)
    }

    /// What runs a command there, in front of it.
    pub fn entry(&self) -> [OsString; 3] {
        let network = format!("--net=/proc/{}/ns/net", self.0.id());
        ["nsenter".into(), network.into(), "--".into()]
    }

    /// From now on nothing arrives there, and nobody is told.
    pub fn cut(&self) {
        let address = format!("{OTHER_ADDRESS}/24");
        ip(
            &self.entry(),
            &["address", "delete", &address, "dev", "cable"],
        );
    }

    /// Packets arrive again.
    pub fn reconnect(&self) {
        let address = format!("{OTHER_ADDRESS}/24");
        ip(
            &self.entry(),
            &["address", "replace", &address, "dev", "cable"],
        );
    }
}

impl Drop for OtherHost {
    fn drop(&mut self) {
        // It has no other work.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn ip(entry: &[OsString], arguments: &[&str]) {
    assert!(
        runs(entry, arguments),
        "`ip {}` has failed",
        arguments.join(" ")
    );
}

fn runs(entry: &[OsString], arguments: &[&str]) -> bool {
    let mut words = entry.iter().cloned().chain(["ip".into()]);
    let program = words.next().unwrap_or_default();
    let status = Command::new(program).args(words).args(arguments).status();
    status.is_ok_and(|status| status.success())
}
