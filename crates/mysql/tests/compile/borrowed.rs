//! Borrowed fields end with the next call, and can't be collected.

use onecopy_mysql::FromRow;
use onecopy_mysql::blocking::{Connection, Rows};

#[derive(FromRow)]
struct Borrowing<'r> {
    name: &'r str,
}

fn collected(conn: &mut Connection) {
    let _ = conn.query_as::<Borrowing<'_>>("SELECT 1");
}

fn two_at_once(rows: &mut Rows<'_>) {
    let first = rows.next_as::<Borrowing<'_>>().unwrap();
    let second = rows.next_as::<Borrowing<'_>>().unwrap();
    println!("{}", first.unwrap().name);
    drop(second);
}

fn main() {}
