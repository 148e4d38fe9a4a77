//! One's own writes, read from a replica.

use std::time::Duration;

use onecopy_testkit::server::{Server, ServerKind};

use super::Connection;

const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(50);

fn start(number: u32) -> Server {
    let server = Server::builder()
        .argument("--log-bin=binlog")
        .argument(format!("--server-id={number}"));
    // MySQL's options: MariaDB ignores those that begin so and that it does not know.
    server
        .argument("--loose-gtid-mode=ON")
        .argument("--loose-enforce-gtid-consistency=ON")
        .start()
        .unwrap()
}

/// Makes the one follow the other, from now on.
async fn replicate(primary: &Server, replica: &Server, from: &mut Connection, to: &mut Connection) {
    let (port, password) = (primary.port(), primary.root_password());
    let is_mariadb = replica.kind() == ServerKind::MariaDb;
    let sql = if is_mariadb {
        let position = wait!(from.query_scalar::<String>("SELECT @@gtid_binlog_pos")).unwrap();
        [
            "RESET MASTER".to_owned(),
            format!("SET GLOBAL gtid_slave_pos = '{position}'"),
            format!(
                "CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = {port}, MASTER_USER = 'root', \
                 MASTER_PASSWORD = '{password}', MASTER_USE_GTID = slave_pos"
            ),
            "START SLAVE".to_owned(),
        ]
    } else {
        let executed = wait!(from.query_scalar::<String>("SELECT @@gtid_executed")).unwrap();
        [
            "RESET BINARY LOGS AND GTIDS".to_owned(),
            format!("SET GLOBAL gtid_purged = '{executed}'"),
            format!(
                "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = {port}, SOURCE_USER = 'root', \
                 SOURCE_PASSWORD = '{password}', SOURCE_AUTO_POSITION = 1, GET_SOURCE_PUBLIC_KEY = 1"
            ),
            "START REPLICA".to_owned(),
        ]
    };
    for statement in sql {
        wait!(to.run(&statement)).unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
}

#[tokio::test]
async fn a_replica_is_waited_for_until_it_has_what_was_written() {
    let (primary, replica) = (start(1), start(2));
    let mut writer = wait!(Connection::connect(&primary.socket_url())).unwrap();
    let mut reader = wait!(Connection::connect(&replica.socket_url())).unwrap();
    wait!(writer.run("SELECT 1")).unwrap();
    assert_eq!(writer.last_gtids(), None);
    replicate(&primary, &replica, &mut writer, &mut reader).await;

    wait!(writer.track_gtids()).unwrap();
    wait!(writer.track_gtids()).unwrap();
    wait!(writer.run("CREATE TABLE own (id INT PRIMARY KEY) ENGINE = InnoDB")).unwrap();
    let created = writer.last_gtids().unwrap().to_owned();
    let waited = wait!(reader.wait_for_gtids(&created, LONG));
    assert!(waited.unwrap(), "{created}");

    let (stop, go) = match replica.kind() {
        ServerKind::MariaDb => ("STOP SLAVE SQL_THREAD", "START SLAVE SQL_THREAD"),
        _ => ("STOP REPLICA SQL_THREAD", "START REPLICA SQL_THREAD"),
    };
    wait!(reader.run(stop)).unwrap();
    let mut tx = wait!(writer.transaction()).unwrap();
    wait!(tx.run("INSERT INTO own VALUES (7)")).unwrap();
    assert_eq!(tx.last_gtids(), Some(&*created), "nothing is committed");
    wait!(tx.commit()).unwrap();
    let written = writer.last_gtids().unwrap().to_owned();
    assert_ne!(written, created);
    // What follows, with a result or without, keeps it.
    wait!(writer.run("SELECT 1")).unwrap();
    wait!(writer.run("DO 1")).unwrap();
    assert_eq!(writer.last_gtids(), Some(&*written));

    assert!(!wait!(reader.wait_for_gtids(&written, SHORT)).unwrap());
    let count = "SELECT COUNT(*) FROM own";
    assert_eq!(wait!(reader.query_scalar::<i64>(count)).unwrap(), 0);
    wait!(reader.run(go)).unwrap();
    assert!(wait!(reader.wait_for_gtids(&written, LONG)).unwrap());
    assert_eq!(wait!(reader.query_scalar::<i64>(count)).unwrap(), 1);

    let error = wait!(reader.wait_for_gtids("SELECT 1", SHORT)).unwrap_err();
    assert!(error.server().is_some(), "{error}");
    let error = wait!(reader.wait_for_gtids("'; DROP TABLE own", SHORT)).unwrap_err();
    assert!(error.to_string().contains("no GTIDs"), "{error}");
    wait!(reader.ping()).unwrap();
    // The next user of the session sees nothing of it.
    wait!(writer.reset()).unwrap();
    assert_eq!(writer.last_gtids(), None);
}
