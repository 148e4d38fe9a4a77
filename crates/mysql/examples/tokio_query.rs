//! The async API: rows borrowed from the read buffer, and a statement that a timeout cancels on the server.
//!
//!     cargo run -p onecopy-mysql --features tokio --example tokio_query -- mysql://user:password@localhost/test

use std::time::Duration;

use onecopy_mysql::Error;
use onecopy_mysql::aio::Connection;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let url = std::env::args().nth(1);
    let url = url.unwrap_or_else(|| "mysql://root@localhost/test".into());
    let mut conn = Connection::connect(&url).await?;
    let mut rows = conn.query("SHOW VARIABLES LIKE 'character_set%'").await?;
    while let Some(row) = rows.next().await? {
        let (name, value): (&str, &str) = (row.get(0)?, row.get(1)?);
        println!("{name} = {value}");
    }

    // The future is dropped after half a second; the connection is ready for the next statement all the same.
    let slow = tokio::time::timeout(Duration::from_millis(500), conn.run("DO SLEEP(60)"));
    println!("gave up: {}", slow.await.is_err());
    let mut rows = conn.query("SELECT 'still here'").await?;
    while let Some(row) = rows.next().await? {
        println!("{}", row.get::<&str>(0)?);
    }
    Ok(())
}
