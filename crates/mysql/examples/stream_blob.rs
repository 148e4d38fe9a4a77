//! Copies one large value to a file in constant memory, whatever its size.
//!
//!     cargo run -p onecopy-mysql --example stream_blob -- mysql://user:password@localhost/test > document

use std::io;

use onecopy_mysql::blocking::Connection;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1);
    let url = url.unwrap_or_else(|| "mysql://root@localhost/test".into());
    let mut conn = Connection::connect(&url)?;
    let mut rows = conn.query("SELECT REPEAT('0123456789abcdef', 500000) AS document")?;
    while let Some(mut row) = rows.next_streaming()? {
        while let Some(mut column) = row.next_column()? {
            let bytes = io::copy(&mut column, &mut io::stdout())?;
            eprintln!("{}: {bytes} bytes", column.name());
        }
    }
    drop(rows);
    eprintln!("{}", conn.meter());
    Ok(())
}
