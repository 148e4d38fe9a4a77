use onecopy_mysql::blocking::Connection;
#[test]
fn first() {
    let server = onecopy_testkit::server::shared();
    let mut conn = Connection::connect(&server.socket_url()).unwrap();
    println!("{} {}", conn.server_version(), conn.connection_id());
    let mut rows = conn
        .query("SELECT 1 a, 'x' b, NULL c UNION ALL SELECT 2, 'yy', 3.5")
        .unwrap();
    while let Some(row) = rows.next().unwrap() {
        println!(
            "{:?} {:?} {:?}",
            row.value(0).unwrap(),
            row.get::<&str>("B").unwrap(),
            row.value(2).unwrap()
        );
    }
    let s = conn.prepare("SELECT ?, ?, REPEAT('z', ?)").unwrap();
    let mut rows = conn
        .execute(&s, &onecopy_mysql::params![1, "abc", 40_000_000])
        .unwrap();
    while let Some(row) = rows.next().unwrap() {
        println!(
            "{:?} {:?} {}",
            row.value(0).unwrap(),
            row.get::<&str>(1).unwrap(),
            row.bytes(2).unwrap().unwrap().len()
        );
    }
    println!("{:#?}", conn.meter());
    conn.close().unwrap();
}
