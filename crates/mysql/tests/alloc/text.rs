//! Results of text queries: many columns, wide rows, large values, read in every way.

use onecopy_mysql::Limits;
use onecopy_testkit::script::{noise, text_row};

use crate::conversation::{Conversation, Fate};
use crate::packets::{
    ROWS_END, ROWS_END_MORE, borrowed, column, command, config, exchange, result,
};

const SELECT: &[u8] = b"\x03SELECT";

/// 4,096 columns with long names, and two rows of 20 bytes a value.
fn many_columns() -> Vec<Vec<u8>> {
    let columns: Vec<_> = (0..4096)
        .map(|number| column(&format!("column {number:060}")))
        .collect();
    let row = text_row(&vec![Some(noise(20)); 4096]);
    result(&columns, &[row.clone(), row], ROWS_END)
}

/// Three columns: small, `len` bytes, `len` bytes. Three rows.
fn wide(len: usize) -> Vec<Vec<u8>> {
    let columns = ["small", "a", "b"].map(column);
    let row = text_row(&[Some(b"7"), Some(noise(len)), Some(noise(len))]);
    result(&columns, &[row.clone(), row.clone(), row], ROWS_END)
}

const CONTIGUOUS: usize = 100_000;
const HOMES: usize = 300_000;

fn play(talk: Conversation, replies: &[Vec<u8>], fates: &[Fate]) {
    talk.run(&exchange(SELECT, &borrowed(replies)), fates);
}

/// All rows borrowed.
fn lend() -> Conversation {
    conversation!(config(), |conn, step, wait| {
        step!(|conn| {
            let mut rows = wait!(conn.query("SELECT"))?;
            while let Some(row) = wait!(rows.next())? {
                for index in 0..row.len() {
                    let value = row.bytes(index)?.unwrap();
                    assert!(value == b"7" || value == noise(value.len()));
                }
            }
            Ok(())
        });
        step!(|conn| { wait!(conn.ping()) });
    })
}

#[test]
fn rows_borrowed() {
    for replies in [many_columns(), wide(CONTIGUOUS), wide(HOMES)] {
        play(lend(), &replies, &[Fate::NotSent, Fate::Closed]);
    }
}

#[test]
fn rows_owned_and_collected() {
    let owned = conversation!(config(), |conn, step, wait| {
        step!(|conn| {
            let mut rows = wait!(conn.query("SELECT"))?;
            while let Some(mut row) = wait!(rows.next_owned())? {
                let last = row.len() - 1;
                let len = row.bytes(last)?.unwrap().len();
                assert_eq!(row.take_bytes(last)?.unwrap(), noise(len));
                assert!(row.take_bytes(last).is_err(), "taken twice");
            }
            Ok(())
        });
        step!(|conn| { wait!(conn.ping()) });
    });
    let collected = conversation!(config(), |conn, step, wait| {
        step!(|conn| {
            let mut rows = wait!(conn.query("SELECT"))?;
            assert!(wait!(rows.collect_owned())?.len() >= 2);
            Ok(())
        });
        step!(|conn| { wait!(conn.ping()) });
    });
    for replies in [many_columns(), wide(CONTIGUOUS), wide(HOMES)] {
        for talk in [owned, collected] {
            let fates = [Fate::NotSent, Fate::Closed, Fate::Lost];
            let large_only = replies.len() > 4000 || replies[4].len() < HOMES;
            // Large values are moved: nothing is left to be copied.
            play(talk, &replies, &fates[..if large_only { 3 } else { 2 }]);
        }
    }
}

#[test]
fn a_list_of_many_owned_rows() {
    let columns = [column("v")];
    let row = text_row(&[Some(b"small")]);
    let replies = result(&columns, &vec![row; 1000], ROWS_END);
    let talk = conversation!(config(), |conn, step, wait| {
        step!(|conn| {
            let mut rows = wait!(conn.query("SELECT"))?;
            assert_eq!(wait!(rows.collect_owned())?.len(), 1000);
            Ok(())
        });
        step!(|conn| { wait!(conn.ping()) });
    });
    play(talk, &replies, &[Fate::NotSent, Fate::Closed, Fate::Lost]);
}

#[test]
fn a_value_taken_out_of_a_borrowed_row_is_still_there_where_its_copy_failed() {
    let talk = conversation!(config(), |conn, step, wait| {
        step!(|conn| {
            let mut rows = wait!(conn.query("SELECT"))?;
            let len = wait!(rows.next())?.unwrap().bytes(1)?.unwrap().len();
            let first = match rows.take(1) {
                // Not for want of it: the second try gives it.
                Err(error) if error.is_out_of_memory() => {
                    assert_eq!(rows.take(1)?.unwrap(), noise(len));
                    Err(error)
                }
                taken => taken,
            };
            assert_eq!(first?.unwrap(), noise(len));
            assert!(rows.take(1).is_err_and(|error| !error.is_out_of_memory()));
            Ok(())
        });
        step!(|conn| { wait!(conn.ping()) });
    });
    let fates = [Fate::NotSent, Fate::Closed, Fate::Lost];
    play(talk, &wide(CONTIGUOUS), &fates);
    play(talk, &wide(HOMES), &fates[..2]);
}

