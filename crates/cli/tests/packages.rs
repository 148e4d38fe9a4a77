//! What packages install: manual pages, completions, configurations; and what watches a proxy.
#![allow(clippy::unwrap_used)] // helpers of tests

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn onecopy(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_onecopy"));
    command.args(arguments).output().unwrap()
}

fn stdout(output: Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    String::from_utf8(output.stdout).unwrap()
}

/// The commands that `--help` lists.
fn subcommands(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != "Commands:");
    let lines = lines.skip(1).take_while(|line| !line.is_empty());
    // A continued description is indented further.
    let lines = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = lines.filter_map(|line| line.split_whitespace().next());
    names
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

/// The long options that `--help` lists.
fn options(help: &str) -> Vec<String> {
    let lines = help.lines().filter(|line| line.starts_with("  "));
    let words = lines.filter_map(|line| {
        let line = line.trim_start();
        let line = line.split_once(", ").map_or(line, |(_, long)| long);
        line.starts_with("--").then_some(line)
    });
    let name = |word: &str| {
        let end = word.find(|c: char| !c.is_ascii_lowercase() && c != '-');
        word[..end.unwrap_or(word.len())].to_owned()
    };
    words.map(name).collect()
}

/// Every command with those below it, as its words: `["bench", "client"]`.
fn commands(above: &[String]) -> Vec<Vec<String>> {
    let mut arguments: Vec<_> = above.iter().map(String::as_str).collect();
    arguments.push("--help");
    let help = stdout(onecopy(&arguments));
    let mut all = vec![above.to_vec()];
    for name in subcommands(&help) {
        all.extend(commands(&[above, &[name]].concat()));
    }
    all
}

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("onecopy-packages-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn every_command_has_a_manual_page_with_its_name_and_options() {
    let folder = Folder::new("man");
    stdout(onecopy(&["man", "--out", folder.0.to_str().unwrap()]));
    let commands = commands(&[]);
    for expected in ["sql", "proxy", "completions"] {
        assert!(commands.contains(&vec![expected.to_owned()]));
    }
    assert!(commands.contains(&vec!["bench".to_owned(), "client".to_owned()]));
    for words in &commands {
        let name = [&["onecopy".to_owned()], words.as_slice()]
            .concat()
            .join("-");
        let page = std::fs::read_to_string(folder.0.join(format!("{name}.1"))).unwrap();
        let title = format!(".TH \"{name}\" \"1\" \"\" \"onecopy {}\"", version());
        assert!(page.starts_with(&title), "{page}");
        // A hyphen is written `\-`.
        let plain = page.replace("\\-", "-");
        assert!(plain.contains(&format!("\n{name} - ")), "{name}: no NAME");
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        let help = stdout(onecopy(&[words.as_slice(), &["--help"]].concat()));
        let options = options(&help);
        assert!(options.contains(&"--help".to_owned()), "{help}");
        for option in options {
            assert!(plain.contains(&option), "{name}: {option}");
        }
        let printed = stdout(onecopy(&[&["man"], words.as_slice()].concat()));
        assert_eq!(printed, page, "{name}");
    }
    let pages = std::fs::read_dir(&folder.0).unwrap().count();
    assert_eq!(pages, commands.len());
}

fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

#[test]
fn an_unknown_command_has_no_page_and_is_named() {
    let output = onecopy(&["man", "bench", "nix"]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("onecopy bench has no command `nix`"),
        "{said}"
    );
    assert!(output.stdout.is_empty());
    let output = onecopy(&["man", "--out", "/nonexistent"]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("/nonexistent/onecopy.1: "), "{said}");
}

#[test]
fn each_shells_script_has_every_command_and_bash_completes_with_it() {
    for shell in ["bash", "zsh", "fish"] {
        let script = stdout(onecopy(&["completions", shell]));
        for words in commands(&[]) {
            for word in &words {
                assert!(script.contains(word.as_str()), "{shell}: {word}");
            }
        }
        for option in ["print-config", "password-file"] {
            assert!(script.contains(option), "{shell}: {option}");
        }
    }
    for (typed, completed) in [
        ("onecopy pro", &["proxy"][..]),
        ("onecopy bench p", &["parse"]),
        ("onecopy proxy --print", &["--print-config"]),
        ("onecopy completions ", &["bash", "zsh", "fish"]),
    ] {
        let words = bash_completions(typed);
        for word in completed {
            assert!(
                words.iter().any(|found| found == word),
                "{typed}: {words:?}"
            );
        }
    }
    assert_eq!(onecopy(&["completions", "tcsh"]).status.code(), Some(2));
}

/// What bash offers behind `typed`, by the function that the script has registered.
fn bash_completions(typed: &str) -> Vec<String> {
    let program = r#"
        source <("$1" completions bash)
        IFS=' ' read -r -a COMP_WORDS <<<"$2"
        [[ "$2" == *' ' ]] && COMP_WORDS+=('')
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        _onecopy onecopy "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        printf '%s\n' "${COMPREPLY[@]}""#;
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-c", program, "bash"]);
    bash.args([env!("CARGO_BIN_EXE_onecopy"), typed]);
    let lines = stdout(bash.output().unwrap());
    lines.lines().map(str::to_owned).collect()
}

