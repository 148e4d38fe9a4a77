//! What once went wrong: each of these failed before it was fixed.

use std::io::{self, ErrorKind, Read, Write};
use std::ops::Range;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::pin::Pin;
use std::process::Command;
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll};
use std::thread;
use std::time::{Duration, Instant};

use ::tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};
use ::tokio::net::UnixSocket;
use ::tokio::runtime::{Builder, Runtime};
use onecopy_mysql::{Config, Error, Param, ProtocolError, aio, blocking};
use onecopy_net::Endpoint;
use onecopy_testkit::script::{
    Delivery, Fault, FaultKind, Place, Player, Script, Talk, Trial, lenenc, noise, text_row,
};

use crate::large::{COLUMN, OK, ROWS_END};
use crate::login::{Style, login, login_multi};
use crate::talk::{config, multi_statements, small_limits, within};

/// Deadline of each call over a network that falls silent; the tokio clock runs ahead to it, the blocking driver is told
/// of the silence at once.
const DEADLINE: Duration = Duration::from_secs(60);

/// Plays a script up to its fault over both drivers, in clear text and over TLS, all of which the body has to see through: `player.fix()` ends the
/// silence. `wait!` waits on either API.
macro_rules! over_both {
    ($config:expr, $script:expr, $fault:expr, |$conn:ident, $player:ident, $wait:ident| $body:block) => {{
        let script = $script;
        let over_tls = script.over_tls();
        let config = within($config, Some(DEADLINE));
        for script in [Some(script), over_tls].into_iter().flatten() {
            let script = Arc::new(script);
            {
                use $crate::talk::blocking_wait as $wait;

                let $player = Player::new(Arc::clone(&script), Delivery::Whole, $fault);
                let stream = $player.blocking_stream();
                let mut connection = blocking::Connection::from_stream(&config, stream).unwrap();
                let $conn = &mut connection;
                $body
                assert_eq!($player.finished(), Ok(()));
            }
            paused().block_on(async {
                use $crate::talk::tokio_wait as $wait;

                let $player = Player::new(Arc::clone(&script), Delivery::Whole, $fault);
                let stream = $player.tokio_stream();
                let mut connection = aio::Connection::from_stream(&config, stream).await.unwrap();
                let $conn = &mut connection;
                $body
                assert_eq!($player.finished(), Ok(()));
            });
        }
    }};
}

/// A runtime whose clock runs ahead while nothing else can happen.
fn paused() -> Runtime {
    Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
}

fn silence(place: Place) -> Option<Fault> {
    let kind = FaultKind::Silence;
    Some(Fault { place, kind })
}

/// A query, and its reply of one column, these rows and this end.
fn query(rows: &[&[u8]], end: &[u8]) -> Script {
    let mut reply: Vec<&[u8]> = vec![&[1], COLUMN];
    reply.extend(rows);
    reply.push(end);
    login(Style::DeprecateEof)
        .command(b"\x03SELECT")
        .server_packets(1, &reply)
}

fn ping(script: Script) -> Script {
    script.command(b"\x0e").server_packets(1, &[OK])
}

/// 40 MiB, which the headers of three packets are in.
fn three_packets() -> Vec<u8> {
    [noise(32 << 20), noise(8 << 20)].concat()
}

#[test]
fn a_value_of_three_packets_is_read_by_one_slice_without_their_headers() {
    let talk = talk!(|conn, log, wait, face| {
        {
            let mut rows = wait!(conn.query("SELECT"))?;
            let mut row = wait!(rows.next_streaming())?.unwrap();
            let column = wait!(row.next_column())?.unwrap();
            let value = wait!(face::read(column, 40 << 20))?;
            assert!(value == crate::regressions::three_packets(), "other bytes");
            log.line(format!("{} bytes", value.len()));
        }
        wait!(conn.ping())
    });
    let row = text_row(&[Some(&three_packets())]);
    let script = ping(query(&[&row], ROWS_END));
    Trial::new(&script, talk, &["41943040 bytes"]).whole();
}

