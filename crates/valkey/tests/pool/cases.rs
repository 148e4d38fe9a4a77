//! The cases of both APIs, one concern a file.

mod lending;
mod state;
mod waiting;

use onecopy_valkey::command::connection;

use crate::common::with_option;

/// The types of this API.
type Connection = face!(Connection);
type Pool = face!(Pool);

/// A pool of one connection, so that the next borrower has the one that was returned.
fn one(url: &str) -> Pool {
    Pool::from_url(&with_option(url, "pool-max=1")).unwrap()
}

/// The number that the server knows the connection by.
async fn id(conn: &mut Connection) -> i64 {
    wait!(conn.run(&connection::client_id())).unwrap()
}

/// What the server says of the connection.
async fn info(conn: &mut Connection) -> String {
    let info = wait!(conn.run(&connection::client_info())).unwrap();
    String::from_utf8(info.to_vec()).unwrap()
}
