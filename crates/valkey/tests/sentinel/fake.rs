//! Servers and sentinels that answer whatever a test says.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use onecopy_valkey::sentinel::SentinelConfig;

/// A process that is a script.
pub(crate) struct Fake {
    port: u16,
    connections: Arc<AtomicUsize>,
}

/// What a connection does after a request.
pub(crate) enum Answer {
    Say(Vec<u8>),
    /// Says something over and over, as long as the client reads.
    Repeat(Vec<u8>),
    /// Says something at once, and something else when there is something to say; then closes.
    Later(Vec<u8>, Box<dyn FnOnce() -> Vec<u8> + Send>),
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
    /// Starts it on a port of its own. `answer` gets the words of a request in upper case, joined. The handshake is answered for it.
    pub(crate) fn start<A: Into<Answer>>(
        answer: impl Fn(&str) -> A + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let connections = Arc::<AtomicUsize>::default();
        let count = Arc::clone(&connections);
        let answer = Arc::new(move |request: &str| answer(request).into());
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                count.fetch_add(1, Ordering::Relaxed);
                let answer = Arc::clone(&answer);
                thread::spawn(move || serve(stream, &*answer));
            }
        });
        Self { port, connections }
    }

    /// A sentinel that names the server of this port as the primary, knows nothing else, and announces nothing.
    pub(crate) fn sentinel_of(port: u16) -> Self {
        Self::sentinel(move || port)
    }

    /// The same with a port that may change.
    pub(crate) fn sentinel(port: impl Fn() -> u16 + Send + Sync + 'static) -> Self {
        Self::start(move |request| sentinel_says(request, port()))
    }

    /// A server that says that it has this role, and answers OK to the rest.
    pub(crate) fn server(role: &'static str) -> Self {
        Self::start(move |request| match request {
            "ROLE" => role,
            _ => "+OK\r\n",
        })
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Connections that were accepted.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

pub(crate) const PRIMARY: &str = "*3\r\n$6\r\nmaster\r\n:1\r\n*0\r\n";
pub(crate) const REPLICA: &str =
    "*5\r\n$5\r\nslave\r\n$9\r\n127.0.0.1\r\n:1\r\n$9\r\nconnected\r\n:1\r\n";

/// What an honest sentinel says.
pub(crate) fn sentinel_says(request: &str, port: u16) -> Answer {
    let port = port.to_string();
    match request {
        "SENTINEL GET-MASTER-ADDR-BY-NAME MAIN" => {
            format!("*2\r\n$9\r\n127.0.0.1\r\n${}\r\n{port}\r\n", port.len()).into()
        }
        "SENTINEL REPLICAS MAIN" | "SENTINEL SENTINELS MAIN" => "*0\r\n".into(),
        "SUBSCRIBE +SWITCH-MASTER" => SUBSCRIBED.into(),
        "ROLE" => "*2\r\n$8\r\nsentinel\r\n*1\r\n$4\r\nmain\r\n".into(),
        _ => "-ERR unknown command\r\n".into(),
    }
}

pub(crate) const SUBSCRIBED: &str = ">3\r\n$9\r\nsubscribe\r\n$14\r\n+switch-master\r\n:1\r\n";

/// The announcement of a new primary.
pub(crate) fn announcement(old: u16, new: u16) -> String {
    let text = format!("main 127.0.0.1 {old} 127.0.0.1 {new}");
    format!(
        ">3\r\n$7\r\nmessage\r\n$14\r\n+switch-master\r\n${}\r\n{text}\r\n",
        text.len()
    )
}

/// The settings for these sentinels.
pub(crate) fn config(ports: &[u16]) -> SentinelConfig {
    let hosts: Vec<String> = ports
        .iter()
        .map(|port| format!("127.0.0.1:{port}"))
        .collect();
    let url = format!(
        "redis+sentinel://{}/main?client-info=false",
        hosts.join(",")
    );
    let mut config = SentinelConfig::from_url(&url).unwrap();
    config.sentinel.client_info = false;
    config.max_wait = std::time::Duration::from_millis(300);
    config
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
            Answer::Repeat(bytes) => while writer.write_all(&bytes).is_ok() {},
            Answer::Later(now, later) => {
                let _ = writer.write_all(&now);
                let _ = writer.write_all(&later());
                return;
            }
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
