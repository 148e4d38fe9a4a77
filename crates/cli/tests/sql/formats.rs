//! Each format, byte for byte.

use onecopy_testkit::server::{TestServer, lacks, test_server};
use serde_json::{Value, json};

use crate::terminal::Terminal;
use crate::{onecopy, sql, stderr, stdout, url};

/// A number, a text with everything that is special somewhere, NULL beside an empty text, bytes, a BIT, a date.
const ROWS: &str = "SELECT * FROM formats ORDER BY id";

fn create_rows() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let mut connection = onecopy_mysql::blocking::Connection::connect(url()).unwrap();
        for statement in [
            "CREATE TABLE formats (id INT, text TEXT, none VARCHAR(9), bytes BLOB, bits BIT(9), price DECIMAL(30,10), \
             day DATE, filled INT(5) ZEROFILL)",
            "INSERT INTO formats VALUES \
             (1, 'a\\t\"b\",\\n\\\\日本🦀', NULL, x'00FF0A', b'100000001', 12345678901234567890.0123456789, \
             '2024-02-29', 42), \
             (20, 'NULL', '', x'', NULL, -0.5, NULL, NULL)",
        ] {
            connection.run(statement).unwrap();
        }
    });
}

fn rows_as(format: &str) -> Vec<u8> {
    create_rows();
    let output = sql(&[ROWS, "--format", format]);
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
    output.stdout
}

#[test]
fn tsv_is_what_load_data_reads_and_the_default_where_there_is_no_terminal() {
    let expected: &[u8] = b"id\ttext\tnone\tbytes\tbits\tprice\tday\tfilled\n\
        1\ta\\t\"b\",\\n\\\\\xE6\x97\xA5\xE6\x9C\xAC\xF0\x9F\xA6\x80\t\\N\t\\0\xFF\\n\t257\t\
        12345678901234567890.0123456789\t2024-02-29\t00042\n\
        20\tNULL\t\t\t\\N\t-0.5000000000\t\\N\t\\N\n";
    assert_eq!(rows_as("tsv"), expected);
    assert_eq!(sql(&[ROWS]).stdout, expected);
}

#[test]
fn tsv_goes_back_into_a_table_as_it_came_out() {
    create_rows();
    let path = std::env::temp_dir().join(format!("onecopy-formats-{}.tsv", std::process::id()));
    std::fs::write(
        &path,
        sql(&["SELECT id, text, none, bytes, price, day, filled FROM formats"]).stdout,
    )
    .unwrap();
    let load = format!(
        "LOAD DATA INFILE '{}' INTO TABLE formats_back CHARACTER SET binary IGNORE 1 LINES \
         (id, text, none, bytes, price, day, filled)",
        path.display()
    );
    let loaded = sql(&[
        "CREATE TABLE formats_back LIKE formats",
        &load,
        "UPDATE formats_back SET bits = 257 WHERE id = 1",
    ]);
    std::fs::remove_file(&path).unwrap();
    // A server may be on another machine, or not let the user read files.
    let error = stderr(&loaded)
        .lines()
        .find(|line| line.starts_with("error "));
    if let (TestServer::Given(_), Some(error)) = (test_server(), error) {
        return lacks("LOAD DATA INFILE", error);
    }
    assert!(
        stderr(&loaded).contains("OK, 2 rows affected"),
        "{}",
        stderr(&loaded)
    );
    let missing =
        "SELECT COUNT(*) FROM (SELECT * FROM formats EXCEPT SELECT * FROM formats_back) a";
    assert_eq!(stdout(&[missing, "-N"]), "0\n");
}

#[test]
fn csv_follows_rfc_4180_and_tells_null_from_an_empty_text() {
    let expected: &[u8] = b"id,text,none,bytes,bits,price,day,filled\r\n\
        1,\"a\t\"\"b\"\",\n\\\xE6\x97\xA5\xE6\x9C\xAC\xF0\x9F\xA6\x80\",,\"\0\xFF\n\",257,\
        12345678901234567890.0123456789,2024-02-29,00042\r\n\
        20,NULL,\"\",\"\",,-0.5000000000,,\r\n";
    assert_eq!(rows_as("csv"), expected);
}

#[test]
fn json_is_an_array_of_objects_with_a_row_a_line() {
    let text = String::from_utf8(rows_as("json")).unwrap();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 4);
    assert_eq!((lines[0], lines[3]), ("[", "]"));
    // Every digit is there, whatever a parser makes of it.
    assert!(
        lines[1].contains("\"price\":12345678901234567890.0123456789,"),
        "{}",
        lines[1]
    );
    let rows: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        rows[1],
        json!({"id": 20, "text": "NULL", "none": "", "bytes": {"base64": ""}, "bits": null, "price": -0.5, "day": null,
               "filled": null})
    );
    assert_eq!(rows[0]["text"], "a\t\"b\",\n\\日本🦀");
    assert_eq!(rows[0]["none"], Value::Null);
    assert_eq!(rows[0]["bytes"], json!({"base64": "AP8K"}));
    assert_eq!(
        (&rows[0]["bits"], &rows[0]["filled"]),
        (&json!(257), &json!(42))
    );
    assert_eq!(rows[0]["day"], "2024-02-29");
}

