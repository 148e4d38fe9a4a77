//! Nodes that answer whatever a test says.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use onecopy_valkey::cluster::ClusterConfig;

/// A node that is a script.
pub(crate) struct Fake {
    port: u16,
    connections: Arc<AtomicUsize>,
}

/// What a connection does after a request.
pub(crate) enum Answer {
    Say(Vec<u8>),
    Silence,
    Close,
}

impl From<&str> for Answer {
    fn from(text: &str) -> Self {
        Self::Say(text.into())
    }
}

impl From<String> for Answer {
    fn from(text: String) -> Self {
        Self::Say(text.into())
    }
}

impl Fake {
    /// Starts a node on a port of its own. `answer` gets the words of a request in upper case, joined, and the port. The handshake
    /// is answered for it.
    pub(crate) fn start<A: Into<Answer>>(
        answer: impl Fn(&str, u16) -> A + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let connections = Arc::<AtomicUsize>::default();
        let count = Arc::clone(&connections);
        let answer = Arc::new(move |request: &str| answer(request, port).into());
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                count.fetch_add(1, Ordering::Relaxed);
                let answer = Arc::clone(&answer);
                thread::spawn(move || serve(stream, &*answer));
            }
        });
        Self { port, connections }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Connections that were accepted.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    pub(crate) fn config(&self) -> ClusterConfig {
        let url = format!("redis+cluster://127.0.0.1:{}?client-info=false", self.port);
        ClusterConfig::from_url(&url).unwrap()
    }
}

fn serve(stream: TcpStream, answer: &dyn Fn(&str) -> Answer) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut writer = stream;
    while let Some(request) = request(&mut reader) {
        let answer = if request.starts_with("HELLO") {
            Answer::from("%1\r\n$5\r\nproto\r\n:3\r\n")
        } else {
            answer(&request)
        };
        match answer {
            Answer::Say(bytes) if writer.write_all(&bytes).is_err() => return,
            Answer::Say(_) | Answer::Silence => {}
            Answer::Close => return,
        }
    }
}

fn request(reader: &mut impl BufRead) -> Option<String> {
    let count = header(reader)?;
    let mut words = Vec::new();
    for _ in 0..count {
        let len = header(reader)?;
        let mut word = vec![0; len + 2];
        reader.read_exact(&mut word).ok()?;
        word.truncate(len);
        words.push(String::from_utf8_lossy(&word).to_uppercase());
    }
    Some(words.join(" "))
}

fn header(reader: &mut impl BufRead) -> Option<usize> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    line.trim_end().get(1..)?.parse().ok()
}

/// The reply to CLUSTER SLOTS of a cluster of one node.
pub(crate) fn all_slots_at(port: u16) -> String {
    format!("*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:{port}\r\n")
}

/// A node of whose cluster it is the only one, with this answer to all else.
pub(crate) fn only_node<A: Into<Answer>>(
    answer: impl Fn(&str, u16) -> A + Send + Sync + 'static,
) -> Fake {
    Fake::start(move |request, port| match request {
        "CLUSTER SHARDS" => Answer::from("-ERR unknown subcommand\r\n"),
        "CLUSTER SLOTS" => all_slots_at(port).into(),
        other => answer(other, port).into(),
    })
}
