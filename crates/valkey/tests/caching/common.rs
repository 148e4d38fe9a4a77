//! A server that is a script, and waiting for what comes in its own time.

use std::future::Future;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use onecopy_valkey::aio::{Cached, SharedOptions};
use onecopy_valkey::caching::CacheOptions;
use onecopy_valkey::{Config, Protocol};

/// Longer than anything that is waited for takes on a busy machine: only a hang reaches it.
pub(crate) const LONG: Duration = Duration::from_secs(120);

/// `small` in a test run, `large` in a soak.
pub(crate) fn count(small: u64, large: u64) -> u64 {
    let is_soak = std::env::var_os("ONECOPY_SOAK").is_some_and(|value| value == "1");
    if is_soak { large } else { small }
}

/// What comes of it, unless it hangs.
pub(crate) async fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(LONG, work).await.expect("it hangs")
}

/// Asks until the answer is yes.
pub(crate) async fn until(mut is_so: impl FnMut() -> bool) {
    within(async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
}

const HELLO: &str = "%1\r\n$5\r\nproto\r\n:3\r\n";

/// A server that says what a test tells it to. The handshake and CLIENT TRACKING are answered for it.
pub(crate) struct Peer {
    port: u16,
    connections: Arc<Mutex<Vec<TcpStream>>>,
    /// Those that were told to track.
    tracking: Arc<Mutex<Vec<TcpStream>>>,
    came: Mutex<Receiver<String>>,
    /// The reply to CLUSTER SLOTS, or what a sentinel says of the primary.
    topology: Arc<Mutex<String>>,
}

impl Peer {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let connections = Arc::<Mutex<Vec<TcpStream>>>::default();
        let tracking = Arc::<Mutex<Vec<TcpStream>>>::default();
        let topology = Arc::<Mutex<String>>::default();
        let (sender, came) = channel();
        let accepted = Arc::clone(&connections);
        let (tracks, knows) = (Arc::clone(&tracking), Arc::clone(&topology));
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                accepted.lock().unwrap().push(stream.try_clone().unwrap());
                let sender = sender.clone();
                let (tracks, knows) = (Arc::clone(&tracks), Arc::clone(&knows));
                thread::spawn(move || {
                    let mut buffer = [0; 4096];
                    while let Ok(n @ 1..) = stream.read(&mut buffer) {
                        let text = String::from_utf8_lossy(&buffer[..n]).replace("\r\n", " ");
                        let answer = match text.as_str() {
                            hello if hello.contains("HELLO") => HELLO.to_owned(),
                            "*3 $6 CLIENT $8 TRACKING $2 ON " => {
                                tracks.lock().unwrap().push(stream.try_clone().unwrap());
                                "+OK\r\n".to_owned()
                            }
                            "*2 $7 CLUSTER $6 SHARDS " => "-ERR unknown subcommand\r\n".to_owned(),
                            "*2 $7 CLUSTER $5 SLOTS " => knows.lock().unwrap().clone(),
                            "*1 $4 ROLE " => "*3\r\n$6\r\nmaster\r\n:1\r\n*0\r\n".to_owned(),
                            asks if asks.contains("GET-MASTER-ADDR") => {
                                knows.lock().unwrap().clone()
                            }
                            asks if asks.contains("SENTINEL") => "*0\r\n".to_owned(),
                            asks if asks.contains("SUBSCRIBE") => {
                                ">3\r\n$9\r\nsubscribe\r\n$14\r\n+switch-master\r\n:1\r\n"
                                    .to_owned()
                            }
                            _ => {
                                if sender.send(text).is_err() {
                                    return;
                                }
                                continue;
                            }
                        };
                        if stream.write_all(answer.as_bytes()).is_err() {
                            return;
                        }
                    }
                });
            }
        });
        Self {
            port,
            connections,
            tracking,
            came: Mutex::new(came),
            topology,
        }
    }

    pub(crate) async fn connect(&self) -> Cached {
        let mut config = Config::from_url(&format!("redis://127.0.0.1:{}", self.port)).unwrap();
        config.client_info = false;
        config.protocol = Some(Protocol::Resp3);
        let mut options = SharedOptions::default();
        options.backoff.base = Duration::from_millis(5);
        let connecting = Cached::connect_with(&config, options, CacheOptions::default());
        within(connecting).await.unwrap()
    }

    /// Waits for the next request, with its lines in one line.
    pub(crate) fn request(&self) -> String {
        let came = self.came.lock().unwrap();
        came.recv_timeout(LONG).unwrap().trim_end().to_owned()
    }

    /// Whether nothing was asked for that no test has seen.
    pub(crate) fn is_quiet(&self) -> bool {
        self.came.lock().unwrap().try_recv().is_err()
    }

    /// Says something on the last connection that tracks.
    pub(crate) fn say(&self, text: &str) {
        let tracking = self.tracking.lock().unwrap();
        let mut last = tracking.last().unwrap();
        last.write_all(text.as_bytes()).unwrap();
    }

    /// Sets what it says of the cluster, or of the primary.
    pub(crate) fn knows(&self, topology: String) {
        *self.topology.lock().unwrap() = topology;
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Ends all connections.
    pub(crate) fn cut(&self) {
        for connection in self.connections.lock().unwrap().iter() {
            let _ = connection.shutdown(Shutdown::Both);
        }
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.lock().unwrap().len()
    }
}