/// A piece of a value, large enough to be borrowed to the write queue.
const HALF: usize = 20 << 10;

/// Gives so many pieces, then nothing more: an error, or no end to the waiting.
struct Half {
    pieces: usize,
    fails: bool,
}

impl Read for Half {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.pieces == 0 {
            return Err(ErrorKind::BrokenPipe.into());
        }
        self.pieces -= 1;
        into[..HALF].copy_from_slice(noise(HALF));
        Ok(HALF)
    }
}

impl AsyncRead for Half {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.pieces == 0 && !this.fails {
            return Poll::Pending;
        }
        let n = Read::read(this, into.initialize_unfilled())?;
        into.advance(n);
        Poll::Ready(Ok(()))
    }
}

/// Half of a value, so many commands to forget it, another value, the execution; and how many bytes the client and the
/// server have sent before the first of those commands.
fn half_sent(forgotten: usize) -> (Script, usize, usize) {
    let script = login(Style::DeprecateEof)
        .command(b"\x16INSERT")
        .server_packets(1, &[&[0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0], COLUMN])
        .command(&[b"\x18\x01\0\0\0\0\0", noise(HALF)].concat());
    // TLS takes what the network does not: nothing is half sent there.
    let mut script = script.in_clear_text();
    let (sent, confirmed) = (script.client_bytes().len(), script.server_bytes().len());
    for _ in 0..forgotten {
        script = script.command(b"\x1a\x01\0\0\0").server_packets(1, &[OK]);
    }
    let script = script
        .command(b"\x18\x01\0\0\0\0\0value")
        .command(b"\x17\x01\0\0\0\0\x01\0\0\0\0\x01\xfb\0")
        .server_packets(1, &[OK]);
    (script, sent, confirmed)
}

/// No byte of the command to forget leaves, after a second piece of which none left or without one; then a part of it;
/// then all of it, and the reply does not come. Where something left it is sent again: a reply that nobody waited for
/// confirms nothing.
#[test]
fn half_sent_long_data_is_forgotten_although_the_first_try_timed_out() {
    let (_, sent, confirmed) = half_sent(1);
    for (place, pieces, tries) in [
        (Place::Client(sent), 2, 1),
        (Place::Client(sent), 1, 1),
        (Place::Client(sent + 1), 1, 2),
        (Place::Client(sent + 8), 1, 2),
        (Place::Server(confirmed + 1), 1, 2),
    ] {
        let (script, _, _) = half_sent(tries);
        let fault = silence(place);
        over_both!(config(), script, fault, |conn, player, wait| {
            let statement = wait!(conn.prepare("INSERT")).unwrap();
            let half = Half {
                pieces,
                fails: true,
            };
            let error = wait!(conn.send_long_data(&statement, 0, half)).unwrap_err();
            assert_eq!(error.is_timeout(), pieces == 2, "{error:?}");
            assert!(!error.is_closed(), "{error:?}");
            let error = wait!(conn.ping()).unwrap_err();
            assert!(error.is_timeout(), "{error:?}");
            player.repair();
            wait!(conn.send_long_data(&statement, 0, &b"value"[..])).unwrap();
            let rows = wait!(conn.execute(&statement, &[Param::LongData]));
            wait!(rows.unwrap().finish()).unwrap();
        });
    }
}

