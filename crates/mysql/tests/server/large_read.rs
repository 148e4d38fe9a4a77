//! Values around one and two whole packets come as they are, wherever they stand and however they are read.

use onecopy_mysql::Param;

use super::Connection;
use crate::common::{
    LARGEST, PACKET, binary, count, large_lengths, max_value_bytes, small_lengths, soak, takes,
    urls,
};

use_reader_traits!();

/// How a value is read.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    Borrowed,
    Taken,
    Owned,
    Reused,
    /// Streamed by slices of this length.
    Slices(usize),
    Buffered,
    ToEnd,
}

const WAYS: [Way; 9] = [
    Way::Borrowed,
    Way::Taken,
    Way::Owned,
    Way::Reused,
    Way::Slices(256 << 10),
    Way::Slices(20_011), // read straight, and in step with nothing
    Way::Slices(1_009),  // copied out of the buffer
    Way::Buffered,
    Way::ToEnd,
];

/// Where the value stands, and in which protocol.
#[derive(Debug, Clone, Copy)]
struct Place {
    first: bool,
    binary: bool,
}

const PLACES: [Place; 4] = [
    Place::new(true, false),
    Place::new(false, false),
    Place::new(true, true),
    Place::new(false, true),
];

impl Place {
    const fn new(first: bool, binary: bool) -> Self {
        Self { first, binary }
    }

    /// The value's length in a row of `payload` bytes, for values of 64 KiB and more.
    fn len_of_payload(self, payload: usize) -> usize {
        // 'tail' behind its length; the number and NULL as text, or the head, the bitmap and the DOUBLE.
        let others = 5 + if self.binary { 2 + 8 } else { 2 + 1 };
        let short = payload - others - 4;
        if short <= PACKET { short } else { short - 5 }
    }
}

/// What is asked for and how.
#[derive(Debug, Clone, Copy)]
struct Case {
    place: Place,
    len: usize,
    way: Way,
}

impl Case {
    const fn new(place: Place, len: usize, way: Way) -> Self {
        Self { place, len, way }
    }

    /// Every combination at one length.
    fn all(len: usize) -> Vec<Self> {
        let of_way = |way| PLACES.map(|place| Self::new(place, len, way));
        WAYS.into_iter().flat_map(of_way).collect()
    }

    fn sql(self, len: &str) -> String {
        let small = "7e0 AS small, NULL AS none";
        let big = format!("LEFT({}, {len}) AS big", source(self.len));
        if self.place.first {
            format!("SELECT {big}, {small}, 'tail' AS tail")
        } else {
            format!("SELECT 'tail' AS tail, {small}, {big}")
        }
    }
}

/// Over every small length.
const SMALL: usize = 300_000;

/// The shortest of the server's variables that is long enough: it copies the whole of one to take a part.
fn source(len: usize) -> &'static str {
    match len {
        0..=SMALL => "@s",
        len if len <= 17_000_000 => "@m",
        _ => "@v",
    }
}

#[tokio::test]
async fn values_of_small_lengths_come_as_they_are() {
    for url in urls() {
        let mut conn = connect(&url).await;
        for len in small_lengths() {
            for case in Case::all(len) {
                read(&mut conn, case).await;
            }
        }
    }
}

#[tokio::test]
async fn values_around_whole_packets_come_as_they_are() {
    if !takes(LARGEST) {
        return;
    }
    let mut conns = Vec::new();
    for url in urls() {
        conns.push(connect(&url).await);
    }
    for (index, len) in large_lengths().into_iter().enumerate() {
        let cases = Case::all(len);
        if soak() {
            check_server(&mut conns[0], len).await;
            for conn in &mut conns {
                for &case in &cases {
                    read(conn, case).await;
                }
            }
        } else {
            // One combination a length; the step shares no factor with their number.
            let of_transport = index % conns.len();
            read(&mut conns[of_transport], cases[index * 5 % cases.len()]).await;
        }
    }
}

#[tokio::test]
async fn rows_around_whole_packets_come_as_they_are() {
    if !takes(LARGEST) {
        return;
    }
    let mut conns = Vec::new();
    for url in urls() {
        conns.push(connect(&url).await);
    }
    let mut ways = WAYS.into_iter().cycle();
    for packets in 1..=2 {
        // In a test run two packets in each protocol only.
        for place in PLACES.into_iter().step_by(count(packets, 1)) {
            let of_transport = usize::from(place.binary) % conns.len();
            let conn = &mut conns[of_transport];
            for way in ways.by_ref().take(count(1, WAYS.len())) {
                let mut came = Vec::new();
                for payload in packets * PACKET - 1..=packets * PACKET + 1 {
                    let case = Case::new(place, place.len_of_payload(payload), way);
                    let before = conn.meter();
                    read(conn, case).await;
                    came.push(conn.meter().since(&before).bytes_read);
                }
                // Behind an exact multiple comes an empty packet; one byte more is in that packet.
                assert_eq!([came[1] - came[0], came[2] - came[1]], [5, 1], "{place:?}");
            }
        }
    }
}

