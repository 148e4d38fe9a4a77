//! Results and statements with more columns than a table can have, and with as many parameters as servers take. The limit of
//! 4,096 columns is one of tables: a result of MariaDB or MySQL has as many columns as its SELECT names.

use onecopy_mysql::blocking::Connection;
use onecopy_mysql_proto::Capabilities;
use onecopy_mysql_proto::compression::{Algorithm, Method};
use onecopy_proxy::config::BackendConfig;

use crate::features::{both, in_both_styles, known};
use crate::raw::USUAL;
use crate::sides::{Way, account, sides};

/// One more than a table's limit, the most that 16 bits count, and more than that.
const COLUMNS: [usize; 3] = [4097, 65_535, 70_000];

fn select(columns: usize) -> String {
    format!("SELECT {}", vec!["1"; columns].join(","))
}

/// COM_STMT_EXECUTE without parameters.
fn execute(statement: &[u8; 4]) -> Vec<u8> {
    [b"\x17", &statement[..], b"\0\x01\0\0\0"].concat()
}

#[test]
fn a_query_may_have_any_number_of_columns() {
    let expected = known(2 * COLUMNS.len() as u64, 0, true);
    in_both_styles("wide_a", Capabilities::default(), &expected, &|client| {
        for columns in COLUMNS {
            client.query("START TRANSACTION");
            let before = client.heard.len();
            client.query(&select(columns));
            assert!(client.heard.len() - before > columns);
        }
    });
}

#[test]
fn any_number_of_columns_passes_over_tls_and_compressed() {
    let backend = BackendConfig {
        compression: Some(Method::new(Algorithm::Zlib, 2)),
        ..sides().backend(Way::Tls)
    };
    let front = sides().proxy(backend, |_| {});
    let mut conn = Connection::connect_with(&front.config(Way::Tls)).unwrap();
    for columns in COLUMNS {
        let mut rows = conn.query(select(columns)).unwrap();
        let row = rows.next().unwrap().unwrap();
        assert_eq!(row.len(), columns);
        assert_eq!(row.get::<u8>(columns - 1).unwrap(), 1);
        rows.finish().unwrap();
    }
    let client = front.proxy.snapshot(true).clients.remove(0);
    assert_eq!(client.backend_compression, Some("zlib"));
}

#[test]
fn a_prepared_statement_may_have_as_many_columns_as_its_reply_can_tell() {
    let expected = known(4, 2, false);
    in_both_styles("wide_b", Capabilities::default(), &expected, &|client| {
        for columns in [4097, 65_535] {
            let statement = client.prepare(&select(columns));
            client.ask(&execute(&statement));
        }
    });
}

#[test]
fn a_prepared_statement_of_more_columns_goes_on_to_its_eof_packet() {
    account("wide_c", "");
    let expected = known(3, 1, true);
    both(&sides().server, "wide_c", USUAL, &expected, &|client| {
        client.query("START TRANSACTION");
        // MariaDB's and MySQL's reply says 4,464, which is 70,000 without what 16 bits can't hold.
        let statement = client.prepare(&select(70_000));
        assert!(client.heard.len() > 70_000);
        client.ask(&execute(&statement));
    });
}

#[test]
fn a_statement_may_have_65535_parameters() {
    let expected = known(2, 1, false);
    in_both_styles("wide_d", Capabilities::default(), &expected, &|client| {
        let marks = vec!["?"; 65_535].join(",");
        let statement = client.prepare(&format!("SELECT 'x' IN ({marks})"));
        let mut command = execute(&statement);
        // No NULL, types, then one text each.
        command.extend(vec![0; 65_535_usize.div_ceil(8)]);
        command.push(1);
        command.extend(b"\xFE\0".repeat(65_535));
        command.extend(b"\x01x".repeat(65_535));
        client.ask(&command);
        let row = client.heard.iter().rev().nth(1).unwrap();
        assert_eq!(row[..2], [0, 0]);
        assert_eq!(row[2], 1);
    });
}
