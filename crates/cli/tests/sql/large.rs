//! Values of any size in constant memory. Resident memory is the kernel's high-water mark of the child (`VmHWM`), read
//! while it waits for its next statement; the allocator is the C library's.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Stdio};

use onecopy_testkit::server::lacks;
use sha2::{Digest, Sha256};

use crate::{is_soak, onecopy, sql, stderr, stdout, url};

/// What the process may take beside its program while a large value passes through: 4 MiB. It takes less than 2.
const MAX_RESIDENT: u64 = 4 << 20;

/// Bytes of the value: 64 MiB, or 256 MiB.
fn value_bytes() -> u64 {
    if is_soak() { 256 << 20 } else { 64 << 20 }
}

/// A table with one value of bytes that repeat nowhere, and its SHA-256 as the server has it. MySQL has lost MD5.
fn create_value() -> &'static str {
    static SUM: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    SUM.get_or_init(|| {
        // Each of the 64 Ki pieces of 1 KiB (256 Ki of them, where it is soak) is its own.
        let pieces = value_bytes() >> 10;
        let fill = format!(
            "INSERT INTO large SELECT 1, GROUP_CONCAT(REPEAT(UNHEX(SHA2(seq, 256)), 32) SEPARATOR '') FROM seq_1_to_{pieces}"
        );
        let set = format!("SET group_concat_max_len = {}", value_bytes());
        let sum = sql(&["CREATE TABLE large (id INT, value LONGBLOB)", &set, &fill, "SELECT SHA2(value, 256), LENGTH(value) FROM large", "-N"]);
        let text = String::from_utf8(sum.stdout.clone()).unwrap();
        let (sum_text, len) = text.trim_end().split_once('\t').unwrap_or_else(|| panic!("{}", stderr(&sum)));
        assert_eq!(len, value_bytes().to_string());
        sum_text.to_owned()
    })
}

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("onecopy-{name}-{}", std::process::id())))
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn sha256(mut reader: impl Read) -> String {
    let mut hash = Sha256::new();
    let mut piece = vec![0; 1 << 20];
    loop {
        match reader.read(&mut piece).unwrap() {
            0 => break,
            n => hash.update(&piece[..n]),
        }
    }
    hash.finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// The most that was resident beside the program's own file, in bytes: of that, a build with debug information has 14 MB.
fn resident(child: &Child) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let bytes = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let kib = line.unwrap().trim().trim_end_matches(" kB");
        kib.parse::<u64>().unwrap() << 10
    };
    let (peak, program) = (bytes("VmHWM:"), bytes("RssFile:"));
    println!("{peak} bytes were resident, {program} of them pages of the program's file");
    peak.saturating_sub(program)
}

/// Whether the server takes the value, in a statement and a row; where it does not, that is said.
fn takes_value() -> bool {
    let most: u64 = stdout(&["SELECT @@max_allowed_packet", "-N"])
        .trim_end()
        .parse()
        .unwrap();
    let needed = value_bytes() + (4 << 10);
    if most < needed {
        lacks(
            &format!("values of {needed} bytes"),
            &format!("max_allowed_packet is {most}"),
        );
    }
    most >= needed
}

