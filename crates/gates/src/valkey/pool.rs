//! A checkout of the Valkey client's pools.

use std::io::Read;
use std::net::TcpStream;

use onecopy_valkey::{Config, Endpoint, Protocol, aio, blocking};

use crate::checkout::{Checkout, TokioCheckout, serve_one};

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

/// In RESP2 not even a login sends anything.
fn config() -> Config {
    let mut config = super::config();
    config.protocol = Some(Protocol::Resp2);
    config.client_info = false;
    config.endpoint = Endpoint::Tcp {
        host: "127.0.0.1".to_owned(),
        port: serve_one(serve),
    };
    config.pool.max = 1;
    config
}

fn serve(mut stream: TcpStream) -> std::io::Result<()> {
    let mut buffer = [0; 512];
    while stream.read(&mut buffer)? > 0 {}
    Ok(())
}