#[test]
fn values_into_a_vector_of_the_callers() {
    let talk = conversation!(config(), |conn, step, wait| {
        step!(|conn| {
            let mut value = Vec::new();
            let mut rows = wait!(conn.query("SELECT"))?;
            while let Some(row) = wait!(rows.next_into(1, &mut value))? {
                assert_eq!(row.get::<i64>(0).ok(), None, "a blob is no number");
                assert_eq!(value, noise(value.len()));
            }
            Ok(())
        });
        step!(|conn| { wait!(conn.ping()) });
    });
    let fates = [Fate::NotSent, Fate::Closed, Fate::Lost];
    play(talk, &wide(CONTIGUOUS), &fates);
    play(talk, &wide(HOMES), &fates[..2]);
}

#[test]
fn values_copied_as_the_callers_type() {
    let talk = conversation!(config(), |conn, step, wait| {
        step!(|conn| {
            let mut rows = wait!(conn.query("SELECT"))?;
            while let Some(row) = wait!(rows.next())? {
                let copy: Vec<u8> = row.get(1)?;
                assert_eq!(copy, noise(copy.len()));
                assert!(row.get::<Option<String>>(2).is_err(), "no utf-8");
            }
            Ok(())
        });
        step!(|conn| { wait!(conn.ping()) });
    });
    for replies in [wide(CONTIGUOUS), wide(HOMES)] {
        play(talk, &replies, &[Fate::NotSent, Fate::Closed, Fate::Lost]);
    }
}

#[test]
fn rows_streamed() {
    let talk = conversation!(config(), |conn, step, wait| {
        let mut piece = vec![0; 64 << 10];
        step!(|conn| {
            let mut rows = wait!(conn.query("SELECT"))?;
            while let Some(mut row) = wait!(rows.next_streaming())? {
                while let Some(mut column) = wait!(row.next_column())? {
                    assert!(column.name().len() < 100);
                    let mut at = 0;
                    loop {
                        let n = wait!(read(&mut column, &mut piece))?;
                        if n == 0 {
                            break;
                        }
                        at += n;
                    }
                    assert_eq!(column.len(), Some(at as u64));
                }
            }
            Ok(())
        });
        step!(|conn| { wait!(conn.ping()) });
    });
    for replies in [many_columns(), wide(CONTIGUOUS), wide(HOMES)] {
        play(talk, &replies, &[Fate::NotSent, Fate::Closed]);
    }
}

#[test]
fn rows_that_nobody_reads_are_drained_and_the_results_behind_them_too() {
    let mut replies = wide(HOMES);
    replies.pop();
    replies.push(ROWS_END_MORE.to_vec());
    replies.extend(wide(CONTIGUOUS));
    let dropped = conversation!(config(), |conn, step, wait| {
        step!(|conn| {
            let mut rows = wait!(conn.query("SELECT"))?;
            wait!(rows.next())?;
            Ok(())
        });
        step!(|conn| { wait!(conn.ping()) });
    });
    let passed = conversation!(config(), |conn, step, wait| {
        step!(|conn| {
            let mut rows = wait!(conn.query("SELECT"))?;
            assert!(wait!(rows.next_result())?);
            let row = wait!(rows.next())?.unwrap();
            assert_eq!(row.bytes(1)?, Some(noise(CONTIGUOUS)));
            wait!(rows.finish())
        });
        step!(|conn| { wait!(conn.ping()) });
    });
    for talk in [dropped, passed] {
        play(talk, &replies, &[Fate::NotSent, Fate::Closed]);
    }
}

#[test]
fn rows_of_many_large_values() {
    let columns: Vec<_> = (0..300).map(|number| column(&number.to_string())).collect();
    let row = text_row(&vec![Some(noise(2000)); 300]);
    let replies = result(&columns, &[row.clone(), row], ROWS_END);
    let talk = conversation!(
        {
            let mut config = config();
            config.limits = Limits {
                contiguous_row_bytes: 10_000,
                large_value_bytes: 1000,
                ..Limits::default()
            };
            config
        },
        |conn, step, wait| {
            step!(|conn| {
                let mut rows = wait!(conn.query("SELECT"))?;
                while let Some(row) = wait!(rows.next_owned())? {
                    assert_eq!(row.bytes(299)?, Some(noise(2000)));
                }
                Ok(())
            });
            step!(|conn| { wait!(conn.ping()) });
        }
    );
    play(talk, &replies, &[Fate::NotSent, Fate::Closed, Fate::Lost]);
}

/// A query whose text has this length.
macro_rules! query_of {
    ($len:literal) => {{
        let talk = conversation!(config(), |conn, step, wait| {
            let sql = "x".repeat($len);
            step!(|conn| {
                let mut rows = wait!(conn.query(&sql))?;
                while let Some(row) = wait!(rows.next())? {
                    assert_eq!(row.bytes(1)?, Some(noise(10)));
                }
                Ok(())
            });
            step!(|conn| { wait!(conn.ping()) });
        });
        let sql = command(3, "x".repeat($len).as_bytes());
        (talk, exchange(&sql, &borrowed(&wide(10))))
    }};
}

#[test]
fn a_text_that_is_copied_and_one_that_is_borrowed() {
    for (talk, script) in [query_of!(10_000), query_of!(17_000), query_of!(200_000)] {
        talk.run(&script, &[Fate::NotSent, Fate::Closed]);
    }
}
