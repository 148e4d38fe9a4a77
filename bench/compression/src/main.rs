//! Compressed connections: `onecopy-compression-peers CLIENT URL WORKLOAD COUNT`.
//!
//! A CLIENT is `onecopy-ALGORITHM`, `onecopy-tokio-ALGORITHM` or `mysql-async-ALGORITHM`. The WORKLOADs are `prepare`, which makes the
//! table, `read`, which reads its rows, and `write`, a statement of 1 MiB. Prints the bytes that the server has received and sent.
#![forbid(unsafe_code)]

mod peer;
mod text;

use onecopy_mysql::{Compression, Config, Row, aio, blocking};

/// What the server counts for a connection: on the network, so after compression.
const BYTES: &str = "SHOW SESSION STATUS WHERE Variable_name IN ('Bytes_received', 'Bytes_sent')";

const READ: &str = "SELECT * FROM compressed_rows";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Workload {
    Prepare,
    Read,
    Write,
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [client, url, workload, count] = args.as_slice() else {
        eprintln!("usage: onecopy-compression-peers CLIENT URL WORKLOAD COUNT");
        std::process::exit(2);
    };
    let count: u64 = count.parse().expect("a number");
    let workload = match workload.as_str() {
        "prepare" => Workload::Prepare,
        "read" => Workload::Read,
        "write" => Workload::Write,
        other => panic!("there is no workload {other}"),
    };
    let (client, algorithm) = client.rsplit_once('-').expect("a client and an algorithm");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    match client {
        "onecopy" => onecopy(&config(url, algorithm), workload, count),
        "onecopy-tokio" => runtime.block_on(onecopy_tokio(&config(url, algorithm), workload, count)),
        "mysql-async" => runtime.block_on(peer::run(&config(url, algorithm), password(url), workload, count)),
        other => panic!("there is no client {other}"),
    }
}

fn config(url: &str, algorithm: &str) -> Config {
    let mut config = Config::from_url(url).expect("a url");
    config.compression = match algorithm {
        "zlib" => vec![Compression::Zlib],
        "zstd" => vec![Compression::Zstd],
        "plain" => Vec::new(),
        other => panic!("there is no algorithm {other}"),
    };
    config
}

fn onecopy(config: &Config, workload: Workload, count: u64) {
    let mut conn = blocking::Connection::connect_with(config).expect("a connection");
    if workload == Workload::Prepare {
        for sql in text::table() {
            conn.run(sql).expect("the table");
        }
        return;
    }
    let statement = text::statement();
    let mut length = 0;
    for _ in 0..count {
        let sql = if workload == Workload::Read { READ } else { &statement };
        let mut rows = conn.query(sql).expect("a result");
        while let Some(row) = rows.next().expect("a row") {
            length += length_of(&row);
        }
    }
    report(&bytes(&mut conn), length);
}

fn bytes(conn: &mut blocking::Connection) -> Vec<(String, String)> {
    conn.query_as(BYTES).expect("the status")
}

async fn onecopy_tokio(config: &Config, workload: Workload, count: u64) {
    let mut conn = aio::Connection::connect_with(config).await.expect("a connection");
    let statement = text::statement();
    let mut length = 0;
    for _ in 0..count {
        let sql = if workload == Workload::Read { READ } else { &statement };
        let mut rows = conn.query(sql).await.expect("a result");
        while let Some(row) = rows.next().await.expect("a row") {
            length += length_of(&row);
        }
    }
    let bytes: Vec<(String, String)> = conn.query_as(BYTES).await.expect("the status");
    report(&bytes, length);
}

fn length_of(row: &Row<'_>) -> usize {
    (0..row.len()).map(|index| row.bytes(index).expect("a value").map_or(0, <[u8]>::len)).sum()
}

fn report(bytes: &[(String, String)], length: usize) {
    for (name, number) in bytes {
        println!("{name} {number}");
    }
    println!("values {length}");
}

/// Of a test server's URL, where it needs no decoding.
fn password(url: &str) -> &str {
    let login = url.split("//").nth(1).and_then(|rest| rest.split('@').next());
    login.and_then(|login| login.split(':').nth(1)).unwrap_or_default()
}
