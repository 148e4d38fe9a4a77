//! Clusters of MariaDB servers that replicate to each other by Galera.
//!
//! A node that joins is normally given all of the data by another one, with programs that must be installed. Here all of
//! them begin with data folders that are equal, and say so: what has happened in the cluster since is sent by Galera itself.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Instant;

use crate::private::{
    self, PATIENCE, PORT_ATTEMPTS, Packages, StartError, TempFolder, Wanted, Watchdog, free_port,
};

use super::find::{self, ServerBinary};
use super::{Server, ServerKind, launch, options};

const LIBRARY: Wanted = Wanted {
    names: &["libgalera_smm.so"],
    called: "libgalera_smm.so",
    folders: &[
        "/usr/lib/galera",
        "/usr/lib",
        "/usr/lib64/galera",
        "/usr/lib64/galera-4",
        "/usr/local/lib/galera",
    ],
    variable: "ONECOPY_TEST_GALERA",
    packages: Packages {
        product: "Galera",
        required: "Galera 4",
        apt: &["galera-4"],
        dnf: &["galera"],
        apk: &["mariadb-galera"],
    },
};

/// Run by the server on both sides of a join, by its name; tells the new node which state it has.
const STATE_TRANSFER: &str = include_str!("wsrep_sst_onecopy.sh");

/// What all nodes believe to have been in, before there was a cluster.
const STATE: &str = "# GALERA saved state
version: 2.1
uuid:    6f6e6563-6f70-7921-8000-000000000001
seqno:   0
safe_to_bootstrap: 1
";

/// How often a cluster is started that does not come about.
const TRIES: usize = 3;

/// Starts so many nodes of one cluster, with the same password of `root`. They answer, and join while they do.
///
/// # Errors
/// As [`Server::start`]; where Galera's library is not found, it is installed as a server is. MySQL has no Galera.
pub fn start_galera(nodes: usize, root_password: &str) -> Result<Vec<Server>, StartError> {
    let library = private::found_or_installed(&LIBRARY, |path| Ok(path.to_owned()))?;
    let binary = find::found_or_installed()?;
    for _ in 1..TRIES {
        match start_with(&binary, &library, nodes, root_password) {
            // Galera ends a node whose donor lost the cluster for a moment while it joined: seen once in 95 starts on a busy machine.
            Err(error @ StartError::Exited { .. }) => eprintln!("Galera starts again: {error}"),
            started => return started,
        }
    }
    start_with(&binary, &library, nodes, root_password)
}

fn start_with(
    binary: &ServerBinary,
    library: &Path,
    nodes: usize,
    root_password: &str,
) -> Result<Vec<Server>, StartError> {
    let prepared = thread::scope(|scope| {
        let prepare = || Node::prepare(binary, library, root_password);
        let threads: Vec<_> = (0..nodes).map(|_| scope.spawn(prepare)).collect();
        let join = |thread: thread::ScopedJoinHandle<'_, _>| {
            thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads
            .into_iter()
            .map(join)
            .collect::<Result<Vec<Node>, _>>()
    })?;
    let (mut servers, mut first) = (Vec::new(), None);
    for node in prepared {
        let (server, port) = node.join(binary, library, root_password, first)?;
        first.get_or_insert(port);
        servers.push(server);
    }
    Ok(servers)
}

/// A node's data.
struct Node {
    folder: TempFolder,
}

