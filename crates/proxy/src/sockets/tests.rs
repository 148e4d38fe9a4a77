use std::net::TcpListener;
use std::os::unix::net::UnixListener;

use super::*;
use crate::config::{BackendConfig, ListenerConfig};

fn tcp() -> (OwnedFd, Endpoint) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    (listener.into(), endpoint(&address.to_string()).unwrap())
}

fn config(listen: &[Endpoint]) -> Config {
    Config {
        listeners: vec![ListenerConfig {
            listen: listen.to_vec(),
            backends: vec![BackendConfig::new(endpoint("127.0.0.1:1").unwrap())],
            ..ListenerConfig::default()
        }],
        ..Config::default()
    }
}

#[test]
fn a_socket_is_used_for_its_address_and_others_are_made() {
    let (socket, listen) = tcp();
    let mut sockets = Sockets::default();
    sockets.add("one", socket).unwrap();
    sockets
        .check(&config(std::slice::from_ref(&listen)))
        .unwrap();
    let other = endpoint("127.0.0.1:0").unwrap();
    let options = ListenerOptions::default();
    let made = sockets.listen(&other, &options).unwrap();
    assert_eq!(sockets.len(), 1);
    // A second socket could not be bound there.
    let used = sockets.listen(&listen, &options).unwrap();
    assert_eq!(used.address().unwrap().to_string(), listen.to_string());
    assert_ne!(made.address().unwrap(), used.address().unwrap());
    assert!(sockets.is_empty());
}

#[test]
fn a_socket_that_fits_nothing_is_named() {
    let (socket, listen) = tcp();
    let mut sockets = Sockets::default();
    sockets.add("mysql.socket", socket).unwrap();
    let error = sockets.check(&config(&[endpoint("127.0.0.1:0").unwrap()]));
    let said = error.unwrap_err().to_string();
    assert!(
        said.contains("mysql.socket") && said.contains(&listen.to_string()),
        "{said}"
    );
}

#[test]
fn any_free_port_is_known_by_its_words() {
    let (socket, listen) = tcp();
    let any = endpoint("127.0.0.1:0").unwrap();
    let mut sockets = Sockets::default();
    sockets.add_of_proxy("127.0.0.1:0", true, socket).unwrap();
    sockets.check(&config(std::slice::from_ref(&any))).unwrap();
    let used = sockets.listen(&any, &ListenerOptions::default()).unwrap();
    assert_eq!(used.address().unwrap().to_string(), listen.to_string());
}

#[test]
fn each_socket_needs_an_address_of_its_own() {
    let any = endpoint("127.0.0.1:0").unwrap();
    let mut sockets = Sockets::default();
    for _ in 0..2 {
        sockets.add_of_proxy("127.0.0.1:0", true, tcp().0).unwrap();
    }
    assert!(sockets.check(&config(std::slice::from_ref(&any))).is_err());
    sockets.check(&config(&[any.clone(), any])).unwrap();
}

#[test]
fn the_file_of_a_unix_socket_stays_with_whom_made_it() {
    let path = std::env::temp_dir().join(format!("onecopy-sockets-{}", std::process::id()));
    let made = UnixListener::bind(&path).unwrap();
    let mut sockets = Sockets::default();
    sockets.add("unix", made.into()).unwrap();
    let endpoint = Endpoint::Unix(path.clone());
    drop(
        sockets
            .listen(&endpoint, &ListenerOptions::default())
            .unwrap(),
    );
    assert!(path.exists());
    std::fs::remove_file(path).unwrap();
}
