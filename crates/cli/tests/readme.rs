//! A new project, made of README's own lines, compiles and runs.
//!
//! Other crates are compiled with the features that they have in the workspace, so that those compiled for its tests serve here too:
//! anew, TLS alone would take a minute.
#![allow(clippy::unwrap_used)] // the helpers are part of the tests

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use onecopy_mysql::blocking::Connection;
use onecopy_testkit::server::Server;
use onecopy_testkit::valkey;

/// The blocks of code in README: what stands behind the opening fence, and the text.
fn blocks(readme: &str) -> Vec<(&str, &str)> {
    let parts: Vec<_> = readme.split("\n```").collect();
    let blocks = parts.iter().skip(1).step_by(2);
    blocks.filter_map(|block| block.split_once('\n')).collect()
}

struct Project {
    folder: PathBuf,
    /// Where the workspace's own crates are compiled: most of the project is compiled already.
    target: PathBuf,
}

impl Project {
    /// The dependencies are README's.
    fn new(root: &Path, dependencies: &str, programs: &[(&str, String)]) -> Self {
        let program = Path::new(env!("CARGO_BIN_EXE_onecopy"));
        let target = program.ancestors().nth(2).unwrap().to_owned();
        let folder = target.join("readme");
        fs::create_dir_all(folder.join("src/bin")).unwrap();
        let dependencies = dependencies.replace("\"../onecopy/", &format!("\"{}/", root.display()));
        // The workspace's profile, so that what it has compiled is used.
        let workspace = fs::read_to_string(root.join("Cargo.toml")).unwrap();
        let profile = &workspace[workspace.find("[profile.dev]").unwrap()..];
        // Our own crates are compiled with README's features, so nothing of them is shared: unoptimised they take a third of the time.
        let profile = profile.lines().filter(|line| !line.starts_with("onecopy-"));
        let profile = profile.collect::<Vec<_>>().join("\n");
        let others = as_in_workspace(root);
        let manifest = format!(
            "[package]\nname = \"readme\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n{dependencies}\n\n{others}\n{profile}"
        );
        fs::write(folder.join("Cargo.toml"), manifest).unwrap();
        fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
        for (name, text) in programs {
            fs::write(folder.join("src/bin").join(format!("{name}.rs")), text).unwrap();
        }
        Self { folder, target }
    }

    fn run(&self, name: &str) -> String {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["run", "--quiet", "--offline", "--bin", name]);
        let output = cargo
            .current_dir(&self.folder)
            .env("CARGO_TARGET_DIR", &self.target)
            .output()
            .unwrap();
        stdout(&output)
    }
}

/// Packages by name and version, each with its features, that `cargo tree` finds in the workspace. `None` as the features: the project's own.
fn tree(root: &Path, options: &[&str]) -> BTreeMap<String, Option<String>> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["tree", "--offline", "--all-features", "--no-dedupe"]);
    cargo.args(["--prefix", "none", "--format", "{p}|{f}|"]);
    let output = cargo.args(options).current_dir(root).output().unwrap();
    let text = stdout(&output);
    let lines = text.lines().filter(|line| !line.is_empty());
    let parts = lines.map(|line| line.split('|').collect::<Vec<_>>());
    let packages = parts.map(|parts| {
        let mut words = parts[0].split(' ');
        let (name, version) = (words.next().unwrap(), words.next().unwrap());
        let is_own = parts[0].contains("(/");
        (
            format!("{name} {version}"),
            (!is_own).then(|| parts[1].to_owned()),
        )
    });
    packages.collect()
}

/// Lines for a manifest: what both clients depend on, with all features that the tests of the workspace need of it.
fn as_in_workspace(root: &Path) -> String {
    let all = tree(root, &["--workspace", "--edges", "normal,dev"]);
    let clients = ["-p", "onecopy-mysql", "-p", "onecopy-valkey"];
    let edges = ["--edges", "normal,no-proc-macro"];
    let needed = tree(root, &[clients.as_slice(), &edges].concat());
    let mut seen = BTreeSet::new();
    let mut lines = String::new();
    for (at, package) in needed.keys().enumerate() {
        let (name, version) = package.split_once(" v").unwrap();
        let Some(features) = &all[package] else {
            continue;
        };
        let features = features.split(',').filter(|feature| !feature.is_empty());
        let features: Vec<_> = features.collect();
        // Behind a plus there is only the version of what the package wraps.
        let version = version.split('+').next().unwrap();
        // README's own are listed under their names. Of two versions the second needs another name.
        let key = match seen.insert(name) {
            true => name.to_owned(),
            false => format!("{name}-{at}"),
        };
        lines += &format!(
            "[target.'cfg(all())'.dependencies.{key}]\npackage = \"{name}\"\nversion = \"={version}\"\ndefault-features = false\nfeatures = {features:?}\n"
        );
    }
    lines
}

fn stdout(output: &Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn the_programs_of_the_readme_compile_and_run() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap();
    let readme = fs::read_to_string(root.join("README.md")).unwrap();
    let blocks = blocks(&readme);
    let one = |kind: &str, part: &str| {
        let mut found = blocks
            .iter()
            .filter(|(k, text)| *k == kind && text.contains(part));
        found
            .next()
            .unwrap_or_else(|| panic!("README has no block of {kind} with {part}"))
            .1
    };
    let (mysql, valkey) = (Server::start().unwrap(), valkey::Server::start().unwrap());
    let with_servers = |text: &str| {
        let urls = [
            ("mysql://user:password@localhost/shop", mysql.url()),
            ("redis://:password@localhost", valkey.url()),
        ];
        let has_one = urls.iter().any(|(named, _)| text.contains(named));
        assert!(has_one, "README has another URL than this test looks for");
        urls.iter().fold(text.to_owned(), |text, (named, url)| {
            text.replace(named, url)
        })
    };
    let asynchronous = one("rust,ignore", "aio::Pool");
    let asynchronous = format!(
        "#[tokio::main(flavor = \"current_thread\")]\nasync fn main() -> Result<(), onecopy_mysql::Error> {{\n{asynchronous}\nOk(())\n}}\n"
    );
    let project = Project::new(
        root,
        one("toml", "onecopy-mysql"),
        &[
            ("mysql", with_servers(one("rust,no_run", "onecopy_mysql"))),
            ("asynchronous", with_servers(&asynchronous)),
            ("valkey", with_servers(one("rust,no_run", "onecopy_valkey"))),
        ],
    );
    let mut conn = Connection::connect(&mysql.url()).unwrap();
    conn.run("CREATE TABLE product (id INT PRIMARY KEY, name TEXT, price INT)")
        .unwrap();
    conn.run("INSERT INTO product VALUES (1, 'cup', 7), (2, 'table', 700)")
        .unwrap();
    let said = project.run("mysql");
    let mut lines = said.lines();
    assert_eq!(lines.next(), Some("1 cup"));
    assert!(lines.next().unwrap().contains("copied"), "{said}");
    assert_eq!(lines.next(), None);
    assert_eq!(project.run("asynchronous"), "cup\ntable\n");
    let said = project.run("valkey");
    assert!(said.starts_with("Some(\"hello\")\n"), "{said}");
    assert_eq!(said.lines().count(), 2, "{said}");
}
