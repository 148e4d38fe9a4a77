//! Types that can't be read.

use onecopy_mysql::FromRow;
use onecopy_mysql::blocking::Connection;

struct NoValue;

#[derive(FromRow)]
struct Field {
    name: NoValue,
}

struct NoRow;

fn main() {
    let mut conn = Connection::connect("mysql://localhost/").unwrap();
    let _ = conn.query_as::<NoRow>("SELECT 1");
}
