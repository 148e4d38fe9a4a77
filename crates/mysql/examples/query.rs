//! A table, prepared inserts in one transaction, and rows borrowed from the read buffer.
//!
//!     cargo run -p onecopy-mysql --example query -- mysql://user:password@localhost/test

use onecopy_mysql::blocking::Connection;
use onecopy_mysql::{Error, params};

fn main() -> Result<(), Error> {
    let url = std::env::args().nth(1);
    let url = url.unwrap_or_else(|| "mysql://root@localhost/test".into());
    let mut conn = Connection::connect(&url)?;
    conn.run("CREATE TEMPORARY TABLE product (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(40), price INT)")?;

    conn.run("START TRANSACTION")?;
    let insert = conn.prepare("INSERT INTO product (name, price) VALUES (?, ?)")?;
    for (name, price) in [("tea", 4), ("coffee", 6), ("kettle", 45)] {
        let done = conn.execute(&insert, &params![name, price])?.finish()?;
        println!("{name} has id {}", done.last_insert_id);
    }
    conn.run("COMMIT")?;

    let select = conn.prepare("SELECT id, name FROM product WHERE price < ? ORDER BY id")?;
    let mut rows = conn.execute(&select, &params![10])?;
    while let Some(row) = rows.next()? {
        let id: i64 = row.get("id")?;
        let name: &str = row.get("name")?;
        println!("{id} {name}");
    }
    println!("{}", conn.meter());
    Ok(())
}
