//! A load that is dropped at any of its polls: its connection is right or closed, and of its file all is stored or nothing.

use onecopy_mysql::aio::Connection;

use crate::common::{Dribble, Random, count, lacks, number, seed, url, with_option};
use crate::polls::{answer, poll_times};

const ROWS: u64 = 30_000;

#[tokio::test]
async fn a_load_dropped_at_any_poll_stores_all_or_nothing() {
    let url = with_option(&url(), "local-infile=true");
    let mut admin = Connection::connect(&url).await.unwrap();
    let mut rows = admin.query("SELECT @@local_infile").await.unwrap();
    let is_on: u8 = rows.next().await.unwrap().unwrap().get(0).unwrap();
    rows.finish().await.unwrap();
    if is_on == 0 {
        return lacks("LOAD DATA LOCAL INFILE", "local_infile is OFF");
    }
    let table = format!("infile_drops_{}", number());
    let create =
        format!("CREATE TABLE {table} (id INT PRIMARY KEY, name VARCHAR(40)) ENGINE=InnoDB");
    admin.run(create).await.unwrap();
    let sql = format!("LOAD DATA LOCAL INFILE 'rows' INTO TABLE {table}");
    let data: Vec<u8> = (1..=ROWS)
        .flat_map(|row| format!("{row}\tname of {row}\n").into_bytes())
        .collect();
    let mut random = Random::new(seed());
    let (mut closed, mut kept, mut whole) = (0, 0, 0);
    let mut conn = Connection::connect(&url).await.unwrap();
    // A server that is slow has not asked for the file at any of the first polls: longer and longer, until it has.
    let mut most_polls = 40;
    for round in 0.. {
        if round >= count(60, 3000) && closed > 0 && kept > 0 {
            break;
        }
        assert!(most_polls < 1 << 30, "{closed} closed, {kept} kept");
        let polls = 1 + random.below(most_polls);
        let step = 1000 + usize::try_from(random.below(60_000)).unwrap();
        let reader = Dribble::new(&data, step).that_pauses();
        let done = poll_times(conn.load_infile(&sql, reader), polls).await;
        if let Some(done) = done {
            assert_eq!(done.unwrap().affected_rows, ROWS, "round {round}");
            whole += 1;
        }
        match answer(&mut conn, round).await {
            true => {
                kept += 1;
                if closed == 0 && kept % 30 == 0 {
                    most_polls *= 2;
                }
            }
            false => {
                closed += 1;
                conn = Connection::connect(&url).await.unwrap();
            }
        }
        // What the server is still rolling back holds locks: the statement waits for it.
        let deleted = admin.run(format!("DELETE FROM {table}")).await.unwrap();
        let deleted = deleted.affected_rows;
        assert!(
            deleted == 0 || deleted == ROWS,
            "round {round}: {deleted} rows"
        );
    }
    println!("{closed} closed, {kept} kept, {whole} whole");
    admin.run(format!("DROP TABLE {table}")).await.unwrap();
}
