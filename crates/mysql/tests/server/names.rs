//! The name of a host that leads to another server meanwhile, as after a failover by DNS: each new connection looks it up again.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::thread;

use onecopy_mysql::{Config, Endpoint, Error, aio, blocking};
use onecopy_testkit::own_network::{self, ADDRESS};
use onecopy_testkit::server::Server;

const NAME: &str = "db.test";
const PASSWORD: &str = "names";

/// Where the name leads from now on. The file belongs to this process alone.
fn lead_to(address: &str) {
    fs::write(
        "/etc/hosts",
        format!("127.0.0.1 localhost\n{address} {NAME}\n"),
    )
    .unwrap();
}

/// Passes connections on to a server.
fn pass_on(listener: TcpListener, server: u16) {
    thread::spawn(move || {
        while let Ok((client, _)) = listener.accept() {
            let server = TcpStream::connect(("127.0.0.1", server)).unwrap();
            for (from, to) in [(&client, &server), (&server, &client)] {
                let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                thread::spawn(move || {
                    // An error ends it as the end does.
                    let _ = std::io::copy(&mut from, &mut to);
                    let _ = to.shutdown(std::net::Shutdown::Both);
                });
            }
        }
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_is_looked_up_again_for_each_new_connection() {
    if !own_network::is_here("names::a_name_is_looked_up_again_for_each_new_connection") {
        return;
    }
    let servers = [(); 2].map(|()| Server::builder().root_password(PASSWORD).start().unwrap());
    let old = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = old.local_addr().unwrap().port();
    pass_on(old, servers[0].port());
    pass_on(
        TcpListener::bind((ADDRESS, port)).unwrap(),
        servers[1].port(),
    );
    let mut config = Config::default();
    config.user = "root".into();
    config.password = PASSWORD.into();
    config.endpoint = Endpoint::Tcp {
        host: NAME.into(),
        port,
    };
    config.ssl_mode = Some(onecopy_mysql::SslMode::Disabled);
    config.get_server_public_key = true;
    config.pool.max = 1;
    let pool = aio::Pool::new(config.clone()).unwrap();
    let threads = blocking::Pool::new(config.clone()).unwrap();
    for (address, server) in [("127.0.0.1", &servers[0]), (ADDRESS, &servers[1])] {
        lead_to(address);
        // Idle connections stay where they are; these end, as with a server that goes.
        for server in &servers {
            end_sessions(server);
        }
        let mut conn = aio::Connection::connect_with(&config).await.unwrap();
        let mut other = blocking::Connection::connect_with(&config).unwrap();
        let sql = "SELECT @@port";
        let ports: [u16; 4] = [
            conn.query_scalar(sql).await.unwrap(),
            other.query_scalar(sql).unwrap(),
            port_of(async || pool.get().await.unwrap().query_scalar(sql).await).await,
            port_of(async || threads.get().unwrap().query_scalar(sql)).await,
        ];
        assert_eq!(ports, [server.port(); 4], "{address}");
    }
}

/// Of a connection of a pool. The end of an idle one may be on its way still; the next one is new.
async fn port_of(mut ask: impl AsyncFnMut() -> Result<u16, Error>) -> u16 {
    match ask().await {
        Err(error) if error.is_closed() => ask().await.unwrap(),
        port => port.unwrap(),
    }
}

/// Ends all sessions of a server, and returns when they are gone.
fn end_sessions(server: &Server) {
    let mut admin = blocking::Connection::connect(&server.socket_url()).unwrap();
    let sql = "SELECT id FROM information_schema.processlist WHERE id <> CONNECTION_ID() AND host LIKE '%:%'";
    loop {
        let ids: Vec<(u64,)> = admin.query_as(sql).unwrap();
        if ids.is_empty() {
            return;
        }
        for (id,) in ids {
            // It may be gone already.
            let _ = admin.run(format!("KILL CONNECTION {id}"));
        }
        thread::sleep(std::time::Duration::from_millis(5));
    }
}