#[test]
fn half_sent_long_data_is_forgotten_although_the_first_try_was_dropped() {
    const SHORT: Duration = Duration::from_secs(1);
    let (script, sent, _) = half_sent(1);
    let script = Arc::new(script);
    for pieces in [1, 2] {
        let fault = silence(Place::Client(sent));
        let player = Player::new(Arc::clone(&script), Delivery::Whole, fault);
        paused().block_on(async {
            let stream = player.tokio_stream();
            let mut conn = aio::Connection::from_stream(&config(), stream)
                .await
                .unwrap();
            let statement = conn.prepare("INSERT").await.unwrap();
            let half = Half {
                pieces,
                fails: false,
            };
            let sending = conn.send_long_data(&statement, 0, half);
            assert!(::tokio::time::timeout(SHORT, sending).await.is_err());
            for _ in 0..2 {
                assert!(::tokio::time::timeout(SHORT, conn.ping()).await.is_err());
            }
            player.repair();
            conn.send_long_data(&statement, 0, &b"value"[..])
                .await
                .unwrap();
            let rows = conn.execute(&statement, &[Param::LongData]).await;
            rows.unwrap().finish().await.unwrap();
        });
        assert_eq!(player.finished(), Ok(()));
    }
}

/// A prepare, a ping before which its statement is closed, and another ping; and all places within its reply.
fn prepared_late() -> (Script, Range<usize>) {
    let script = login(Style::DeprecateEof).command(b"\x16SELECT");
    let begin = script.server_bytes().len();
    let script = script.server_packets(1, &[&[0, 7, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0], COLUMN, COLUMN]);
    let end = script.server_bytes().len();
    let script = ping(ping(script.command(b"\x19\x07\0\0\0")));
    (script, begin + 1..end)
}

#[test]
fn a_statement_whose_prepare_timed_out_is_closed_with_the_next_command() {
    let (script, places) = prepared_late();
    for at in places {
        let fault = silence(Place::Server(at));
        over_both!(config(), script.clone(), fault, |conn, player, wait| {
            let error = wait!(conn.prepare("SELECT")).unwrap_err();
            assert!(error.is_timeout(), "at {at}: {error:?}");
            player.repair();
            wait!(conn.ping()).unwrap();
            wait!(conn.ping()).unwrap();
        });
    }
}

#[test]
fn a_statement_whose_prepare_was_dropped_is_closed_with_the_next_command() {
    let (script, places) = prepared_late();
    let scripts = [script.over_tls().map(Arc::new), Some(Arc::new(script))];
    for (script, at) in scripts.iter().flatten().flat_map(|script| {
        let places = places.clone();
        places.map(move |at| (script, at))
    }) {
        let fault = silence(Place::Server(at));
        let player = Player::new(Arc::clone(script), Delivery::Whole, fault);
        paused().block_on(async {
            let stream = player.tokio_stream();
            let mut conn = aio::Connection::from_stream(&config(), stream)
                .await
                .unwrap();
            let preparing = conn.prepare("SELECT");
            let dropped = ::tokio::time::timeout(Duration::from_secs(1), preparing).await;
            assert!(dropped.is_err(), "at {at}");
            player.repair();
            conn.ping().await.unwrap();
            conn.ping().await.unwrap();
        });
        assert_eq!(player.finished(), Ok(()), "at {at}");
    }
}

#[test]
fn an_error_says_that_a_change_of_user_that_timed_out_has_closed_the_connection() {
    let script = Arc::new(crate::change_user::begun());
    let fault = silence(Place::Server(script.server_bytes().len()));
    let config = within(config(), Some(DEADLINE));
    let player = || Player::new(Arc::clone(&script), Delivery::Whole, fault);
    let says_so = |error: Error, is_closed: bool| {
        assert!(
            error.is_timeout() && error.is_closed() && is_closed,
            "{error:?}"
        );
    };
    let mut conn = blocking::Connection::from_stream(&config, player().blocking_stream()).unwrap();
    let error = conn
        .change_user("bob", "babbage", Some("shop"))
        .unwrap_err();
    says_so(error, conn.is_closed());
    paused().block_on(async {
        let stream = player().tokio_stream();
        let mut conn = aio::Connection::from_stream(&config, stream).await.unwrap();
        let change = conn.change_user("bob", "babbage", Some("shop"));
        says_so(change.await.unwrap_err(), conn.is_closed());
    });
}

