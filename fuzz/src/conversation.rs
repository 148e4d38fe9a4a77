//! Whole conversations of the blocking connection, with any sequence of calls, over a peer that is honest or not.
//!
//! | bytes | field                                                                              |
//! |-------|------------------------------------------------------------------------------------|
//! | 1     | bit 0: the peer is hostile; bits 1 to 6: what both can do                          |
//! | 1     | how the stream is cut                                                              |
//! | 1     | every so many reads and writes one runs into its timeout                           |
//! | 1     | the read or write at which the connection breaks                                   |
//! | short | calls, two bytes each; with an honest peer all that is left are calls              |
//! | rest  | what a hostile peer sends, as chunks: a group of them for each packet of the client |
//!
//! Held with an honest peer: every row belongs to the call that gives it, in order, none is lost and none comes twice,
//! whatever was dropped half way or ran into a timeout before. With any peer: what was closed stays closed and says so;
//! memory and moved bytes stay within their bounds; no call waits for what can't come.

mod reading;

use std::collections::VecDeque;

use onecopy_mysql::blocking::Connection;
use onecopy_mysql::{
    BulkOptions, Config, Error, Param, ProgressReports, ProtocolError, SslMode, Statement,
};
use onecopy_mysql_proto::Capabilities;

use self::reading::{Expected, read};
use crate::delivery::Pieces;
use crate::honest::{Honest, Shape, greeting, take_packet};
use crate::input::Input;
use crate::packets::check_line;
use crate::peer::{Answer, Peer, Trouble};
use crate::pump::check_meter;
use crate::session::{LIMITS, MOST_IN_HOMES, reply_capabilities};
use crate::stream::groups;

/// Calls of one input at most.
const MOST_CALLS: usize = 24;

/// A parameter of this size is sent by reference.
const LENT: usize = 17 << 10;

/// Makes one input's calls.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let flags = input.byte();
    let is_honest = flags & 1 == 0;
    let pieces = Pieces::new(input.byte());
    let trouble = Trouble {
        timeout_every: u32::from(input.byte() & 0x1F),
        break_at: u32::from(input.byte()),
    };
    let calls = if is_honest {
        input.rest()
    } else {
        input.short()
    };
    let calls = calls.as_chunks().0;
    if is_honest {
        let server = Honest::new(flags & 2 != 0);
        let first = server.greeting();
        let peer = Peer::new(server, pieces);
        let talk = Talk::login(peer, &first, Some(trouble.timeout_every));
        if let Some(talk) = talk {
            talk.honest(calls, trouble.timeout_every);
        }
    } else {
        let capabilities = reply_capabilities(flags >> 1)
            | Capabilities::SECURE_CONNECTION
            | Capabilities::PLUGIN_AUTH
            | Capabilities::LOCAL_FILES
            | Capabilities::MARIADB_STMT_BULK_OPERATIONS;
        let first = greeting(capabilities);
        let server = Hostile {
            groups: groups(&mut input, 1).into(),
            heard: Vec::new(),
            is_in: false,
        };
        let peer = Peer::new(server, pieces);
        peer.set_closes(flags & 128 != 0);
        if let Some(talk) = Talk::login(peer, &first, None) {
            talk.hostile(calls, trouble);
        }
    }
}

/// A peer that lets anybody in and answers each packet with the next group of its bytes.
struct Hostile {
    groups: VecDeque<Vec<u8>>,
    heard: Vec<u8>,
    is_in: bool,
}

impl Answer for Hostile {
    fn hear(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.heard.extend_from_slice(bytes);
        let mut answer = Vec::new();
        while let Some((sequence, payload)) = take_packet(&mut self.heard) {
            // Data of a file, which an empty packet ends: that is answered.
            if self.is_in && sequence > 0 && !payload.is_empty() {
                continue;
            }
            if self.is_in {
                answer.extend(self.groups.pop_front().unwrap_or_default());
            } else {
                self.is_in = true;
                answer.extend([7, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0]);
                // What comes before it is asked for: most inputs have nothing here.
                answer.extend(self.groups.pop_front().unwrap_or_default());
            }
        }
        answer
    }
}