#[tokio::test]
async fn two_large_values_in_a_row_are_each_read_into_memory_of_their_own() {
    if !takes(LARGEST) {
        return;
    }
    let mut conn = connect(&urls()[0]).await;
    for (a, b) in [
        (300_000, 16_777_215),
        (16_777_215, 70_000),
        (90_000, 100_000),
    ] {
        let sql = format!("SELECT LEFT(@m, {a}), 'between', LEFT(@m, {b})");
        let mut rows = wait!(conn.query(&sql)).unwrap();
        let mut row = wait!(rows.next_owned()).unwrap().unwrap();
        assert!(row.bytes(0).unwrap() == Some(binary().first(a)));
        assert_eq!(row.get::<&str>(1).unwrap(), "between");
        assert!(row.take_bytes(2).unwrap().unwrap() == binary().first(b));
        wait!(rows.finish()).unwrap();
    }
}

#[tokio::test]
async fn a_reused_vector_is_not_allocated_again() {
    if !takes(LARGEST) {
        return;
    }
    let mut conn = connect(&urls()[0]).await;
    let mut value = Vec::new();
    for len in [5_000_000, 4_999_999, 100_000, 20, 5_000_000] {
        let mut rows = wait!(conn.query(format!("SELECT 1, LEFT(@m, {len})"))).unwrap();
        let before = (value.as_ptr(), value.capacity());
        wait!(rows.next_into(1, &mut value)).unwrap().unwrap();
        assert!(value == binary().first(len));
        if before.1 > 0 {
            assert_eq!((value.as_ptr(), value.capacity()), before, "{len} bytes");
        }
        wait!(rows.finish()).unwrap();
    }
}

#[tokio::test]
async fn what_is_not_read_of_a_streamed_value_is_passed_over() {
    if !takes(LARGEST) {
        return;
    }
    let mut conn = connect(&urls()[0]).await;
    let sql = "SELECT IF(n = 0, LEFT(@v, 20000000), 'x'), n + 5, IF(n = 0, LEFT(@s, 300000), 'y'), 'z' \
               FROM (SELECT 0 AS n UNION SELECT 1) AS two";
    for part in [0, 1, 100_000, 16_777_300] {
        let mut rows = wait!(conn.query(sql)).unwrap();
        let mut row = wait!(rows.next_streaming()).unwrap().unwrap();
        let mut column = wait!(row.next_column()).unwrap().unwrap();
        let mut bytes = vec![0; part];
        wait!(column.read_exact(&mut bytes)).unwrap();
        assert!(bytes == binary().first(part));
        let mut column = wait!(row.next_column()).unwrap().unwrap();
        assert_eq!(wait!(column.get::<i64>()).unwrap(), 5);
        assert_eq!((column.index(), column.len()), (1, Some(1)));
        wait!(row.next_column()).unwrap().unwrap();
        drop(row);
        let row = wait!(rows.next()).unwrap().unwrap();
        assert_eq!(row.get::<&str>(3).unwrap(), "z");
        wait!(rows.finish()).unwrap();
    }
}

async fn connect(url: &str) -> Connection {
    let mut conn = wait!(Connection::connect(url)).unwrap();
    let len = if max_value_bytes() >= LARGEST as u64 {
        binary().len()
    } else {
        SMALL
    };
    let set = wait!(conn.prepare("SET @v = ?")).unwrap();
    wait!(
        wait!(conn.execute(&set, &[Param::Bytes(binary().first(len))]))
            .unwrap()
            .finish()
    )
    .unwrap();
    wait!(conn.close_statement(set)).unwrap();
    wait!(conn.run("SET @s = LEFT(@v, 300000), @m = LEFT(@v, 17000000)")).unwrap();
    check_server(&mut conn, len).await;
    conn
}

/// The server's own idea of the bytes that are expected below.
async fn check_server(conn: &mut Connection, len: usize) {
    let source = source(len);
    let sql = format!("SELECT LENGTH(LEFT({source}, {len})), CRC32(LEFT({source}, {len}))");
    let mut rows = wait!(conn.query(&sql)).unwrap();
    let row = wait!(rows.next()).unwrap().unwrap();
    assert_eq!(row.get::<u64>(0).unwrap(), len as u64);
    assert_eq!(row.get::<u32>(1).unwrap(), binary().crc32(len));
    wait!(rows.finish()).unwrap();
}

