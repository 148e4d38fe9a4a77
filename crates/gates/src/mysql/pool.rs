//! A checkout of the MySQL client's pools.

use std::io::{IoSlice, IoSliceMut, Read, Write};
use std::net::TcpStream;

use onecopy_mysql::{Config, Endpoint, aio, blocking};

use super::Case;
use crate::checkout::{Checkout, TokioCheckout, serve_one};
use crate::peer::Peer;
use crate::peer::mysql::MySqlPeer;

pub(crate) fn checkout() -> Checkout<impl Fn()> {
    let pool = blocking::Pool::new(config()).expect("good settings");
    Checkout::new(move || drop(pool.get().expect("a connection")))
}

pub(crate) fn tokio_checkout() -> TokioCheckout<impl AsyncFn()> {
    TokioCheckout::new(|| {
        let pool = aio::Pool::new(config()).expect("good settings");
        async move || drop(pool.get().await.expect("a connection"))
    })
}

fn config() -> Config {
    let mut config = super::config();
    config.endpoint = Endpoint::Tcp {
        host: "127.0.0.1".to_owned(),
        port: serve_one(serve),
    };
    config.pool.max = 1;
    // Nothing is asked after the login.
    config.pool.reset = false;
    config
}

/// The recorded login; then it listens to the end.
fn serve(mut stream: TcpStream) -> std::io::Result<()> {
    let mut peer = MySqlPeer::new(Case::Ok.replies());
    let mut buffer = vec![0; 16 << 10];
    for _ in 0..2 {
        let n = peer.give(&mut [IoSliceMut::new(&mut buffer)]);
        stream.write_all(&buffer[..n])?;
        let n = stream.read(&mut buffer)?;
        peer.take(&[IoSlice::new(&buffer[..n])]);
    }
    while stream.read(&mut buffer)? > 0 {}
    Ok(())
}
