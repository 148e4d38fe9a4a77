//! The same with mysql_async. It has zlib only.

use futures_util::TryStreamExt;
use mysql_async::prelude::Queryable;
use mysql_async::{Compression, Conn, OptsBuilder, Row, Value};
use onecopy_mysql::{Config, Endpoint};

use crate::{BYTES, READ, Workload, report, text};

pub(crate) async fn run(config: &Config, password: &str, workload: Workload, count: u64) {
    let Endpoint::Unix(socket) = &config.endpoint else {
        panic!("a server with a socket");
    };
    let options = OptsBuilder::default()
        .ip_or_hostname("localhost")
        .socket(socket.to_str())
        .user(Some(&config.user))
        .pass(Some(password))
        .db_name(config.database.as_deref())
        // Level 6, as ours.
        .compression((!config.compression.is_empty()).then(Compression::default));
    let mut conn = Conn::new(options).await.expect("a connection");
    let statement = text::statement();
    let mut length = 0;
    for _ in 0..count {
        let sql = if workload == Workload::Read { READ } else { &statement };
        let mut rows = conn.query_stream::<Row, _>(sql).await.expect("a result");
        while let Some(row) = rows.try_next().await.expect("a row") {
            for index in 0..row.len() {
                if let Some(Value::Bytes(bytes)) = row.as_ref(index) {
                    length += bytes.len();
                }
            }
        }
    }
    let bytes: Vec<(String, String)> = conn.query(BYTES).await.expect("the status");
    report(&bytes, length);
}
