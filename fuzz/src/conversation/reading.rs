//! Reads the rows of one call in every way that a caller has, and holds them against what was asked for.

use std::io::{self, BufRead, Read};

use onecopy_mysql::blocking::Rows;
use onecopy_mysql::{Error, ProtocolError, Row, Value};

use crate::honest::{Shape, read_value};
use crate::packets::check_line;
use crate::values;

/// Times that a call is made again after a timeout, before it is given up.
const MOST_TRIES: usize = 8;

/// What the rows of a call must be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Expected {
    token: u64,
    shape: Option<Shape>,
    /// The next row's number, or a number that it is not below.
    next: u64,
    is_exact: bool,
}

impl Expected {
    /// Rows of the call with this token, whose statement has an unknown shape.
    pub(super) fn of_token(token: u64) -> Self {
        Self {
            token,
            shape: None,
            next: 0,
            is_exact: true,
        }
    }

    /// Rows of this shape.
    pub(super) fn of_shape(shape: Shape) -> Self {
        Self {
            shape: Some(shape),
            ..Self::of_token(shape.token)
        }
    }

    fn check(&mut self, value: &[u8]) {
        let found = read_value(value);
        let (token, row) = found.expect("an honest server's value");
        assert_eq!(token, self.token, "a row of another call");
        if self.is_exact {
            assert_eq!(row, self.next, "a row was lost or came twice");
        } else {
            assert!(row >= self.next, "a row came twice");
        }
        self.next = row + 1;
    }
}

/// Reads rows in the way that the call says, and drops them where it says.
pub(super) fn read(
    mut rows: Rows<'_>,
    mut expected: Option<Expected>,
    call: u8,
    how: u8,
) -> Result<(), Error> {
    let mut into = Vec::new();
    let stops_at = if how & 0x10 != 0 {
        usize::from(call & 3)
    } else {
        usize::MAX
    };
    let mut tries = 0;
    let mut count = 0;
    let mut mode = call.wrapping_add(how);
    loop {
        if count >= stops_at {
            return Ok(());
        }
        let got = match mode % 5 {
            0 | 1 => borrowed(&mut rows, &mut expected),
            2 => owned(&mut rows, &mut expected),
            3 => taken_into(&mut rows, &mut into, &mut expected),
            _ => streamed(&mut rows, &mut expected, how),
        };
        match got {
            Ok(true) => count += 1,
            Ok(false) => {
                check_end(&expected);
                if !again(&mut tries, || rows.next_result())? {
                    let done = rows.done();
                    assert!(expected.is_none() || done.affected_rows == 0);
                    return Ok(());
                }
                mode = mode.wrapping_add(how);
            }
            Err(error) if error.is_timeout() && tries < MOST_TRIES => tries += 1,
            // A borrowed row is half read: it is taken in the form that it was begun in.
            Err(error)
                if error.protocol() == Some(&ProtocolError::RowUnderWay) && tries < MOST_TRIES =>
            {
                tries += 1;
                mode = 0;
            }
            Err(error) => return Err(error),
        }
        if call & 0x40 != 0 {
            mode = mode.wrapping_add(1);
        }
    }
}

/// All rows of a result were seen, where they were read one by one.
fn check_end(expected: &Option<Expected>) {
    if let Some(Expected {
        shape: Some(shape),
        next,
        is_exact: true,
        ..
    }) = expected
        && shape.rows > 0
    {
        assert_eq!(next % u64::from(shape.rows), 0, "rows are missing");
    }
}

/// Makes a call again after a timeout.
fn again<T>(tries: &mut usize, mut call: impl FnMut() -> Result<T, Error>) -> Result<T, Error> {
    loop {
        match call() {
            Err(error) if error.is_timeout() && *tries < MOST_TRIES => *tries += 1,
            done => return done,
        }
    }
}

