use std::fs;
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use rustix::io::Errno;

use super::*;
use crate::SocketOptions;

/// A path that goes with it.
struct Path(PathBuf);

impl Path {
    fn new(name: &str) -> Self {
        let name = format!("onecopy-evented-{}-{name}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    fn bind(&self) -> std::io::Result<Listener> {
        Listener::bind(&Address::Unix(self.0.clone()), &ListenerOptions::default())
    }
}

impl Drop for Path {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[test]
fn clients_are_accepted_until_none_waits_and_an_event_tells_of_the_next() {
    let path = Path::new("accept");
    for address in [
        Address::Tcp("127.0.0.1:0".parse().unwrap()),
        Address::Tcp("[::1]:0".parse().unwrap()),
        Address::Unix(path.0.clone()),
    ] {
        let listener = Listener::bind(&address, &ListenerOptions::default()).unwrap();
        let mut poll = Poll::new().unwrap();
        listener.register(poll.registry(), Token(9)).unwrap();
        let mut events = Events::with_capacity(1);
        for clients in [1, 5, 2] {
            let address = listener.address().unwrap();
            let connected: Vec<_> = (0..clients).map(|_| connect(&address).unwrap()).collect();
            let mut accepted = Vec::new();
            while accepted.len() < clients {
                poll.poll(&mut events, Some(NEVER)).unwrap();
                assert!(!events.is_empty(), "{address}");
                while let Some((stream, peer)) = listener.accept().unwrap() {
                    assert_eq!(stream.peer_addr(), peer);
                    assert_eq!(peer.is_none(), stream.is_unix());
                    accepted.push(stream);
                }
            }
            assert_eq!(accepted.len(), connected.len());
        }
        listener.deregister(poll.registry()).unwrap();
    }
}

#[test]
#[cfg(target_os = "linux")]
fn loops_that_share_a_listener_are_told_of_clients_until_one_has_taken_them() {
    let path = Path::new("shared");
    for address in [
        Address::Tcp("127.0.0.1:0".parse().unwrap()),
        Address::Unix(path.0.clone()),
    ] {
        let listener = Listener::bind(&address, &ListenerOptions::default()).unwrap();
        let mut polls = [Poll::new().unwrap(), Poll::new().unwrap()];
        for poll in &polls {
            listener.share(poll.registry(), Token(7)).unwrap();
        }
        let address = listener.address().unwrap();
        let _clients = [(); 2].map(|()| connect(&address).unwrap());
        let mut events = Events::with_capacity(1);
        for _ in 0..2 {
            // Nobody waits, so all are told; and they are told again for as long as there is a client.
            for poll in &mut polls {
                poll.poll(&mut events, Some(NEVER)).unwrap();
                let event = events.iter().next().unwrap();
                assert!(
                    event.token() == Token(7) && event.is_readable(),
                    "{event:?}"
                );
            }
            listener.accept().unwrap().unwrap();
        }
        let [first, second] = &mut polls;
        first.poll(&mut events, Some(Duration::ZERO)).unwrap();
        assert!(events.is_empty(), "there is nobody any more");
        listener.deregister(first.registry()).unwrap();
        let _client = connect(&address).unwrap();
        second.poll(&mut events, Some(NEVER)).unwrap();
        assert!(!events.is_empty());
        first.poll(&mut events, Some(Duration::ZERO)).unwrap();
        assert!(events.is_empty(), "it was taken out");
        assert!(listener.deregister(first.registry()).is_err());
    }
}

#[test]
fn a_port_that_is_taken_is_refused_and_one_that_was_given_up_is_not() {
    let any = Address::Tcp("127.0.0.1:0".parse().unwrap());
    let first = Listener::bind(&any, &ListenerOptions::default()).unwrap();
    let address = first.address().unwrap();
    let refused = Listener::bind(&address, &ListenerOptions::default()).unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::AddrInUse);
    let _client = connect(&address).unwrap();
    let (mut accepted, _) = loop {
        if let Some(accepted) = first.accept().unwrap() {
            break accepted;
        }
    };
    // The side that closes first is the one whose port stays taken for a while, without the option.
    accepted.shutdown();
    drop((accepted, first));
    Listener::bind(&address, &ListenerOptions::default()).unwrap();
}

#[test]
fn a_dead_listeners_file_is_replaced_and_a_living_ones_is_not() {
    let path = Path::new("dead");
    drop(std::os::unix::net::UnixListener::bind(&path.0).unwrap());
    assert!(path.0.exists(), "std leaves it behind");
    let living = path.bind().unwrap();
    let refused = path.bind().unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::AddrInUse);
    assert!(
        refused.to_string().contains("another process listens"),
        "{refused}"
    );
    connect(&living.address().unwrap()).unwrap();
}

#[test]
fn a_file_that_is_no_socket_stays() {
    let path = Path::new("file");
    fs::write(&path.0, "precious").unwrap();
    let refused = path.bind().unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::AddrInUse);
    assert!(refused.to_string().contains("not a socket"), "{refused}");
    assert_eq!(fs::read_to_string(&path.0).unwrap(), "precious");
}