struct Talk {
    conn: Connection,
    peer: Peer,
    statements: Vec<Statement>,
    token: u64,
    is_honest: bool,
    /// A call with parts by reference may have been given up while half of it was sent: then the connection may be closed.
    may_close: bool,
}

/// A call that is done, or the error that ended it.
type Done = Result<(), Error>;

impl Talk {
    fn login(peer: Peer, first: &[u8], honest: Option<u32>) -> Option<Self> {
        let mut config = Config::default();
        config.user = "ada".into();
        config.ssl_mode = Some(SslMode::Disabled);
        config.limits = LIMITS;
        config.idle_keep = 1 << 10;
        config.connect_timeout = None;
        config.local_infile = honest.is_none();
        config.progress = Some(ProgressReports::new(|progress| {
            assert!((0.0..=100.0).contains(&progress.percent()));
            assert!(progress.description.len() <= LIMITS.max_message_bytes);
        }));
        match Connection::from_stream(&config, peer.stream(first)) {
            Ok(conn) => Some(Self {
                conn,
                peer,
                statements: Vec::new(),
                token: 1000,
                is_honest: honest.is_some(),
                may_close: false,
            }),
            Err(error) => {
                check_line(&error);
                assert!(honest.is_none(), "an honest login failed: {error}");
                None
            }
        }
    }

    fn honest(mut self, calls: &[[u8; 2]], timeout_every: u32) {
        // Each second call is as good as none.
        let timeout_every = if timeout_every == 1 { 2 } else { timeout_every };
        let break_at = 0;
        self.peer.set_trouble(Trouble {
            timeout_every,
            break_at,
        });
        for &[call, how] in calls.iter().take(MOST_CALLS) {
            if let Err(error) = self.call(call, how) {
                self.check_honest(&error);
            }
            if self.conn.is_closed() {
                assert!(self.may_close, "an honest peer's connection was closed");
                break;
            }
        }
        self.peer.set_trouble(Trouble::NONE);
        let end = self.query(0, 0x55);
        match end {
            Ok(()) => {}
            Err(error) if error.server().is_some() => {}
            Err(error) => {
                let closed = self.may_close && error.is_closed();
                assert!(closed, "the last query failed: {error}");
            }
        }
        self.check_bounds();
    }

    fn check_honest(&mut self, error: &Error) {
        check_line(error);
        let is_known = error.is_timeout()
            || error.server().is_some()
            || error.protocol().is_some_and(ProtocolError::is_misuse)
            || self.may_close && error.is_closed();
        assert!(is_known, "an honest peer's call failed: {error:?}");
    }

    fn hostile(mut self, calls: &[[u8; 2]], trouble: Trouble) {
        self.peer.set_trouble(trouble);
        for &[call, how] in calls.iter().take(MOST_CALLS) {
            let was_closed = self.conn.is_closed();
            let done = self.call(call, how);
            if let Err(error) = &done {
                check_line(error);
                assert!(!error.is_closed() || self.conn.is_closed(), "{error:?}");
            }
            if was_closed {
                assert!(self.conn.is_closed(), "a closed connection came back");
                let ping = self.conn.ping();
                assert!(ping.is_err_and(|error| error.is_closed()));
            }
        }
        self.check_bounds();
    }

    fn check_bounds(&mut self) {
        let meter = self.conn.meter();
        assert_eq!(meter.bytes_read, self.peer.given() as u64);
        check_meter(&meter, &LIMITS.buffer_config(), MOST_IN_HOMES);
        if !self.conn.is_closed() {
            let _ = self.conn.ping();
        }
        self.conn.release(0);
    }

