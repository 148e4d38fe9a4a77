//! The clients of MariaDB and of MySQL, with each of their plugins.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use onecopy_testkit::mariadb_client;
use onecopy_testkit::server::lacks;

use crate::common::{on_server, pooled};
use crate::sides::{Front, Way, sides, unique};

const PASSWORD: &str = "correct horse";

/// The client of MySQL that came with the server, with that server's own loader.
fn mysql_client() -> Option<Command> {
    let launcher = PathBuf::from(std::env::var_os("ONECOPY_TEST_SERVER")?);
    let root = launcher.parent()?.join("root");
    let found = root.join("usr/bin/mysql");
    let matching = |folder: &str, name: &str| -> Option<PathBuf> {
        let mut entries = std::fs::read_dir(root.join(folder)).ok()?;
        entries.find_map(|entry| {
            let path = entry.ok()?.path();
            let is_it = path.file_name()?.to_str()?.contains(name);
            is_it.then_some(path)
        })
    };
    if !found.exists() {
        return None;
    }
    let mut command = Command::new(matching("usr/lib64", "ld-linux")?);
    command.arg("--library-path");
    command.arg(matching("usr/lib", "-linux-gnu")?).arg(found);
    Some(command)
}

/// What a client prints, or what it says is wrong.
fn run(
    mut command: Command,
    front: &Front,
    way: Way,
    arguments: &[String],
) -> Result<String, String> {
    command.arg("--no-defaults");
    match way {
        Way::Socket => command.arg(format!("--socket={}", front.socket().display())),
        _ => command
            .args(["--protocol=tcp", "--host=127.0.0.1"])
            .arg(format!("--port={}", front.port())),
    };
    let output = command
        .args(arguments)
        .args(["-BN", "-e", "SELECT CURRENT_USER()"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    match output.status.success() {
        true => Ok(String::from_utf8(output.stdout).unwrap().trim().to_owned()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// Logs in with the right password and a wrong one, over each way.
fn try_plugin(program: impl Fn() -> Command, plugin: &str, tls: [&[String]; 2], extra: &[&str]) {
    let user = format!("by_{plugin}");
    on_server(&user, PASSWORD);
    let front = pooled(&[(&user, PASSWORD)], |_| {});
    let [without_tls, with_tls] = tls;
    for (way, options) in [
        (Way::Plain, without_tls),
        (Way::Tls, with_tls),
        (Way::Socket, without_tls),
    ] {
        let arguments = |password: &str| {
            let mut arguments = options.to_vec();
            arguments.extend([
                format!("--user={user}"),
                format!("--password={password}"),
                format!("--default-auth={plugin}"),
            ]);
            arguments.extend(extra.iter().map(|&option| option.to_owned()));
            arguments
        };
        let what = format!("{plugin} {way:?}");
        let right = run(program(), &front, way, &arguments(PASSWORD));
        assert_eq!(right, Ok(format!("{user}@%")), "{what}");
        let wrong = run(program(), &front, way, &arguments("wrong")).unwrap_err();
        assert!(wrong.contains("1045"), "{what}: {wrong}");
    }
}

fn authority() -> PathBuf {
    let path = unique("pem");
    std::fs::write(&path, sides().authority.certificate()).unwrap();
    path
}

fn option(name: &str, path: &Path) -> String {
    format!("{name}={}", path.display())
}

#[test]
fn mariadbs_client_logs_in_with_each_of_its_plugins() {
    let client = mariadb_client().unwrap();
    let ca = authority();
    let tls = ["--ssl".to_owned(), option("--ssl-ca", &ca)];
    let without = ["--skip-ssl".to_owned()];
    for plugin in [
        "mysql_native_password",
        "caching_sha2_password",
        "sha256_password",
        "client_ed25519",
    ] {
        let program = || Command::new(&client);
        try_plugin(program, plugin, [&without, &tls], &[]);
    }
    std::fs::remove_file(ca).unwrap();
}

#[test]
fn mysqls_client_logs_in_with_each_of_its_plugins() {
    let Some(_) = mysql_client() else {
        return lacks("MySQL's own client", "it comes with MySQL's servers");
    };
    let ca = authority();
    let tls = ["--ssl-mode=VERIFY_CA".to_owned(), option("--ssl-ca", &ca)];
    let without = ["--ssl-mode=DISABLED".to_owned()];
    for plugin in ["caching_sha2_password", "sha256_password"] {
        let program = || mysql_client().unwrap();
        try_plugin(
            program,
            plugin,
            [&without, &tls],
            &["--get-server-public-key"],
        );
    }
    std::fs::remove_file(ca).unwrap();
}
