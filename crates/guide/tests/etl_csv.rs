//! The example `etl_csv` on a private server.
#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use onecopy_mysql::blocking::Connection;
use onecopy_testkit::server::Server;

const ROWS: usize = 23_000;

fn program() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    tests.ancestors().nth(2).unwrap().join("examples/etl_csv")
}

/// Runs the program with a file on its standard input.
fn load(url: &str, text: &str) -> Output {
    let mut child = Command::new(program())
        .args([url, "-"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let text = text.to_owned();
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let output = child.wait_with_output().unwrap();
    // The program may end before it has read everything.
    let _ = writer.join().unwrap();
    output
}

fn messages(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn good_lines_are_stored_and_bad_lines_are_reported() {
    let server = Server::start().unwrap();
    let mut conn = Connection::connect(&server.url()).unwrap();
    let mut text = "name,sku,ignored,stock,price\n".to_owned();
    for i in 0..ROWS {
        let stock = if i % 2 == 0 { "" } else { "7" };
        let (sku, price) = match i {
            100 => ("x100".to_owned(), "cheap"), // found by the program
            12_000 => ("far-too-long-".repeat(3), "1.50"), // found by the server
            _ => (format!("x{i}"), "\"1,50\""),
        };
        writeln!(text, "  product {i} ,{sku},-,{stock},{price}").unwrap();
    }
    text.push_str("too,few,fields\n");
    text.push_str("the last,x9999999,-,,12.00\n");

    let output = load(&server.url(), &text);
    let said = messages(&output);
    assert_eq!(output.status.code(), Some(1), "there are bad lines: {said}");
    assert!(
        said.contains("line 102: the price 'cheap' is not a number\n"),
        "{said}"
    );
    assert!(
        said.contains("line 12002: Data too long for column 'sku'"),
        "{said}"
    );
    assert!(said.contains(&format!("line {}: ", ROWS + 2)), "{said}");
    let summary = format!("{} rows stored, 3 bad lines, ", ROWS - 1);
    assert!(said.lines().last().unwrap().starts_with(&summary), "{said}");

    let mut count = |condition: &str| {
        let sql = format!("SELECT COUNT(*) FROM product_import WHERE {condition}");
        conn.query_scalar::<usize>(sql).unwrap()
    };
    assert_eq!(count("TRUE"), ROWS - 1);
    assert_eq!(
        count("sku = 'X7' AND name = 'product 7' AND price = 1.5 AND stock = 7"),
        1
    );
    assert_eq!(count("stock IS NULL"), ROWS / 2 - 2 + 1);
}

#[test]
fn a_file_may_be_loaded_again() {
    let server = Server::start().unwrap();
    let mut conn = Connection::connect(&server.url()).unwrap();
    for price in ["7.00", "8.00"] {
        let output = load(
            &server.url(),
            &format!("sku,name,price,stock\na,cup,{price},1\n"),
        );
        assert!(output.status.success(), "{}", messages(&output));
        let stored = conn
            .query_one::<(String, String)>("SELECT sku, CAST(price AS CHAR) FROM product_import");
        assert_eq!(stored.unwrap(), ("A".to_owned(), price.to_owned()));
    }
}

#[test]
fn a_file_without_a_column_is_refused_and_a_path_is_read() {
    let server = Server::start().unwrap();
    let output = load(&server.url(), "sku,name,price\na,cup,7\n");
    let said = messages(&output);
    assert!(
        !output.status.success() && said.contains("the first line has no column 'stock'"),
        "{said}"
    );

    let path = std::env::temp_dir().join(format!("onecopy-etl-{}.csv", std::process::id()));
    std::fs::write(&path, "sku,name,price,stock\na,cup,7,\n").unwrap();
    let output = Command::new(program())
        .args([server.url().as_str(), path.to_str().unwrap()])
        .output()
        .unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(output.status.success(), "{}", messages(&output));
}
