//! `use onecopy_valkey::*` leaves `tokio` to the crate of that name: `#[tokio::main]` compiles, and runs.

use onecopy_valkey::*;

#[tokio::main]
async fn main_of_a_program() -> Result<bool, Error> {
    tokio::task::yield_now().await;
    let connection: Option<aio::Connection> = None;
    Ok(connection.is_none())
}

#[test]
fn a_glob_import_does_not_hide_tokio() {
    assert!(main_of_a_program().unwrap());
}
