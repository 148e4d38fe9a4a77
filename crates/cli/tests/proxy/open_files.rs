//! As many files open as the process may have.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use onecopy_mysql::blocking::Connection;
use onecopy_testkit::server::shared;

/// No answer takes as long.
const PATIENCE: Duration = Duration::from_secs(30);

/// A proxy under a limit of open files, and what it has logged.
struct Limited {
    child: Child,
    file: PathBuf,
    log: Arc<Mutex<Vec<String>>>,
    ports: [u16; 3],
}

impl Limited {
    /// `limit`: arguments of `ulimit`.
    fn start(name: &str, limit: &str) -> Self {
        Self::with_checks(name, limit, "50ms")
    }

    /// `interval`: how often the backend is checked.
    fn with_checks(name: &str, limit: &str, interval: &str) -> Self {
        let path = std::env::temp_dir().join(format!("onecopy-{name}-{}.toml", std::process::id()));
        let free = [(), (), ()].map(|()| std::net::TcpListener::bind("127.0.0.1:0").unwrap());
        let ports = free.each_ref().map(|one| one.local_addr().unwrap().port());
        drop(free);
        let [mysql, metrics, admin] = ports;
        let text = format!(
            "[log]\nformat = \"json\"\n\
             [metrics]\nlisten = \"127.0.0.1:{metrics}\"\n\
             [admin]\nlisten = \"127.0.0.1:{admin}\"\npassword = \"secret\"\n\
             [health]\ninterval = \"{interval}\"\nfall = 1\nuser = \"root\"\npassword = \"{}\"\n\
             [[mysql]]\nname = \"mysql\"\nlisten = \"127.0.0.1:{mysql}\"\nhandshake-timeout = \"10m\"\n\
             [[mysql.backend]]\nserver = \"127.0.0.1:{}\"\n",
            shared().root_password(),
            shared().port()
        );
        fs::write(&path, text).unwrap();
        let mut child = Command::new("sh")
            .arg("-c")
            .arg(format!("ulimit {limit} && exec \"$@\""))
            .args(["sh", env!("CARGO_BIN_EXE_onecopy"), "proxy", "--config"])
            .arg(&path)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let log = Arc::new(Mutex::new(Vec::new()));
        let (lines, stderr) = (Arc::clone(&log), child.stderr.take().unwrap());
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                lines.lock().unwrap().push(line);
            }
        });
        let proxy = Self {
            child,
            file: path,
            log,
            ports,
        };
        proxy.until("its start", || !proxy.lines("started").is_empty());
        proxy
    }

    fn until(&self, what: &str, mut is_so: impl FnMut() -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !is_so() {
            let log = self.log.lock().unwrap().join("\n");
            assert!(
                Instant::now() < deadline,
                "{what} did not come about:\n{log}"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn lines(&self, event: &str) -> Vec<String> {
        let event = format!("\"event\":\"{event}\"");
        let log = self.log.lock().unwrap();
        let lines = log.iter().filter(|line| line.contains(&event));
        lines.cloned().collect()
    }

    /// Sets the limit so that so many more files can be opened than are open now.
    fn leave_room_for(&self, files: usize) {
        let process = self.child.id();
        let open = fs::read_dir(format!("/proc/{process}/fd")).unwrap();
        let open: Vec<usize> = open
            .map(|file| file.unwrap().file_name().to_str().unwrap().parse().unwrap())
            .collect();
        // The limit is one of their numbers, and each gets the smallest that is free.
        let last = (0..).filter(|number| !open.contains(number)).nth(files);
        let set = Command::new("prlimit")
            .arg(format!("--pid={process}"))
            .arg(format!("--nofile={}:", last.unwrap()))
            .status();
        assert!(set.expect("prlimit of util-linux").success());
    }

    /// A client, and the first packet that it gets.
    fn client(&self) -> (TcpStream, Vec<u8>) {
        hear(self.ports[0])
    }

    fn get(&self, path: &str) -> String {
        let mut stream = connect(self.ports[1]);
        write!(stream, "GET {path} HTTP/1.1\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn value(&self, series: &str) -> u64 {
        let page = self.get("/metrics");
        let mut lines = page.lines();
        let line = lines.find(|line| {
            line.strip_prefix(series)
                .is_some_and(|l| l.starts_with(' '))
        });
        let line = line.unwrap_or_else(|| panic!("{series} is not in {page}"));
        line.rsplit(' ').next().unwrap().parse().unwrap()
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_file(&self.file);
    }
}

fn connect(port: u16) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

fn hear(port: u16) -> (TcpStream, Vec<u8>) {
    let mut stream = connect(port);
    let mut header = [0; 4];
    stream.read_exact(&mut header).unwrap();
    let mut payload = vec![0; usize::from(header[0])];
    stream.read_exact(&mut payload).unwrap();
    (stream, payload)
}

#[test]
fn a_proxy_out_of_descriptors_says_so_and_stays_healthy() {
    let proxy = Limited::start("files", "-n 256");
    let warned = proxy.lines("open_files").remove(0);
    for part in ["\"level\":\"warn\"", "max-connections", "256", "ulimit -n"] {
        assert!(warned.contains(part), "{part} is not in {warned}");
    }
    let (mut inside, mut refused) = (Vec::new(), 0);
    for _ in 0..300 {
        let (stream, first) = proxy.client();
        match first[0] {
            10 => inside.push(stream),
            _ => {
                let code = u16::from_le_bytes([first[1], first[2]]);
                let text = String::from_utf8_lossy(&first[3..]).into_owned();
                assert_eq!(code, 1040, "{text}");
                assert!(text.contains("open files"), "{text}");
                refused += 1;
            }
        }
    }
    assert!(inside.len() >= 50, "only {} sessions", inside.len());
    assert!(refused >= 100, "{refused}");
    // Health checks continue, and need a descriptor each.
    std::thread::sleep(Duration::from_secs(1));
    for _ in 0..20 {
        let health = proxy.get("/health");
        assert!(health.starts_with("HTTP/1.1 200"), "{health}");
    }
    let backend = format!("127.0.0.1:{}", shared().port());
    let of = |name: &str| format!("{name}{{listener=\"mysql\",backend=\"{backend}\"}}");
    assert_eq!(proxy.value(&of("onecopy_backend_failed_connects_total")), 0);
    assert_eq!(proxy.value(&of("onecopy_backend_failed_checks_total")), 0);
    let reason = "side=\"proxy\",reason=\"open_files\"";
    let series = format!("onecopy_sessions_refused_total{{listener=\"mysql\",{reason}}}");
    assert_eq!(proxy.value(&series), refused);
    assert_eq!(hear(proxy.ports[2]).1[0], 10, "an administrator");
    proxy.until("the line", || proxy.lines("open_files").len() > 1);
    let lines = proxy.lines("open_files");
    assert!(lines.len() < 10, "{lines:?}");
    drop(inside);
    proxy.until("the next client", || proxy.client().1[0] == 10);
}

#[test]
fn a_backend_is_not_blamed_for_a_lack_of_descriptors() {
    let proxy = Limited::with_checks("one_file", "-n 256", "1h");
    proxy.until("a client that can't be connected", || {
        // The client's own, and none for the connection to the backend. A check that has just ended leaves one more.
        proxy.leave_room_for(1);
        let (_, first) = proxy.client();
        first[0] == 0xFF
            && u16::from_le_bytes([first[1], first[2]]) == 1040
            && String::from_utf8_lossy(&first).contains("open files")
    });
    proxy.leave_room_for(100);
    proxy.until("the next client", || proxy.client().1[0] == 10);
    let backend = format!("127.0.0.1:{}", shared().port());
    let series = "onecopy_backend_failed_connects_total";
    let series = format!("{series}{{listener=\"mysql\",backend=\"{backend}\"}}");
    assert_eq!(proxy.value(&series), 0);
}

#[test]
fn the_soft_limit_of_open_files_is_raised_to_the_hard_one() {
    let proxy = Limited::start("soft", "-S -n 40");
    let limits = fs::read_to_string(format!("/proc/{}/limits", proxy.child.id())).unwrap();
    let line = limits
        .lines()
        .find(|line| line.starts_with("Max open files"));
    let words: Vec<_> = line.unwrap().split_whitespace().collect();
    assert_eq!(words[3], words[4], "{words:?}");
    let clients: Vec<_> = (0..60).map(|_| proxy.client()).collect();
    assert!(clients.iter().all(|(_, first)| first[0] == 10));
    let url = shared().url();
    let url = url.replace(
        &format!(":{}/", shared().port()),
        &format!(":{}/", proxy.ports[0]),
    );
    Connection::connect(&url).unwrap();
}