    fn call(&mut self, call: u8, how: u8) -> Done {
        match call % 16 {
            0..=3 => self.query(call, how),
            4 => self.prepare(how),
            5..=7 => self.execute(call, how),
            8 => self.close_statement(how),
            9 => self.long_data(how),
            10 if call >= 0x80 => self.pipeline(call, how),
            11 if call >= 0x80 => self.exec(call, how),
            // An honest peer knows none of these.
            12 if call >= 0x80 && !self.is_honest => self.bulk(how),
            15 if call >= 0x80 && !self.is_honest => self.load_infile(how),
            13 if call >= 0x80 && !self.is_honest => self.cursor(call, how),
            14 if call >= 0x80 && !self.is_honest => self.transaction(how),
            10 => self.conn.ping(),
            11 => self.conn.use_database("shop"),
            12 => self.reset(),
            13 => {
                self.conn.release(usize::from(how));
                Ok(())
            }
            14 => self.look(),
            _ => self.run_sql(how),
        }
    }

    /// What can be asked without the server.
    fn look(&mut self) -> Done {
        let changes = self.conn.session_changes();
        assert!(changes.iter().count() <= changes.as_encoded().len());
        let _ = (changes.transaction_state(), changes.variable("autocommit"));
        let gtids = self.conn.last_gtids().map_or(0, str::len);
        assert!(gtids <= LIMITS.max_message_bytes);
        let _ = (self.conn.status(), self.conn.server_version());
        assert_eq!(self.conn.connection_id(), 7);
        for statement in &self.statements {
            if let Ok(columns) = self.conn.statement_columns(statement) {
                assert!(columns.len() * 96 + columns.raw_len() <= LIMITS.max_metadata_bytes);
            }
        }
        Ok(())
    }

    fn shape(&mut self, call: u8, how: u8) -> Shape {
        self.token += 1;
        Shape {
            token: self.token,
            results: 1 + (how >> 7),
            rows: how & 0x07,
            columns: 1 + (how >> 3 & 0x03),
            filler: match how >> 5 & 0x03 {
                0 => 0,
                1 => 20,
                2 => 90,
                _ => 250,
            },
            fails: call >> 4 & 0x07 == 7,
        }
    }

    fn query(&mut self, call: u8, how: u8) -> Done {
        let shape = self.shape(call, how);
        let is_borrowed = call & 0xE0 == 0xE0;
        let sql = shape.sql(if is_borrowed { LENT } else { 0 });
        let expected = self.is_honest.then(|| Expected::of_shape(shape));
        let error = match self.conn.query(&sql) {
            Ok(rows) => return read(rows, expected, call, how),
            Err(error) => error,
        };
        self.may_close |= is_borrowed;
        Err(error)
    }

    fn run_sql(&mut self, how: u8) -> Done {
        let shape = self.shape(0, how);
        self.conn.run(shape.sql(0)).map(drop)
    }

    fn prepare(&mut self, how: u8) -> Done {
        let shape = self.shape(how, how & 0x7F);
        let statement = self.conn.prepare(shape.sql(0))?;
        if self.is_honest {
            let parameters = 1 + u16::from(shape.columns & 1);
            assert_eq!(statement.parameters(), parameters);
        }
        self.statements.push(statement);
        Ok(())
    }

    fn execute(&mut self, call: u8, how: u8) -> Done {
        self.token += 1;
        let token = self.token;
        let Some(statement) = self.pick(how) else {
            return Ok(());
        };
        let is_borrowed = call & 0xE0 == 0xE0;
        let long = vec![how; if is_borrowed { LENT } else { usize::from(how) }];
        let mut params = vec![Param::UInt(token), Param::Bytes(&long)];
        params.resize(usize::from(statement.parameters()).min(40), Param::Null);
        let expected = self.is_honest.then_some(Expected::of_token(token));
        let closed = match self.conn.execute(&statement, &params) {
            Ok(rows) => return read(rows, expected, call, how),
            Err(error) => error,
        };
        self.may_close |= is_borrowed && params.len() > 1;
        // A reset whose reply was not waited for forgot it.
        if closed.protocol() == Some(&ProtocolError::StatementClosed) {
            self.statements.retain(|other| *other != statement);
        }
        Err(closed)
    }

