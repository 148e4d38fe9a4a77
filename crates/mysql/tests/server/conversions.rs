//! Values as Rust types that are not their own: without loss, by an explicit choice, or not at all.

use std::time::Duration;

use onecopy_mysql::{FromValueError, Lossy, ValueKind};

use super::Connection;
use crate::common::urls;

const SQL: &str = "SELECT AVG(n), AVG(n) / 3000000000000, TIMESTAMP('2024-02-29 01:02:03.5'), TIME('01:00:00'), 3e0, SUM(n) \
                   FROM (SELECT 2 AS n UNION ALL SELECT 3) AS t";

#[tokio::test]
async fn an_average_is_a_float_and_a_moment_is_a_string_in_both_protocols() {
    for url in urls() {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        let statement = wait!(conn.prepare(SQL)).unwrap();
        for is_binary in [false, true] {
            let mut rows = match is_binary {
                true => wait!(conn.execute(&statement, &[])).unwrap(),
                false => wait!(conn.query(SQL)).unwrap(),
            };
            let row = wait!(rows.next()).unwrap().unwrap();
            assert_eq!(row.get::<f64>(0).unwrap(), 2.5);
            let small: Lossy<f64> = row.get(1).unwrap();
            assert!((small.0 - 2.5 / 3e12).abs() < 1e-12);
            assert_eq!(row.get::<String>(2).unwrap(), "2024-02-29 01:02:03.500000");
            assert_eq!(row.get::<Duration>(3).unwrap(), Duration::from_secs(3600));
            assert!(
                row.get::<u8>(4)
                    .unwrap_err()
                    .to_string()
                    .ends_with("ask for f64")
            );
            assert_eq!(row.get::<i64>(5).unwrap(), 5);
            let error = row.get::<u8>(0).unwrap_err();
            assert_eq!(
                error.conversion(),
                Some(&FromValueError::DoesNotFit {
                    wanted: "u8",
                    found: ValueKind::Decimal
                })
            );
            wait!(rows.finish()).unwrap();
        }
        let now = "SELECT 1.2345678901234567, NOW()";
        let mut rows = wait!(conn.query(now)).unwrap();
        let row = wait!(rows.next_owned()).unwrap().unwrap();
        let error = row.get::<f64>(0).unwrap_err();
        assert!(error.to_string().contains("Lossy<f64>"), "{error}");
        let text: String = row.get(1).unwrap();
        assert_eq!(text.len(), "2024-02-29 01:02:03".len(), "{text}");
        wait!(rows.finish()).unwrap();
    }
}
