//! Listening sockets that a service manager has passed: `LISTEN_FDS`, by the protocol of systemd's `sd_listen_fds`.
//!
//! The crate `listenfd` makes sockets of descriptor numbers, which takes `unsafe`.

use listenfd::ListenFd;
use onecopy_proxy::Sockets;

/// The first descriptor that is passed.
const FIRST: usize = 3;

/// More are no listeners of anybody's.
const MOST: usize = 1024;

/// The passed sockets; none where this process was not meant.
///
/// To be called once, before there are other threads and other open files.
pub(super) fn sockets() -> Result<Sockets, String> {
    let mut sockets = Sockets::default();
    let variable = |name: &str| std::env::var(name).ok();
    let is_meant = variable("LISTEN_PID").is_some_and(|pid| pid == std::process::id().to_string());
    let Some(count) = variable("LISTEN_FDS").filter(|_| is_meant) else {
        return Ok(sockets);
    };
    let count = count.parse().ok().filter(|count| *count <= MOST);
    let count = count.ok_or("LISTEN_FDS is not a number of passed sockets")?;
    let names = variable("LISTEN_FDNAMES").unwrap_or_default();
    let mut names = names.split(':');
    let mut passed = ListenFd::from_env();
    for at in 0..count {
        let name = names.next().filter(|name| !name.is_empty());
        let name = name.map_or_else(|| format!("descriptor {}", FIRST + at), str::to_owned);
        let tcp = passed.take_tcp_listener(at).ok().flatten();
        let mut unix = || passed.take_unix_listener(at).ok().flatten();
        let socket = tcp.map(Into::into).or_else(|| unix().map(Into::into));
        let socket = socket.ok_or_else(|| {
            format!("the passed socket '{name}' is not a stream socket of TCP or Unix")
        })?;
        sockets
            .add(&name, socket)
            .map_err(|error| error.to_string())?;
    }
    Ok(sockets)
}