/// Read straight from the stream and by way of the read buffer.
#[test]
fn a_tokio_reader_of_a_value_that_falls_silent_ends_at_the_deadline_and_can_go_on() {
    const VALUE: usize = 1 << 20;
    let script = query(&[&text_row(&[Some(noise(VALUE))])], ROWS_END);
    let fault = silence(Place::Server(script.server_bytes().len() - VALUE / 2));
    let script = Arc::new(ping(script));
    for step in [None, Some(100)] {
        let player = Player::new(Arc::clone(&script), Delivery::Whole, fault);
        let started = Instant::now();
        paused().block_on(async {
            let config = within(config(), Some(DEADLINE));
            let mut conn = aio::Connection::from_stream(&config, player.tokio_stream())
                .await
                .unwrap();
            {
                let mut rows = conn.query("SELECT").await.unwrap();
                let mut row = rows.next_streaming().await.unwrap().unwrap();
                let mut column = row.next_column().await.unwrap().unwrap();
                let mut value = Vec::new();
                let begin = ::tokio::time::Instant::now();
                let error = read_to_end(&mut column, step, &mut value)
                    .await
                    .unwrap_err();
                let took = begin.elapsed();
                assert_eq!(error.kind(), ErrorKind::TimedOut);
                // The deadline is set by the system's clock, which the runtime's paused clock does not follow; the runtime's
                // timer has steps of a millisecond.
                let latest = DEADLINE + started.elapsed() + Duration::from_millis(2);
                let within = DEADLINE..=latest;
                assert!(within.contains(&took), "{took:?}");
                assert!(!value.is_empty() && value.len() < VALUE);
                player.repair();
                read_to_end(&mut column, step, &mut value).await.unwrap();
                assert!(value == noise(VALUE), "other bytes");
            }
            conn.ping().await.unwrap();
        });
        assert_eq!(player.finished(), Ok(()));
    }
}

async fn read_to_end(
    column: &mut aio::ColumnReader<'_>,
    step: Option<usize>,
    value: &mut Vec<u8>,
) -> io::Result<()> {
    let Some(step) = step else {
        return column.read_to_end(value).await.map(drop);
    };
    let mut piece = vec![0; step];
    loop {
        match column.read(&mut piece).await? {
            0 => return Ok(()),
            n => value.extend_from_slice(&piece[..n]),
        }
    }
}

/// The deadline of what is measured by the clock on the wall, and how late it may be.
const SHORT: Duration = Duration::from_millis(200);
const LATE: Duration = Duration::from_secs(1);

/// A busy machine may be late once: one of three tries has to be in time.
fn in_time(mut took: impl FnMut() -> Duration) {
    let tries = [(); 3].map(|()| {
        let took = took();
        assert!(took >= SHORT, "early, after {took:?}");
        took
    });
    assert!(
        tries.iter().any(|took| *took <= SHORT + LATE),
        "late each time: {tries:?}"
    );
}