impl Node {
    /// Fills its folder, and has it be a cluster by itself once: the state is then in its data, as it is in the others'.
    fn prepare(
        binary: &ServerBinary,
        library: &Path,
        root_password: &str,
    ) -> Result<Self, StartError> {
        let folder = TempFolder::new()?;
        launch::fill_data_folder(binary, &folder, root_password, Instant::now() + PATIENCE)?;
        let programs = programs(&folder);
        fs::create_dir(&programs).map_err(StartError::io("create the folder", &programs))?;
        let script = programs.join("wsrep_sst_onecopy");
        fs::write(&script, STATE_TRANSFER).map_err(StartError::io("write", &script))?;
        fs::set_permissions(&script, fs::Permissions::from_mode(0o700))
            .map_err(StartError::io("make executable", &script))?;
        let state = options::data(&folder).join("grastate.dat");
        fs::write(&state, STATE).map_err(StartError::io("write", &state))?;
        let node = Self { folder };
        let (mut watchdog, _, _) = node.serve(binary, library, None, true)?;
        watchdog.leave_folder();
        Ok(node)
    }

    /// Serves as a member of the cluster that is at the port, or as the first one of a new cluster. Gives its own port there.
    fn join(
        self,
        binary: &ServerBinary,
        library: &Path,
        root_password: &str,
        first: Option<u16>,
    ) -> Result<(Server, u16), StartError> {
        let (watchdog, ports, version) = self.serve(binary, library, first, false)?;
        let server = Server {
            kind: ServerKind::MariaDb,
            port: ports[0],
            socket: self.folder.socket(),
            root_password: root_password.to_owned(),
            version,
            authority: None,
            watchdog,
            _folder: self.folder,
        };
        Ok((server, ports[1]))
    }

    fn serve(
        &self,
        binary: &ServerBinary,
        library: &Path,
        first: Option<u16>,
        is_used_again: bool,
    ) -> Result<(Watchdog, [u16; 3], String), StartError> {
        let deadline = Instant::now() + PATIENCE;
        let mut attempt = 1;
        loop {
            let ports = [free_port()?, free_port()?, free_port()?];
            let mut command = vec!["/usr/bin/env".into(), path_with(&programs(&self.folder))];
            command.extend(options::serving(binary, &self.folder, ports[0]));
            command.extend(arguments(library, ports, first));
            if is_used_again {
                // Its data has to be whole when it stops.
                command.push("--innodb-fast-shutdown=1".into());
            }
            let mut watchdog =
                Watchdog::start(self.folder.path(), Path::new("/dev/null"), &command)?;
            let socket = self.folder.socket();
            match launch::wait_for_greeting(&watchdog, &socket, deadline) {
                Ok(version) => return Ok((watchdog, ports, version)),
                // Mostly one of the ports, each of which has a message of its own.
                Err(StartError::Exited { .. }) if attempt < PORT_ATTEMPTS => {
                    watchdog.leave_folder();
                    attempt += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }
}

fn arguments(library: &Path, ports: [u16; 3], first: Option<u16>) -> Vec<OsString> {
    let [port, group, transfer] = ports;
    let cluster = first.map(|port| format!("127.0.0.1:{port}"));
    let provider = format!(
        "gmcast.listen_addr=tcp://127.0.0.1:{group};ist.recv_addr=127.0.0.1:{transfer};gcache.size=16M;\
         pc.recovery=no"
    );
    let mut library_option = OsString::from("--wsrep-provider=");
    library_option.push(library);
    vec![
        "--wsrep-on=ON".into(),
        library_option,
        format!(
            "--wsrep-cluster-address=gcomm://{}",
            cluster.unwrap_or_default()
        )
        .into(),
        format!("--wsrep-provider-options={provider}").into(),
        "--wsrep-node-address=127.0.0.1".into(),
        format!("--wsrep-node-incoming-address=127.0.0.1:{port}").into(),
        "--wsrep-sst-method=onecopy".into(),
        "--binlog-format=ROW".into(),
        "--innodb-autoinc-lock-mode=2".into(),
    ]
}

/// Where the server finds what it runs for a join.
fn programs(folder: &TempFolder) -> PathBuf {
    folder.path().join("programs")
}

fn path_with(programs: &Path) -> OsString {
    let mut path = OsString::from("PATH=");
    path.push(programs);
    path.push(":");
    path.push(env::var_os("PATH").unwrap_or_default());
    path
}