    /// Several statements, whose results may be left at any of them.
    fn pipeline(&mut self, call: u8, how: u8) -> Done {
        let count = 1 + u32::from(how & 3);
        let shapes: Vec<_> = (0..count)
            .map(|number| self.shape(call, how.rotate_left(number)))
            .collect();
        let is_honest = self.is_honest;
        let mut pipeline = self.conn.pipeline();
        for shape in &shapes {
            pipeline.query(shape.sql(0))?;
        }
        let mut results = pipeline.send()?;
        for shape in shapes {
            let expected = is_honest.then(|| Expected::of_shape(shape));
            match results.next() {
                Ok(Some(rows)) => read(rows, expected, call, how)?,
                Ok(None) => return Ok(()),
                Err(error) if error.server().is_some() && !error.is_closed() => check_line(&error),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn exec(&mut self, call: u8, how: u8) -> Done {
        let shape = self.shape(0, how & 0x7F);
        let params = [Param::UInt(shape.token), Param::Bytes(b"bytes")];
        let params = &params[..1 + usize::from(shape.columns & 1)];
        let expected = self.is_honest.then_some(Expected::of_token(shape.token));
        let rows = self.conn.exec(shape.sql(0), params)?;
        read(rows, expected, call, how)
    }

    fn cursor(&mut self, call: u8, how: u8) -> Done {
        let Some(statement) = self.pick(how) else {
            return Ok(());
        };
        let params = vec![Param::Null; usize::from(statement.parameters()).min(40)];
        let mut cursor = self.conn.cursor(&statement, &params, u32::from(how))?;
        for _ in 0..3 {
            match cursor.next_batch()? {
                Some(rows) => read(rows, None, call, how)?,
                None => break,
            }
        }
        Ok(())
    }

    /// Rows in batches of one or two.
    fn bulk(&mut self, how: u8) -> Done {
        let mut options = BulkOptions::default();
        options.max_rows = 1 + u64::from(how & 1);
        options.max_packet_bytes = (how & 2 == 0).then_some(1 << 10);
        let mut bulk = self
            .conn
            .bulk_with("INSERT INTO t VALUES (?, ?)", &options)?;
        for row in 0..how >> 6 {
            let text = vec![row; usize::from(how)];
            bulk.push(&[Param::UInt(row.into()), Param::Bytes(&text)])?;
        }
        bulk.finish().map(drop)
    }

    fn load_infile(&mut self, how: u8) -> Done {
        let file = vec![how; usize::from(how) * 16];
        self.conn
            .load_infile("LOAD DATA LOCAL", &file[..])
            .map(drop)
    }

    fn transaction(&mut self, how: u8) -> Done {
        let mut tx = self.conn.transaction()?;
        if how & 1 != 0 {
            tx.run("DO 1")?;
        }
        if how & 2 != 0 {
            let inner = tx.savepoint()?;
            match how >> 2 & 3 {
                0 => inner.commit()?,
                1 => inner.rollback()?,
                _ => drop(inner),
            }
        }
        match how >> 4 & 3 {
            0 => tx.commit(),
            1 => tx.rollback(),
            _ => Ok(()),
        }
    }

    /// One of the statements.
    fn pick(&self, how: u8) -> Option<Statement> {
        let index = usize::from(how) % self.statements.len().max(1);
        self.statements.get(index).cloned()
    }

    fn close_statement(&mut self, how: u8) -> Done {
        let Some(statement) = self.pick(how) else {
            return Ok(());
        };
        self.conn.close_statement(statement.clone())?;
        self.statements.retain(|other| *other != statement);
        let again = self.conn.close_statement(statement);
        assert!(again.is_err(), "closed twice");
        Ok(())
    }

    fn long_data(&mut self, how: u8) -> Done {
        let Some(statement) = self.pick(how) else {
            return Ok(());
        };
        // A second parameter, where there is one: the first is the token.
        let parameter = statement.parameters().saturating_sub(1);
        let long = vec![how; usize::from(how) * 8];
        let sent = self.conn.send_long_data(&statement, parameter, &long[..])?;
        assert_eq!(sent, long.len() as u64);
        Ok(())
    }

    fn reset(&mut self) -> Done {
        self.conn.reset()?;
        self.statements.clear();
        Ok(())
    }
}
