//! What compiles: without it an error of the others could be that of a missing library, or of one that another program has compiled
//! with fewer features, whose errors list fewer types.

use onecopy_mysql::FromRow;
use onecopy_mysql::JsonText;
use onecopy_mysql::aio::Pool;
use onecopy_mysql::blocking::Connection;

#[derive(FromRow)]
struct Field<'a> {
    name: &'a str,
    price: Option<u32>,
}

fn with_all_features(_: Pool, _: JsonText) {}

fn main() {
    let _ = with_all_features;
    let mut conn = Connection::connect("mysql://localhost/").unwrap();
    let mut rows = conn.query("SELECT 1").unwrap();
    while let Some(row) = rows.next_as::<Field<'_>>().unwrap() {
        println!("{} {:?}", row.name, row.price);
    }
}