#[test]
fn the_file_goes_with_the_listener_unless_it_is_anothers_by_then() {
    let path = Path::new("goes");
    let first = path.bind().unwrap();
    drop(first);
    assert!(!path.0.exists());
    let second = path.bind().unwrap();
    let inode = fs::metadata(&path.0).unwrap().ino();
    // Another file of that name, while the first has a name of its own and so keeps its number.
    let aside = Path::new("aside");
    fs::rename(&path.0, &aside.0).unwrap();
    let third = path.bind().unwrap();
    assert_ne!(fs::metadata(&path.0).unwrap().ino(), inode);
    drop(second);
    connect(&third.address().unwrap()).unwrap();
}

#[test]
fn the_file_has_just_the_mode_that_is_asked_for() {
    for mode in [0o777, 0o660, 0o600] {
        let path = Path::new(&format!("mode-{mode:o}"));
        let options = ListenerOptions {
            unix_mode: mode,
            ..ListenerOptions::default()
        };
        let _listener = Listener::bind(&Address::Unix(path.0.clone()), &options).unwrap();
        let found = fs::metadata(&path.0).unwrap().permissions().mode();
        assert_eq!(found & 0o777, mode, "{found:o}");
    }
}

#[test]
fn a_path_that_is_too_long_or_has_no_folder_is_an_error() {
    let long = Path::new(&"x".repeat(200));
    assert!(long.bind().is_err());
    let nowhere = Address::Unix("/nowhere/at/all".into());
    let error = Listener::bind(&nowhere, &ListenerOptions::default()).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
}

#[test]
fn what_one_client_brought_about_is_told_from_what_stops_all() {
    let of = |errno: Errno| AcceptError::from(std::io::Error::from(errno));
    for errno in [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM] {
        assert!(matches!(of(errno), AcceptError::Exhausted(_)), "{errno:?}");
    }
    for errno in [Errno::CONNABORTED, Errno::PROTO, Errno::PERM] {
        assert!(matches!(of(errno), AcceptError::Connection(_)), "{errno:?}");
    }
    for errno in [Errno::BADF, Errno::INVAL, Errno::NOTSOCK] {
        assert!(matches!(of(errno), AcceptError::Listener(_)), "{errno:?}");
    }
    assert!(of(Errno::MFILE).to_string().contains("limit of open files"));
}

#[test]
fn clients_have_the_options_that_were_set_on_the_listener() {
    let address = Address::Tcp("127.0.0.1:0".parse().unwrap());
    let listener = Listener::bind(&address, &ListenerOptions::default()).unwrap();
    let mut poll = Poll::new().unwrap();
    listener.register(poll.registry(), Token(9)).unwrap();
    let mut events = Events::with_capacity(1);
    let timeout = Duration::from_secs(7);
    let off = SocketOptions {
        nodelay: false,
        keepalive: None,
        user_timeout: None,
    };
    let on = SocketOptions {
        nodelay: true,
        keepalive: Some(timeout),
        user_timeout: Some(timeout),
    };
    for options in [SocketOptions::default(), on, off] {
        listener.set_options(&options).unwrap();
        let _client = connect(&listener.address().unwrap()).unwrap();
        let (stream, _) = loop {
            poll.poll(&mut events, Some(NEVER)).unwrap();
            if let Some(client) = listener.accept().unwrap() {
                break client;
            }
        };
        let socket = socket2::SockRef::from(&stream);
        assert_eq!(socket.tcp_nodelay().unwrap(), options.nodelay);
        assert_eq!(socket.keepalive().unwrap(), options.keepalive.is_some());
        if let Some(time) = options.keepalive {
            assert_eq!(socket.tcp_keepalive_time().unwrap(), time);
            let interval = time.min(Duration::from_secs(10));
            assert_eq!(socket.tcp_keepalive_interval().unwrap(), interval);
            assert_eq!(socket.tcp_keepalive_retries().unwrap(), 3);
        }
        assert_eq!(socket.tcp_user_timeout().unwrap(), options.user_timeout);
    }
}

#[test]
fn a_passed_socket_keeps_its_waiting_clients_and_its_file() {
    let path = Path::new("adopt");
    for address in [
        Address::Tcp("127.0.0.1:0".parse().unwrap()),
        Address::Unix(path.0.clone()),
    ] {
        let stays = Arc::new(AtomicBool::new(false));
        let mut before = Listener::bind(&address, &ListenerOptions::default()).unwrap();
        before.file_stays_while(&stays);
        let address = before.address().unwrap();
        let _waiting = connect(&address).unwrap();
        let passed = before.as_fd().try_clone_to_owned().unwrap();
        stays.store(true, SeqCst);
        drop(before);
        let mut listener = Listener::adopt(passed).unwrap();
        assert_eq!(listener.address().unwrap(), address);
        assert!(listener.accept().unwrap().is_some());
        // One that is given up again leaves it as well.
        let again = Listener::adopt(listener.as_fd().try_clone_to_owned().unwrap()).unwrap();
        drop(again);
        let _next = connect(&address).unwrap();
        assert!(listener.accept().unwrap().is_some());
        listener.file_stays_while(&Arc::default());
        drop(listener);
        assert!(!path.0.exists());
    }
}

#[test]
fn what_is_no_listening_socket_is_not_adopted() {
    let bound = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let (one, _other) = std::os::unix::net::UnixStream::pair().unwrap();
    let file = fs::File::open("/dev/null").unwrap();
    for fd in [std::os::fd::OwnedFd::from(bound), one.into(), file.into()] {
        assert!(Listener::adopt(fd).is_err());
    }
}
