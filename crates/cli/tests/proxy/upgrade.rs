//! `onecopy upgrade`: the real binary is replaced by itself while clients run statements.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use onecopy_mysql::blocking::Connection;
use onecopy_testkit::certificate::Authority;
use onecopy_testkit::server::shared;

use super::service::Manager;
use super::{onecopy, signal};

/// Until something happens that has to.
const PATIENCE: Duration = Duration::from_secs(60);

/// A proxy that replaces itself, and all processes that were it.
struct Service {
    folder: PathBuf,
    manager: Manager,
    first: Child,
    /// The process that is the service now.
    process: u32,
    /// All that were, apart from the first one, which is a child.
    others: Vec<u32>,
    lines: Receiver<String>,
    ports: Vec<u16>,
}

impl Service {
    /// Listens for clients with connections of their own, in clear text, with TLS and by a Unix socket; and for those of a pool.
    fn start(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("onecopy-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let authority = Authority::new("the upgrade's tests");
        let certificate = authority.server(&["127.0.0.1"]);
        let files = certificate.write(&folder, "proxy").unwrap();
        fs::write(folder.join("ca.pem"), authority.certificate()).unwrap();
        fs::write(folder.join("root.password"), shared().root_password()).unwrap();
        let backend = format!(
            "[[mysql.backend]]\nserver = \"127.0.0.1:{}\"\n",
            shared().port()
        );
        let text = format!(
            "workers = 2\n[upgrade]\nsocket = \"upgrade.sock\"\n\
             [[mysql]]\nname = \"plain\"\nlisten = [\"127.0.0.1:0\", \"{}\"]\n{backend}\
             [[mysql]]\nname = \"tls\"\nlisten = \"127.0.0.1:0\"\nreencrypt-passwords = true\n\
             tls = {{ certificate = \"{}\", key = \"{}\" }}\n{backend}\
             [[mysql]]\nname = \"pooled\"\nlisten = \"127.0.0.1:0\"\nmode = \"transaction\"\n\
             account = [{{ user = \"root\", password-file = \"root.password\" }}]\n{backend}",
            folder.join("plain.sock").display(),
            files.certificate.display(),
            files.key.display(),
        );
        fs::write(folder.join("proxy.toml"), text).unwrap();
        let notify = folder.join("notify.sock");
        let manager = Manager::bind(&SocketAddr::from_pathname(&notify).unwrap());
        let mut command = onecopy(&["--config", folder.join("proxy.toml").to_str().unwrap()]);
        let mut first = command.env("NOTIFY_SOCKET", &notify).spawn().unwrap();
        let (sender, lines) = channel();
        let stderr = BufReader::new(first.stderr.take().unwrap());
        // It is the others', too: it ends with the last of them.
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        manager.until("READY=1");
        let mut service = Self {
            folder,
            manager,
            process: first.id(),
            first,
            others: Vec::new(),
            lines,
            ports: Vec::new(),
        };
        while service.ports.len() < 3 {
            let line = service.line("listening on ");
            service.ports.extend(
                line.rsplit(':')
                    .next()
                    .and_then(|port| port.parse::<u16>().ok()),
            );
        }
        service
    }

    /// The next line that has a text.
    fn line(&self, text: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(PATIENCE).unwrap();
            if line.contains(text) {
                return line;
            }
        }
    }

    fn file(&self, name: &str) -> String {
        self.folder.join(name).to_str().unwrap().to_owned()
    }