async fn read(conn: &mut Connection, case: Case) {
    let big = if case.place.first { 0 } else { 3 };
    let expected = binary().first(case.len);
    let mut reused = vec![0xEE; 10];
    let mut statement = None;
    let mut rows = if case.place.binary {
        let statement = statement.insert(wait!(conn.prepare(case.sql("?"))).unwrap());
        wait!(conn.execute(statement, &[Param::from(case.len as u64)])).unwrap()
    } else {
        wait!(conn.query(case.sql(&case.len.to_string()))).unwrap()
    };
    match case.way {
        Way::Borrowed | Way::Taken => {
            let row = wait!(rows.next()).unwrap().unwrap();
            assert!(row.get::<&[u8]>("big").unwrap() == expected, "{case:?}");
            assert_eq!(row.get::<f64>("small").unwrap(), 7.0, "{case:?}");
            assert_eq!(row.get::<Option<&str>>("none").unwrap(), None, "{case:?}");
            assert_eq!(row.get::<&str>("tail").unwrap(), "tail", "{case:?}");
            if case.way == Way::Taken {
                let taken = rows.take(big).unwrap().unwrap();
                assert!(taken == expected, "{case:?}");
                assert!(rows.take(big).is_err(), "{case:?}");
            }
        }
        Way::Owned => {
            let mut row = wait!(rows.next_owned()).unwrap().unwrap();
            assert_eq!(row.get::<f64>("small").unwrap(), 7.0, "{case:?}");
            assert_eq!(row.bytes("none").unwrap(), None, "{case:?}");
            assert_eq!(row.get::<&str>("tail").unwrap(), "tail", "{case:?}");
            assert!(
                row.take_bytes("big").unwrap().unwrap() == expected,
                "{case:?}"
            );
        }
        Way::Reused => {
            let row = wait!(rows.next_into("big", &mut reused)).unwrap().unwrap();
            assert_eq!(row.get::<f64>("small").unwrap(), 7.0, "{case:?}");
            assert_eq!(row.get::<&str>("tail").unwrap(), "tail", "{case:?}");
            assert!(reused == expected, "{case:?}");
        }
        Way::Slices(_) | Way::Buffered | Way::ToEnd => stream(&mut rows, case).await,
    }
    assert!(wait!(rows.next()).unwrap().is_none(), "{case:?}");
    wait!(rows.finish()).unwrap();
    if let Some(statement) = statement {
        wait!(conn.close_statement(statement)).unwrap();
    }
}

async fn stream(rows: &mut face!(Rows<'_>), case: Case) {
    let mut row = wait!(rows.next_streaming()).unwrap().unwrap();
    let mut names = Vec::new();
    while let Some(mut column) = wait!(row.next_column()).unwrap() {
        names.push(column.name().into_owned());
        match names.last().map(String::as_str) {
            Some("small") => assert_eq!(wait!(column.get::<f64>()).unwrap(), 7.0, "{case:?}"),
            Some("none") => assert!(column.is_null() && column.is_empty(), "{case:?}"),
            Some("tail") => assert_eq!(wait!(column.get::<&str>()).unwrap(), "tail", "{case:?}"),
            _ => {
                assert_eq!(column.len(), Some(case.len as u64), "{case:?}");
                stream_value(&mut column, case).await;
            }
        }
    }
    assert_eq!(names.len(), 4, "{case:?}");
}

async fn stream_value(column: &mut face!(ColumnReader<'_>), case: Case) {
    let mut left = binary().first(case.len);
    match case.way {
        Way::Slices(len) => {
            let mut slice = vec![0; len];
            loop {
                let n = wait!(column.read(&mut slice)).unwrap();
                assert!(
                    left.starts_with(&slice[..n]),
                    "{case:?}, {} left",
                    left.len()
                );
                left = &left[n..];
                if n == 0 {
                    break;
                }
            }
        }
        Way::Buffered => loop {
            let piece = wait!(column.fill_buf()).unwrap();
            // Not all of it at once: what was not consumed is borrowed again.
            let n = piece.len().min(100_003);
            assert!(
                left.starts_with(&piece[..n]),
                "{case:?}, {} left",
                left.len()
            );
            if n == 0 {
                break;
            }
            left = &left[n..];
            column.consume(n);
        },
        _ => {
            let mut value = Vec::new();
            wait!(column.read_to_end(&mut value)).unwrap();
            assert!(value == left, "{case:?}");
            left = &[];
        }
    }
    assert_eq!(left.len(), 0, "{case:?}");
}
