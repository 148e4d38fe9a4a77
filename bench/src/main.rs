//! Other clients on onecopy's workloads.
//!
//! `onecopy-peers CLIENT WORKLOAD URL ITERATIONS`, CLIENT one of `mysql`, `mysql-async`, `sqlx`, WORKLOAD as in
//! `onecopy bench client`. Each value is decoded the way the client offers and folded into a sum; the sum is printed.
//!
//! `onecopy-peers parse-redis STREAM TURN TURNS` parses replies in memory by redis-rs, `parse-redis-protocol` by the crate of
//! that name, which fred uses; TURN is a file of `onecopy bench parse STREAM --turn`. MB a second are printed.
#![forbid(unsafe_code)]

mod parse;
mod rust_mysql;
mod rust_mysql_async;
mod rust_sqlx;
mod shape;
mod target;

use shape::Workload;
use target::Target;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [client, workload, url, iterations] = args.as_slice() else {
        eprintln!("usage: onecopy-peers CLIENT WORKLOAD URL ITERATIONS");
        std::process::exit(2);
    };
    if let Some(parser) = client.strip_prefix("parse-") {
        let turn = std::fs::read(url).expect("a file with a turn of the stream");
        let turns = iterations.parse().expect("a number of turns");
        println!("{:.1}", parse::run(parser, workload, &turn, turns));
        return;
    }
    let workload = Workload::from_name(workload).expect("a workload of onecopy bench client");
    let target = Target::from_url(url);
    let iterations: u64 = iterations.parse().expect("a number of iterations");
    let sum = match client.as_str() {
        "mysql" => rust_mysql::run(&target, workload, iterations),
        "mysql-async" => rust_mysql_async::run(&target, workload, iterations),
        "sqlx" => rust_sqlx::run(&target, workload, iterations),
        other => panic!("{other} is none of mysql, mysql-async, sqlx"),
    };
    println!("{sum:016x}");
}