#[test]
fn a_large_value_is_written_to_its_file_as_it_is_in_constant_memory() {
    if !takes_value() {
        return;
    }
    let expected = create_value();
    let file = Scratch::new("out");
    let mut command = onecopy();
    command
        .args([url(), "--out", file.path(), "--column", "VALUE"])
        .stdin(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut statements = child.stdin.take().unwrap();
    statements
        .write_all(b"SELECT id, value, 'behind it' FROM large;\n")
        .unwrap();
    let mut said = String::new();
    BufReader::new(child.stderr.take().unwrap())
        .read_line(&mut said)
        .unwrap();
    assert!(
        said.starts_with(&format!("{} bytes (", value_bytes())),
        "{said}"
    );
    let resident = resident(&child);
    assert!(resident <= MAX_RESIDENT, "{resident} bytes were resident");
    drop(statements);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(sha256(File::open(&file.0).unwrap()), expected);
}

#[test]
fn a_large_value_passes_through_each_format_in_constant_memory() {
    if !takes_value() {
        return;
    }
    create_value();
    for format in ["tsv", "csv", "json", "vertical", "table"] {
        let mut command = onecopy();
        let mut child = command
            .args([url(), "--format", format])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let mut statements = child.stdin.take().unwrap();
        statements
            .write_all(b"SELECT value FROM large; SELECT 'the end' AS e;\n")
            .unwrap();
        let mut rows = BufReader::new(child.stdout.take().unwrap());
        let (mut bytes, mut line) = (0, Vec::new());
        while !String::from_utf8_lossy(&line).contains("the end") {
            line.clear();
            bytes += rows.read_until(b'\n', &mut line).unwrap() as u64;
        }
        assert!(
            format == "table" || bytes > value_bytes(),
            "{format}: {bytes} bytes came"
        );
        let resident = resident(&child);
        assert!(
            resident <= MAX_RESIDENT,
            "{format}: {resident} bytes were resident"
        );
        drop(statements);
        std::io::copy(&mut rows, &mut std::io::sink()).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
}

#[test]
fn large_values_are_the_same_in_json_and_csv() {
    let text = "REPEAT('é\"日\\\\,\\n', 100000)";
    let expected = "é\"日\\,\n".repeat(100_000);
    let json = stdout(&[&format!("SELECT {text} AS t"), "-f", "json"]);
    let rows: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(rows[0]["t"], *expected);
    let csv = stdout(&[&format!("SELECT {text} AS t"), "-f", "csv", "-N"]);
    assert_eq!(csv, format!("\"{}\"\r\n", expected.replace('"', "\"\"")));
    let tsv = stdout(&[&format!("SELECT {text} AS t"), "-N"]);
    assert_eq!(
        tsv,
        format!("{}\n", expected.replace('\\', "\\\\").replace('\n', "\\n"))
    );
}

#[test]
fn what_out_can_not_write_leaves_the_file_alone() {
    let file = Scratch::new("left-alone");
    fs::write(&file.0, "before").unwrap();
    for (statement, column, told) in [
        ("SELECT 1 AS a LIMIT 0", "a", "no row"),
        ("SELECT NULL AS a", "a", "column a is NULL"),
        ("SELECT 1 AS a", "b", "no column b; it has a"),
        ("SELECT nope", "a", "error 1054"),
        ("DO 1", "a", "no statement gave rows"),
    ] {
        let output = sql(&[statement, "-q", "--out", file.path(), "--column", column]);
        assert_eq!(output.status.code(), Some(1), "{statement}");
        assert!(
            stderr(&output).contains(told),
            "{statement}: {}",
            stderr(&output)
        );
    }
    let output = sql(&["SELECT 1 AS a, 2 AS b", "--out", file.path()]);
    assert!(
        stderr(&output).contains("--column says which of a, b"),
        "{}",
        stderr(&output)
    );
    assert_eq!(fs::read_to_string(&file.0).unwrap(), "before");
}

#[test]
fn a_second_row_is_an_error_for_out() {
    let file = Scratch::new("two-rows");
    let output = sql(&["SELECT seq FROM seq_1_to_2", "--out", file.path()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("more than one row"),
        "{}",
        stderr(&output)
    );
    assert_eq!(fs::read_to_string(&file.0).unwrap(), "1");
    let output = sql(&["SELECT 7", "SELECT 8", "--out", file.path()]);
    assert!(
        stderr(&output).contains("a second result has rows"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn an_empty_value_makes_an_empty_file() {
    let file = Scratch::new("empty");
    let output = sql(&["SELECT ''", "--out", file.path(), "-q"]);
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
    assert_eq!(fs::read(&file.0).unwrap(), b"");
}