/// The configurations that packages and images install, and what they listen on.
#[test]
fn installed_configurations_are_valid_and_listen_where_they_say() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = Folder::new("configurations");
    for (file, way) in [
        (
            "dist/package/proxy.toml",
            "127.0.0.1:3307 -> 127.0.0.1:3306",
        ),
        ("dist/image/proxy.toml", "0.0.0.0:3307 -> 127.0.0.1:3306"),
        ("deploy/compose/proxy.toml", "0.0.0.0:3307 -> db:3306"),
        (
            "deploy/kubernetes/onecopy.yaml",
            "0.0.0.0:3307 -> mariadb:3306",
        ),
        (
            "deploy/helm/onecopy/values.yaml",
            "0.0.0.0:3307 -> mariadb:3306",
        ),
    ] {
        let path = match inside(&std::fs::read_to_string(root.join(file)).unwrap()) {
            Some(text) => {
                let path = folder.0.join("proxy.toml");
                std::fs::write(&path, text).unwrap();
                path
            }
            None => root.join(file),
        };
        let output = onecopy(&["proxy", "--check", "--config", path.to_str().unwrap()]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{file}: {said}");
        assert!(said.contains(way), "{file}: {said}");
    }
    // Only images, which nobody reaches unless its ports are published, may listen on all addresses.
    let package = std::fs::read_to_string(root.join("dist/package/proxy.toml")).unwrap();
    let listens = package.lines().filter(|line| line.starts_with("listen"));
    assert!(listens.clone().count() == 2);
    assert!(listens.clone().all(|line| line.contains("\"127.0.0.1:")));
}

/// The configuration that a YAML file has as a block of text.
fn inside(yaml: &str) -> Option<String> {
    let (_, text) = ["\nconfig: |\n", "\n  proxy.toml: |\n"]
        .iter()
        .find_map(|key| yaml.split_once(key))?;
    let indent = text.len() - text.trim_start().len();
    let is_inside = |line: &&str| line.is_empty() || line.starts_with(&" ".repeat(indent));
    let lines = text.lines().take_while(is_inside);
    let lines = lines.map(|line| line.get(indent..).unwrap_or_default());
    Some(lines.collect::<Vec<_>>().join("\n"))
}

/// The metrics in the manual's table, which a test of the proxy compares with what it serves: names, and what they mean.
fn metrics_and_meanings() -> BTreeMap<&'static str, String> {
    let manual = include_str!("../../../docs/proxy-operations.md");
    let rows = manual.lines().filter_map(|line| line.strip_prefix("| `"));
    let rows = rows.filter_map(|row| {
        let (name, rest) = row.split_once("` | ")?;
        let (_labels, meaning) = rest.strip_suffix(" |")?.split_once("| ")?;
        Some((name, meaning.replace('`', "")))
    });
    let is_metric = |name: &str| name.starts_with("onecopy_") || name.starts_with("process_");
    rows.filter(|(name, _)| is_metric(name)).collect()
}

fn metrics() -> BTreeSet<String> {
    metrics_and_meanings()
        .into_keys()
        .map(str::to_owned)
        .collect()
}

/// The names of metrics in an expression of Prometheus; those of a histogram's parts without the part.
fn named(expression: &str) -> Vec<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = expression.split(|c: char| !is_part(c));
    let names = words.filter(|word| word.starts_with("onecopy_") || word.starts_with("process_"));
    let whole = |name: &str| name.strip_suffix("_bucket").unwrap_or(name).to_owned();
    names.map(whole).collect()
}

#[test]
fn the_dashboard_shows_every_metric_and_no_other() {
    let text = include_str!("../../../deploy/grafana/onecopy.json");
    let dashboard: serde_json::Value = serde_json::from_str(text).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels
        .iter()
        .filter_map(|panel| panel["targets"].as_array());
    let expressions = targets
        .flatten()
        .map(|target| target["expr"].as_str().unwrap());
    let shown: BTreeSet<_> = expressions.flat_map(named).collect();
    // If they differ: deploy/panels.py, then `make deploy`.
    assert_eq!(shown, metrics());
    let meanings = metrics_and_meanings();
    let mut described = BTreeSet::new();
    for panel in panels {
        let description = panel["description"].as_str().unwrap_or_default();
        for line in description.lines().filter(|line| line.starts_with('`')) {
            let (name, meaning) = line[1..].split_once("`: ").unwrap();
            assert_eq!(meaning, meanings[name], "{name}: `make deploy`");
            described.insert(name.to_owned());
        }
    }
    assert_eq!(described, metrics());
}

#[test]
fn alerts_name_only_metrics_that_exist() {
    let rules = include_str!("../../../deploy/prometheus/alerts.yaml");
    let lines = rules.lines().map(str::trim_start);
    let expressions: Vec<_> = lines.filter(|line| line.starts_with("expr: ")).collect();
    let named: BTreeSet<_> = expressions.iter().flat_map(|line| named(line)).collect();
    assert!(expressions.len() > 10 && named.len() > 10);
    let unknown: Vec<_> = named.difference(&metrics()).cloned().collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    assert_eq!(expressions.len(), rules.matches("- alert: ").count());
}
