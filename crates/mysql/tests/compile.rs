//! What the derives say at compile time where they are used wrongly. `ONECOPY_UPDATE=1` writes the expected texts again.
//!
//! The compiler runs alone, on the library that this test is linked with. A package of its own, as `trybuild` makes, would
//! compile all dependencies again: 167 s of processor time for three files.
#![allow(clippy::unwrap_used)] // the functions below are part of the tests

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const CASES: &str = "tests/compile";
/// Uses the derives rightly, and what needs the other features.
const CONTROL: &str = "control.rs";

/// Compiles a file of `CASES` as a program, without linking it.
fn compile(file: &str, library: &Path) -> Output {
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| OsString::from("rustc"));
    let mut rustc = Command::new(compiler);
    rustc.current_dir(env!("CARGO_MANIFEST_DIR"));
    rustc.args(["--edition=2024", "--crate-type=bin", "--emit=metadata"]);
    rustc.args(["--crate-name=case", "--color=never"]);
    rustc.arg("--out-dir").arg(env!("CARGO_TARGET_TMPDIR"));
    let mut dependencies = OsString::from("dependency=");
    dependencies.push(library.parent().unwrap());
    rustc.arg("-L").arg(dependencies);
    let mut extern_crate = OsString::from("onecopy_mysql=");
    extern_crate.push(library);
    rustc.arg("--extern").arg(extern_crate);
    rustc.arg(format!("{CASES}/{file}")).output().unwrap()
}

/// The newest library beside this test that has the features of the tests.
fn library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let beside = fs::read_dir(test.parent().unwrap()).unwrap();
    let mut found: Vec<_> = beside
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            let name = path.file_name().unwrap().to_str();
            name.is_some_and(|name| {
                name.starts_with("libonecopy_mysql-") && name.ends_with(".rlib")
            })
        })
        .collect();
    found.sort_by_key(|path| fs::metadata(path).unwrap().modified().unwrap());
    let mut errors = String::from("there is no library");
    for path in found.into_iter().rev() {
        let output = compile(CONTROL, &path);
        if output.status.success() {
            return path;
        }
        errors = String::from_utf8_lossy(&output.stderr).into_owned();
    }
    panic!("{CASES}/{CONTROL} does not compile with any library:\n{errors}");
}

/// The text without what changes with the library: the lines of its sources, and how many types have a trait.
fn normalised(errors: &str) -> String {
    let line = |line: &str| {
        if let Some((path, _)) = line.split_once(".rs:")
            && path.contains("--> crates/")
        {
            format!("{path}.rs\n")
        } else if line.trim_start().starts_with("and ") && line.ends_with(" others") {
            String::from("           and others\n")
        } else {
            format!("{line}\n")
        }
    };
    errors.lines().map(line).collect()
}

#[test]
fn wrong_uses_of_the_derives_are_errors_that_say_what_to_write() {
    let library = library();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(CASES);
    for case in ["attributes", "borrowed", "types"] {
        let output = compile(&format!("{case}.rs"), &library);
        assert!(!output.status.success(), "{case}.rs compiles");
        let said = normalised(&String::from_utf8(output.stderr).unwrap());
        let expected = folder.join(format!("{case}.stderr"));
        if std::env::var_os("ONECOPY_UPDATE").is_some() {
            fs::write(&expected, &said).unwrap();
        }
        let expected = fs::read_to_string(&expected).unwrap();
        assert!(
            said == expected,
            "{case}.rs: the compiler said:\n{said}\nand not:\n{expected}"
        );
    }
}