fn borrowed(rows: &mut Rows<'_>, expected: &mut Option<Expected>) -> Result<bool, Error> {
    let Some(row) = rows.next()? else {
        return Ok(false);
    };
    check_row(&row);
    if let (Some(expected), Some(value)) = (expected, row.bytes(0)?) {
        expected.check(value);
    }
    let first = row.bytes(0)?.map(<[u8]>::to_vec);
    let taken = rows.take(0)?;
    assert_eq!(taken, first);
    if taken.is_some() {
        assert!(rows.take(0).is_err(), "taken twice");
    }
    Ok(true)
}

fn check_row(row: &Row<'_>) {
    assert_eq!(row.len(), row.columns().len());
    assert!(row.bytes(row.len()).is_err(), "a column too many");
    for (index, value) in row.values().enumerate() {
        match value {
            Ok(value) => {
                values::check(value);
                let one = row.value(index);
                assert!(one.is_ok_and(|one| values::is_same(one, value)));
            }
            Err(error) => check_line(&error),
        }
    }
}

fn owned(rows: &mut Rows<'_>, expected: &mut Option<Expected>) -> Result<bool, Error> {
    let Some(mut row) = rows.next_owned()? else {
        return Ok(false);
    };
    for index in 0..row.len() {
        match row.value(index) {
            Ok(value) => values::check(value),
            Err(error) => check_line(&error),
        }
    }
    if let (Some(expected), Some(value)) = (expected, row.bytes(0)?) {
        expected.check(value);
    }
    let first = row.bytes(0)?.map(<[u8]>::to_vec);
    assert_eq!(row.take_bytes(0)?, first);
    Ok(true)
}

fn taken_into(
    rows: &mut Rows<'_>,
    into: &mut Vec<u8>,
    expected: &mut Option<Expected>,
) -> Result<bool, Error> {
    match rows.columns() {
        Some(columns) if !columns.is_empty() => {}
        _ => return borrowed(rows, expected),
    }
    let Some(row) = rows.next_into(0, into)? else {
        return Ok(false);
    };
    assert!(row.bytes(0).map_or(true, |value| value.is_none()));
    if let Some(expected) = expected {
        expected.check(into);
    }
    Ok(true)
}

/// Values in order: some read, some looked at, some passed over; the row dropped early where the input says so.
fn streamed(rows: &mut Rows<'_>, expected: &mut Option<Expected>, how: u8) -> Result<bool, Error> {
    // A row that was begun and given up is passed over by the next call.
    if let Some(expected) = expected {
        expected.is_exact = false;
    }
    let Some(mut row) = rows.next_streaming()? else {
        return Ok(false);
    };
    let mut index = 0;
    while let Some(mut column) = row.next_column()? {
        assert_eq!(column.index(), index);
        let len = column.len();
        let mut value = Vec::new();
        match how.wrapping_add(u8::try_from(index & 0x7F).unwrap_or(0)) % 5 {
            0 => {
                column.read_to_end(&mut value).map_err(ours)?;
            }
            1 => {
                let mut large = vec![0; 16 << 10];
                loop {
                    match column.read(&mut large).map_err(ours)? {
                        0 => break,
                        n => value.extend_from_slice(&large[..n]),
                    }
                }
            }
            2 => {
                let n = column.fill_buf().map_err(ours)?.len().min(7);
                column.consume(n);
                column.read_to_end(&mut value).map_err(ours)?;
                value.clear();
            }
            3 => {
                if let Ok(value) = column.get::<Option<Value<'_>>>() {
                    values::check(value.unwrap_or(Value::Null));
                }
            }
            _ => {}
        }
        if !value.is_empty() {
            assert_eq!(Some(value.len() as u64), len, "a value of another length");
            if let (Some(expected), 0) = (expected.as_mut(), index) {
                expected.check(&value);
            }
        }
        index += 1;
        if how & 0x20 != 0 && index > 1 {
            return Ok(true);
        }
    }
    assert!(
        row.next_column()?.is_none(),
        "a row continues behind its end"
    );
    Ok(true)
}

/// A reader's error is the connection's own inside.
fn ours(error: io::Error) -> Error {
    let inner = error.into_inner();
    let ours = inner.and_then(|inner| inner.downcast::<Error>().ok());
    *ours.expect("the connection's own error")
}