#[test]
fn json_of_no_rows_is_an_empty_array_and_several_results_are_several_arrays() {
    assert_eq!(stdout(&["SELECT 1 a LIMIT 0", "-f", "json"]), "[]\n");
    let text = stdout(&["SELECT 1 a", "SELECT 2 b", "-f", "json"]);
    let results: Vec<Value> = serde_json::Deserializer::from_str(&text)
        .into_iter()
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!(results, [json!([{"a": 1}]), json!([{"b": 2}])]);
}

#[test]
fn json_gives_bytes_for_a_text_that_is_not_utf8() {
    // The server sends latin1 as it is asked to, and says nothing of it in JSON's favour.
    let text = stdout(&[
        "SET NAMES latin1",
        "SELECT _utf8mb4 x'C3A9' COLLATE utf8mb4_bin AS e",
        "-q",
        "-f",
        "json",
    ]);
    let rows: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(rows, json!([{"e": {"base64": "6Q=="}}]));
}

#[test]
fn vertical_has_a_line_for_each_column_and_values_whole() {
    let expected = "---- row 1 ----\n    id: 1\n  text: a\t\"b\",\n\\日本🦀\n  none: NULL\n bytes: 0x00FF0A\n  bits: 257\n \
                    price: 12345678901234567890.0123456789\n   day: 2024-02-29\nfilled: 00042\n\
                    ---- row 2 ----\n    id: 20\n  text: NULL\n  none: \n bytes: \n  bits: NULL\n \
                    price: -0.5000000000\n   day: NULL\nfilled: NULL\n";
    assert_eq!(String::from_utf8(rows_as("vertical")).unwrap(), expected);
}

#[test]
fn a_table_is_aligned_by_what_a_terminal_shows() {
    let expected = "\
+----+------------------+------+----------+------+---------------------------------+------------+--------+
| id | text             | none | bytes    | bits |                           price | day        | filled |
+----+------------------+------+----------+------+---------------------------------+------------+--------+
|  1 | a\\t\"b\",\\n\\日本🦀 | NULL | 0x00FF0A |  257 | 12345678901234567890.0123456789 | 2024-02-29 |  00042 |
| 20 | NULL             |      |          | NULL |                   -0.5000000000 | NULL       |   NULL |
+----+------------------+------+----------+------+---------------------------------+------------+--------+
";
    assert_eq!(String::from_utf8(rows_as("table")).unwrap(), expected);
}

#[test]
fn the_header_can_be_left_out() {
    assert_eq!(stdout(&["SELECT 1 a, 'x' b", "-N"]), "1\tx\n");
    assert_eq!(
        stdout(&["SELECT 1 a, 'x' b", "--no-header", "-f", "csv"]),
        "1,x\r\n"
    );
    let table = "+---+---+\n| 1 | x |\n+---+---+\n";
    assert_eq!(stdout(&["SELECT 1 a, 'x' b", "-N", "-f", "table"]), table);
}

#[test]
fn a_table_goes_on_aligned_behind_the_rows_that_set_its_widths() {
    // 1,000 rows are held back; the widths grow with 10,000 and 100,000.
    let table = stdout(&["SELECT seq FROM seq_1_to_100000", "-f", "table"]);
    let lines: Vec<_> = table.lines().collect();
    assert_eq!(lines.len(), 100_004);
    assert_eq!(lines[3 + 998], "|  999 |");
    assert_eq!(lines[3 + 9_999], "| 10000 |");
    assert_eq!(lines[100_002], "| 100000 |");
    assert_eq!(lines[100_003], "+--------+");
}

#[test]
fn a_terminal_is_shown_a_table_and_the_number_of_rows_unless_it_is_to_be_quiet() {
    let statements = ["SELECT 77 AS n UNION SELECT 88", "SELECT 99"];
    let mut terminal = Terminal::start(onecopy().arg(url()).args(statements));
    let table = terminal.shows("2 rows");
    assert!(table.contains("77") && table.contains("88"), "{table}");
    terminal.shows("1 row");
    terminal.ends();
    let mut terminal = Terminal::start(onecopy().args(["-q", url()]).args(statements));
    terminal.shows("88");
    let between = terminal.shows("99");
    assert!(!between.contains("row"), "{between}");
    terminal.ends();
}
