//! The modules of the proxy stand on floors: `src/lib.rs` declares them, the lowest first, with an empty line between floors, and a module
//! uses only those of lower floors.
#![allow(clippy::unwrap_used)] // the helpers are part of the tests

use std::fs;
use std::path::{Path, PathBuf};

/// The modules by floor.
fn floors() -> Vec<Vec<String>> {
    let lib = fs::read_to_string(source().join("lib.rs")).unwrap();
    let mut floors = vec![Vec::new()];
    for line in lib.lines() {
        let module = line.strip_prefix("pub ").unwrap_or(line);
        match module
            .strip_prefix("mod ")
            .and_then(|m| m.strip_suffix(';'))
        {
            Some(module) => floors.last_mut().unwrap().push(module.to_owned()),
            None if line.is_empty() => floors.push(Vec::new()),
            None => {}
        }
    }
    floors.retain(|floor| !floor.is_empty());
    floors
}

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// All files of a module, without its tests.
fn files(module: &str) -> Vec<PathBuf> {
    let mut files = vec![source().join(module).with_extension("rs")];
    let mut folders = vec![source().join(module)];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(folder) else {
            continue;
        };
        for path in entries.map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.file_stem().unwrap() != "tests" {
                files.push(path);
            }
        }
    }
    files
}

/// What a file names behind `crate::`, without its comments and its tests.
fn uses(text: &str) -> Vec<String> {
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
    let lines = code.lines().map(|line| line.split("//").next().unwrap());
    let name = |rest: &str| {
        let end = rest.find(|c: char| !(c.is_ascii_lowercase() || c == '_'));
        rest[..end.unwrap_or(rest.len())].to_owned()
    };
    lines
        .flat_map(|line| line.split("crate::").skip(1))
        .map(name)
        .collect()
}

#[test]
fn a_module_uses_only_modules_of_lower_floors() {
    let floors = floors();
    assert!(floors.len() > 10, "{floors:?}");
    let floor_of = |module: &str| floors.iter().position(|f| f.iter().any(|m| m == module));
    let mut seen = 0;
    for module in floors.iter().flatten() {
        for file in files(module) {
            let text = fs::read_to_string(&file).unwrap();
            for used in uses(&text).iter().filter(|used| *used != module) {
                let Some(floor) = floor_of(used) else {
                    panic!(
                        "{}: crate::{used} is not declared in lib.rs",
                        file.display()
                    );
                };
                assert!(
                    floor < floor_of(module).unwrap(),
                    "{}: {module} uses {used}, which is not on a lower floor",
                    file.display()
                );
                seen += 1;
            }
        }
    }
    assert!(seen > 50, "only {seen} uses were found");
}

#[test]
fn comments_and_tests_are_not_uses() {
    let text = "use crate::log::Log; // crate::proxy\n/// [`crate::control`]\ncrate::key::Key\n#[cfg(test)]\nmod tests { use crate::proxy::X; }";
    assert_eq!(uses(text), ["log", "key"]);
}