fn real() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// Logs one client in, then sends one result of a query after the other, for 2 seconds.
fn send_results(mut stream: UnixStream) -> io::Result<()> {
    let greeting = login_multi(Style::DeprecateEof);
    let greeting = greeting.server_bytes();
    let (greeting, ok) = greeting.split_at(greeting.len() - 4 - OK.len());
    stream.write_all(greeting)?;
    read_packet(&mut stream)?;
    stream.write_all(ok)?;
    read_packet(&mut stream)?;
    for sequence in 1..=100 {
        stream.write_all(&[7, 0, 0, sequence, 0, 0, 0, 0x0A, 0, 0, 0])?;
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

fn read_packet(stream: &mut UnixStream) -> io::Result<()> {
    let mut header = [0; 4];
    stream.read_exact(&mut header)?;
    let [a, b, c, _] = header;
    let mut body = vec![0; usize::from(a) | usize::from(b) << 8 | usize::from(c) << 16];
    stream.read_exact(&mut body)
}

/// Gives how long the ping took.
fn ping_behind_results() -> Talk {
    talk!(multi_statements(), |conn, log, wait, face| {
        drop(wait!(conn.query("SELECT"))?);
        let begin = std::time::Instant::now();
        let error = wait!(conn.ping()).unwrap_err();
        log.line(begin.elapsed().as_micros().to_string());
        assert!(error.is_timeout(), "{error:?}");
        Ok(())
    })
}

fn took(lines: &[String]) -> Duration {
    Duration::from_micros(lines[0].parse().unwrap())
}

#[test]
fn results_for_ever_that_were_dropped_do_not_stretch_the_deadline_of_the_next_call() {
    let client = || {
        let (client, server) = UnixStream::pair().unwrap();
        // Its end is the client's going away.
        thread::spawn(move || send_results(server));
        client
    };
    let talk = ping_behind_results();
    in_time(|| took(&(talk.blocking)(client().into(), Some(SHORT))));
    let runtime = real();
    in_time(|| {
        let client = client();
        client.set_nonblocking(true).unwrap();
        took(&runtime.block_on(async {
            let client = ::tokio::net::UnixStream::from_std(client).unwrap();
            (talk.tokio)(client.into(), Some(SHORT)).await
        }))
    });
}

/// A socket's path, which goes with it.
struct Socket(PathBuf);

impl Drop for Socket {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn connecting_to_a_unix_socket_whose_backlog_is_full_ends_at_the_deadline() {
    let name = format!("onecopy-full-{}.sock", std::process::id());
    let socket = Socket(std::env::temp_dir().join(name));
    let path = &socket.0;
    let _ = std::fs::remove_file(path);
    let runtime = real();
    let full = runtime.block_on(async {
        let server = UnixSocket::new_stream().unwrap();
        server.bind(path).unwrap();
        let listener = server.listen(1).unwrap();
        let mut waiting = Vec::new();
        while let Ok(stream) = ::tokio::net::UnixStream::connect(path).await {
            waiting.push(stream);
        }
        (listener, waiting)
    });
    let mut config = within(config(), Some(SHORT));
    config.endpoint = Endpoint::Unix(path.clone());
    let ended = |error: Option<Error>, begin: Instant| {
        let took = begin.elapsed();
        let error = error.expect("nobody accepts");
        assert!(error.is_timeout(), "{error:?}");
        took
    };
    in_time(|| {
        let (sender, receiver) = mpsc::channel();
        let (config, now) = (config.clone(), Instant::now());
        // On a thread of its own: hanging is what it did.
        thread::spawn(move || {
            let error = blocking::Connection::connect_with(&config).err();
            sender.send(error)
        });
        let error = receiver.recv_timeout(SHORT * 10);
        ended(error.expect("connecting hangs"), now)
    });
    in_time(|| {
        let now = Instant::now();
        let connecting = aio::Connection::connect_with(&config);
        ended(runtime.block_on(connecting).err(), now)
    });
    drop(full);
}

#[test]
fn release_gives_back_a_large_row_whose_rows_were_dropped() {
    let row = text_row(&[Some(noise(32 << 20))]);
    let script = ping(query(&[&row], ROWS_END));
    over_both!(config(), script, None, |conn, _player, wait| {
        {
            let mut rows = wait!(conn.query("SELECT")).unwrap();
            let row = wait!(rows.next()).unwrap().unwrap();
            assert_eq!(row.bytes(0).unwrap().unwrap().len(), 32 << 20);
        }
        conn.release(0);
        let kept = conn.meter().capacity_now;
        assert!(kept <= 1 << 20, "{kept} bytes");
        wait!(conn.ping()).unwrap();
    });
}

/// Tells the process that it is to measure the text of an OK packet.
const MEASURES: &str = "ONECOPY_MEASURE_INFO";

/// Resident memory is the kernel's (VmRSS), of a process of its own, which is this test binary again. The allocator is
/// glibc's, told to give each allocation from 128 KiB on back to the kernel when it is freed.
#[test]
fn the_long_text_of_an_ok_packet_is_not_kept_behind_the_next_command() {
    let this = "regressions::measures_the_long_text_of_an_ok_packet";
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", this, "--nocapture"])
        .env(MEASURES, "1")
        .env("MALLOC_MMAP_THRESHOLD_", "131072")
        .output()
        .unwrap();
    let shown = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && shown.contains("measured"),
        "{shown}{errors}"
    );
}

#[test]
fn measures_the_long_text_of_an_ok_packet() {
    const TEXT: usize = 0xFF_FF00;
    const LEFT: usize = 1 << 20;
    if std::env::var_os(MEASURES).is_none() {
        return;
    }
    let end = long_ok(0x00, TEXT);
    let script = login(Style::DeprecateEof)
        .command(b"\x03DO 1")
        .server_packets(1, &[&end]);
    // Over TLS the server's end, which is in this process too, would be measured.
    let script = ping(ping(script)).in_clear_text();
    over_both!(config(), script, None, |conn, _player, wait| {
        let before = resident();
        {
            let rows = wait!(conn.query("DO 1")).unwrap();
            assert_eq!(rows.info().len(), TEXT);
        }
        let with_text = resident();
        assert!(with_text >= before + TEXT - LEFT, "{before}, {with_text}");
        wait!(conn.ping()).unwrap();
        let after = resident();
        assert!(after <= before + LEFT, "{before}, {with_text}, {after}");
        wait!(conn.ping()).unwrap();
    });
    println!("measured");
}

fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .unwrap();
    let kib = line.trim().trim_end_matches(" kB").parse::<usize>();
    kib.unwrap() << 10
}

/// An OK packet with this header and a text of `len` bytes.
fn long_ok(header: u8, len: usize) -> Vec<u8> {
    let mut ok = vec![header, 0, 0, 2, 0, 0, 0];
    ok.extend(lenenc(len));
    ok.resize(ok.len() + len, b'i');
    ok
}

#[test]
fn rows_are_over_with_an_ok_packet_that_is_longer_than_a_contiguous_row() {
    let borrowed = talk!(|conn, log, wait, face| {
        {
            let mut rows = wait!(conn.query("SELECT"))?;
            while let Some(row) = wait!(rows.next())? {
                log.row(&row)?;
            }
            log.line(format!("info of {} bytes", rows.info().len()));
        }
        wait!(conn.ping())
    });
    let streamed = talk!(|conn, log, wait, face| {
        {
            let mut rows = wait!(conn.query("SELECT"))?;
            while let Some(mut row) = wait!(rows.next_streaming())? {
                let column = wait!(row.next_column())?.unwrap();
                log.bytes(&wait!(face::read(column, 64))?);
            }
            log.line(format!("info of {} bytes", rows.info().len()));
        }
        wait!(conn.ping())
    });
    let dropped = talk!(|conn, log, wait, face| {
        {
            let mut rows = wait!(conn.query("SELECT"))?;
            log.row(&wait!(rows.next())?.unwrap())?;
        }
        wait!(conn.ping())
    });
    let row = text_row(&[Some(b"small")]);
    for len in [256 << 10, 300_000, 2 << 20] {
        let script = ping(query(&[&row], &long_ok(0xFE, len)));
        let info = format!("info of {len} bytes");
        for talk in [borrowed, streamed] {
            Trial::new(&script, talk, &["small", &info]).whole();
        }
        Trial::new(&script, dropped, &["small"]).whole();
    }
}

#[test]
fn a_reset_that_the_server_refuses_leaves_the_statements_usable() {
    let talk = talk!(|conn, log, wait, face| {
        let statement = wait!(conn.prepare("DO 1"))?;
        log.server(wait!(conn.reset()))?;
        log.done(wait!(wait!(conn.execute(&statement, &[]))?.finish())?);
        Ok(())
    });
    let script = login(Style::DeprecateEof)
        .command(b"\x16DO 1")
        .server_packets(1, &[&[0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]])
        .command(b"\x1f")
        .server_packets(1, &[b"\xff\x17\x04#08S01Unknown command"])
        .command(b"\x17\x07\0\0\0\0\x01\0\0\0")
        .server_packets(1, &[OK]);
    let seen = [
        "server error 1047 (08S01): Unknown command",
        "done: 0 rows, id 0, 0 warnings",
    ];
    Trial::new(&script, talk, &seen).run();
}

#[test]
fn an_err_or_an_eof_among_the_definitions_of_parameters_is_no_definition() {
    let talk = talk!(|conn, _log, wait, face| {
        wait!(conn.prepare("SELECT"))?;
        Ok(())
    });
    let prepared: &[u8] = &[0, 7, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0];
    for style in [Style::Eof, Style::DeprecateEof] {
        for wrong in [&b"\xff\x15\x04#28000no"[..], b"\xfe\0\0\x02\0", b"\xfe"] {
            for definitions in [&[wrong][..], &[COLUMN, wrong]] {
                let reply = [&[prepared][..], definitions].concat();
                let script = login(style)
                    .command(b"\x16SELECT")
                    .server_packets(1, &reply);
                let seen = Trial::see(&script, talk).pop().unwrap();
                assert!(
                    seen.starts_with("Unexpected") && seen.contains("the reply to prepare"),
                    "{wrong:?}: {seen}"
                );
            }
        }
    }
}

#[test]
fn a_borrowed_row_that_timed_out_is_not_streamed_but_borrowed_once_it_is_there() {
    let row = text_row(&[Some(noise(300))]);
    let script = query(&[&row], ROWS_END);
    let fault = silence(Place::Server(script.server_bytes().len() - 100));
    over_both!(small_limits(), ping(script), fault, |conn, player, wait| {
        {
            let mut rows = wait!(conn.query("SELECT")).unwrap();
            let error = wait!(rows.next()).map(drop).unwrap_err();
            assert!(error.is_timeout(), "{error:?}");
            let refused = wait!(rows.next_streaming()).map(drop).unwrap_err();
            assert_eq!(refused.protocol(), Some(&ProtocolError::RowUnderWay));
            assert!(!refused.is_closed());
            player.repair();
            let row = wait!(rows.next()).unwrap().unwrap();
            assert_eq!(row.bytes(0).unwrap(), Some(noise(300)));
            assert!(wait!(rows.next_streaming()).unwrap().is_none());
        }
        wait!(conn.ping()).unwrap();
    });
}

/// Neither as text nor as numbers; while the row is borrowed, after it, and after an OK packet.
#[test]
fn debug_of_a_connection_is_short_and_shows_nothing_of_the_rows() {
    fn check(shown: &str) {
        assert!(shown.len() <= 8 << 10, "{} bytes: {shown}", shown.len());
        for secret in ["hunter2", "104, 117, 110", "68, 75, 6e", "68756e"] {
            assert!(!shown.contains(secret), "{secret} in {shown}");
        }
    }
    fn limits() -> Config {
        let mut config = config();
        config.limits.large_value_bytes = 1 << 10;
        config
    }
    let large = b"hunter2".repeat(100_000);
    let rows = [
        text_row(&[Some(&large)]),
        text_row(&[Some(b"hunter2")]),
        text_row(&[Some(&large)]),
    ];
    let rows: Vec<_> = rows.iter().map(|row| &row[..]).collect();
    let script = ping(query(&rows, ROWS_END));
    over_both!(limits(), script, None, |conn, _player, wait| {
        {
            let mut rows = wait!(conn.query("SELECT")).unwrap();
            for _ in 0..2 {
                wait!(rows.next()).unwrap().unwrap();
                check(&format!("{rows:?}"));
            }
        }
        check(&format!("{conn:?}"));
        wait!(conn.ping()).unwrap();
        check(&format!("{conn:#?}"));
    });
}