    fn upgrade(&self) -> Output {
        Command::new(env!("CARGO_BIN_EXE_onecopy"))
            .args(["upgrade", "--config", &self.file("proxy.toml")])
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    /// Another process is the service from now on. Gives the one before.
    fn replace(&mut self) -> u32 {
        let output = self.upgrade();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{said}");
        let main = self.manager.until("MAINPID=");
        let process = main
            .trim()
            .strip_prefix("MAINPID=")
            .unwrap()
            .parse()
            .unwrap();
        assert!(
            said.contains(&format!("process {process} has taken over")),
            "{said}"
        );
        self.others.push(process);
        // It comes behind, or the service manager would not listen to it.
        self.manager.until("READY=1");
        std::mem::replace(&mut self.process, process)
    }

    /// The URL of the listener with this number.
    fn url(&self, listener: usize) -> String {
        let own = format!(":{}", shared().port());
        let url = shared()
            .url()
            .replace(&own, &format!(":{}", self.ports[listener]));
        match listener {
            1 => format!("{url}?ssl-mode=verify-full&ssl-ca={}", self.file("ca.pem")),
            _ => url,
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        for process in &self.others {
            let id = process.to_string();
            let _ = Command::new("kill")
                .args(["-KILL", &id])
                .stderr(Stdio::null())
                .status();
        }
        let _ = self.first.kill();
        let _ = self.first.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "{what} did not come about");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn kill(process: u32, how: &str) {
    let status = Command::new("kill")
        .args([how, &process.to_string()])
        .status();
    assert!(status.unwrap().success());
}

fn is_there(process: u32) -> bool {
    fs::read_to_string(format!("/proc/{process}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn no_client_notices_that_the_binary_is_replaced() {
    let mut service = Service::start("upgrade");
    let is_over = Arc::new(AtomicBool::new(false));
    let errors = Arc::new(Mutex::new(Vec::new()));
    let mut clients = Vec::new();
    let mut rounds = Vec::new();
    for listener in 0..3 {
        for stays in [true, false] {
            let url = service.url(listener);
            let count = Arc::new(AtomicU64::new(0));
            rounds.push(Arc::clone(&count));
            let (is_over, errors) = (Arc::clone(&is_over), Arc::clone(&errors));
            clients.push(std::thread::spawn(move || {
                let run = || {
                    let mut conn = Connection::connect(&url)?;
                    let mut statement = conn.prepare("SELECT ?")?;
                    while !is_over.load(SeqCst) {
                        conn.execute(&statement, &[7.into()])?.finish()?;
                        count.fetch_add(1, SeqCst);
                        if !stays {
                            conn = Connection::connect(&url)?;
                            statement = conn.prepare("SELECT ?")?;
                        }
                    }
                    Ok::<_, onecopy_mysql::Error>(())
                };
                if let Err(error) = run() {
                    errors.lock().unwrap().push(format!("{url}: {error}"));
                }
            }));
        }
    }
    let mut before = Vec::new();
    for _ in 0..3 {
        let seen: Vec<_> = rounds.iter().map(|count| count.load(SeqCst)).collect();
        until("statements of all clients", || {
            let mut all = rounds.iter().zip(&seen);
            let has_run = |(count, seen): (&Arc<AtomicU64>, &u64)| count.load(SeqCst) > seen + 5;
            all.all(has_run) || !errors.lock().unwrap().is_empty()
        });
        before.push(service.replace());
    }
    is_over.store(true, SeqCst);
    clients
        .into_iter()
        .for_each(|client| client.join().unwrap());
    assert_eq!(*errors.lock().unwrap(), Vec::<String>::new());
    // Nobody needs them any more.
    assert!(service.first.wait().unwrap().success());
    for process in &before[1..] {
        until("the end of the process before", || !is_there(*process));
    }
    // Files of Unix sockets are there for the last one.
    assert!(service.folder.join("plain.sock").exists());
    kill(service.process, "-TERM");
    service.manager.until("STOPPING=1");
    until("the end of the last one", || !is_there(service.process));
    assert!(!service.folder.join("plain.sock").exists());
}

#[test]
fn whoever_comes_reaches_the_new_process_while_the_old_one_sleeps() {
    let mut service = Service::start("sleeps");
    let mut stays: Vec<_> = (0..3)
        .map(|listener| Connection::connect(&service.url(listener)).unwrap())
        .collect();
    for conn in &mut stays {
        conn.run("BEGIN").unwrap();
    }
    let old = service.replace();
    // What it holds is served later; what comes does not get there.
    kill(old, "-STOP");
    for listener in 0..3 {
        for _ in 0..5 {
            let mut conn = Connection::connect(&service.url(listener)).unwrap();
            conn.run("SELECT 1").unwrap();
        }
    }
    kill(old, "-CONT");
    for conn in &mut stays {
        conn.run("COMMIT").unwrap();
    }
    // A signal has those that are left end.
    signal(&service.first, "-TERM");
    assert!(service.first.wait().unwrap().success());
    assert!(stays[0].run("SELECT 1").is_err());
}

#[test]
fn a_new_process_that_fails_leaves_the_old_one_as_it_was() {
    let mut service = Service::start("fails");
    let file = service.file("proxy.toml");
    let right = fs::read_to_string(&file).unwrap();
    let mut stays = Connection::connect(&service.url(0)).unwrap();
    for (wrong, said) in [
        // Found before anything is started.
        ("workers = \"many\"\n".to_owned(), "not upgraded: "),
        // Found by the new process.
        (
            right.replace("server = \"127.0.0.1", "server = \"no.such.host.invalid"),
            "no.such.host.invalid",
        ),
        (
            right.replacen("\"127.0.0.1:0\"", "\"127.0.0.2:0\"", 1),
            "which is no `listen`",
        ),
    ] {
        fs::write(&file, wrong).unwrap();
        let output = service.upgrade();
        assert!(!output.status.success());
        let answer = String::from_utf8(output.stderr).unwrap();
        assert!(answer.contains(said), "{answer}");
        stays.run("SELECT 1").unwrap();
        let mut next = Connection::connect(&service.url(1)).unwrap();
        next.run("SELECT 1").unwrap();
    }
    fs::write(&file, &right).unwrap();
    // Where nothing waits there is nothing to upgrade.
    let none = service.file("no.sock");
    for (arguments, said, code) in [
        (&["--socket", &none][..], "no proxy waits there", 1),
        (&[], "or --socket PATH is required", 2),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_onecopy"));
        let refused = command.arg("upgrade").args(arguments).output().unwrap();
        let answer = String::from_utf8(refused.stderr).unwrap();
        assert!(answer.contains(said), "{answer}");
        assert_eq!(refused.status.code(), Some(code), "{answer}");
    }
    let alone = onecopy(&["--config", &file, "--take-over"]);
    drop(alone);
    service.replace();
    stays.run("SELECT 1").unwrap();
}

#[test]
fn a_proxy_without_sessions_ends_after_it_has_said_what_came_of_the_upgrade() {
    let mut service = Service::start("empty");
    let mut before = Vec::new();
    for _ in 0..4 {
        before.push(service.replace());
    }
    assert!(service.first.wait().unwrap().success());
    for process in &before[1..] {
        until("the end of the process before", || !is_there(*process));
    }
}
