//! What is counted and timed, and the aims.

use tokio::runtime::{Builder, Runtime};

use crate::mysql::{Blob, Case as MySql};
use crate::packets::{forward, read, relay, rows, write};
use crate::proxy::Case as Proxy;
use crate::resp::Replies;
use crate::valkey::Case as Valkey;
use crate::{mysql, proxy, valkey};

/// One thing that is counted and timed.
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    /// One iteration, in words.
    pub(crate) what: &'static str,
    /// Empty where there is none.
    pub(crate) aim: &'static str,
    /// Iterations that reach the steady state, and those that are counted behind them.
    pub(crate) iterations: (u64, u64),
    pub(crate) set_up: fn() -> Box<dyn Body>,
    /// Runs the body in a frame that valgrind's output can be searched for.
    pub(crate) count: fn(&mut dyn Body, u64),
}

/// A workload that is set up.
pub(crate) trait Body {
    /// Does it that many times.
    fn run(&mut self, iterations: u64);

    /// Bytes that the project's own meter says were copied so far; `None` where there is no meter.
    fn metered(&self) -> Option<u64>;
}

/// A runtime of one thread.
pub(crate) fn runtime() -> Runtime {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime")
}

/// The folder of the counted frames in valgrind's output.
pub(crate) const COUNTED: &str = "counted_";

const SMALL: (u64, u64) = (300, 1_000);
/// Whole rounds of the 344 captured statements.
const CAPTURED: (u64, u64) = (344, 1_032);
/// A whole worker now and then copies some hundred bytes, once in a run: by so many iterations that is less than a byte of each.
const WORKER: (u64, u64) = (300, 2_000);
const ROWS: (u64, u64) = (5_000, 10_000);
const MEGABYTES: (u64, u64) = (4, 8);
const HUGE: (u64, u64) = (1, 1);

macro_rules! workloads {
    ($($name:literal $counted:ident, $what:literal, $aim:literal, $iterations:ident, $set_up:expr;)*) => {
        /// All of them, in the order of the table.
        pub(crate) const WORKLOADS: &[Workload] = &[$(Workload {
            name: $name,
            what: $what,
            aim: $aim,
            iterations: $iterations,
            set_up: || Box::new($set_up),
            count: $counted,
        },)*];
        $(
            // A frame of its own: neither inlined, nor merged with the others, nor left by its last call.
            #[inline(never)]
            fn $counted(body: &mut dyn Body, iterations: u64) {
                body.run(iterations);
                std::hint::black_box($name);
            }
        )*
    };
}

workloads! {
    "write-100" counted_write_100, "write one packet of 100 B, copied into the queue; flushed every 100 packets", "15 ns, 0 allocations", SMALL,
        write::Packet::copied(100, 100);
    "write-100-flushed" counted_write_100_flushed, "the same, each packet flushed by itself", "", SMALL,
        write::Packet::copied(100, 1);
    "write-16k-borrowed" counted_write_16k_borrowed, "write one packet of 16 KiB by reference, flushed by itself", "0 copied", SMALL,
        write::Packet::borrowed(16 << 10);
    "write-1m-borrowed" counted_write_1m_borrowed, "write one packet of 1 MiB by reference, flushed by itself", "0 copied", SMALL,
        write::Packet::borrowed(1 << 20);
    "append-1000" counted_append_1000, "append 1,000 parts of 1 to 64 B to a connection's queue; flush", "2 allocations", SMALL,
        write::Append::kept(1000, 1, 64);
    "append-1000-fresh" counted_append_1000_fresh, "the same, to a queue that holds no memory yet", "2 allocations", SMALL,
        write::Append::fresh(1000, 1, 64);
    "append-4m" counted_append_4m, "a statement of 4 MB in parts of 100 to 4,000 B; flush", "each byte copied once", MEGABYTES,
        write::Append::kept(1950, 100, 4000);
    "read-1m-floor" counted_read_1m_floor, "the source's copy of 1 MiB alone, into one place, 16 KiB a read", "", MEGABYTES,
        read::Floor::new(1 << 20, 16 << 10);
    "read-1m-borrowed" counted_read_1m_borrowed, "a text row of one value of 1 MiB, 16 KiB a read, borrowed", "60 us, 0 allocations", MEGABYTES,
        read::Value::new(1 << 20, 16 << 10, read::How::Borrowed);
    "read-1m-frame" counted_read_1m_frame, "the same packet, borrowed from the read buffer", "60 us, 0 allocations", MEGABYTES,
        read::WholeFrame::new(1 << 20, 16 << 10);
    "read-1m-owned" counted_read_1m_owned, "the same row, its value taken out as a vector", "1 allocation", MEGABYTES,
        read::Value::new(1 << 20, 16 << 10, read::How::Owned);
    "read-64m-floor" counted_read_64m_floor, "the source's copy of 64 MiB alone, into 256 KiB, 208 KiB a read", "", HUGE,
        read::Floor::wrapping(64 << 20, 208 << 10, 256 << 10);
    "read-64m-owned" counted_read_64m_owned, "a payload of 64 MiB (4 packets and a tail), owned", "1.00 x allocated", HUGE,
        read::Value::new(64 << 20, 208 << 10, read::How::Owned);
    "read-64m-reused" counted_read_64m_reused, "the same, into a vector that the caller has", "0 allocated", HUGE,
        read::Value::new(64 << 20, 208 << 10, read::How::Reused);
    "read-64m-streamed" counted_read_64m_streamed, "the same, in pieces that are borrowed", "0 allocated", HUGE,
        read::Value::new(64 << 20, 208 << 10, read::How::Streamed);
    "forward-100" counted_forward_100, "read 100 packets of 128 B, write them on by reference; flush", "3 us, 0 allocations", SMALL,
        forward::Forward::new(forward::How::Borrowed);
    "forward-100-copied" counted_forward_100_copied, "the same, each packet copied", "", SMALL,
        forward::Forward::new(forward::How::Copied);
    "relay-1" counted_relay_1, "a query and its reply of one row of 100 B, looked at as they pass", "0 allocations", SMALL,
        relay::Relayed::new(1, 100, 16 << 10);
    "relay-10000" counted_relay_10000, "the same with 10,000 rows, 16 KiB a read", "0 allocations", MEGABYTES,
        relay::Relayed::new(10_000, 100, 16 << 10);
    "relay-10000-128k" counted_relay_10000_128k, "the same, 128 KiB a read", "0 allocations", MEGABYTES,
        relay::Relayed::new(10_000, 100, 128 << 10);
    "relay-10000-uneven" counted_relay_10000_uneven, "the same, of random lengths", "0 allocations", MEGABYTES,
        relay::Relayed::uneven(10_000, 100, 128 << 10);
    "relay-10000-two" counted_relay_10000_two, "the same, of two lengths in random order", "0 allocations", MEGABYTES,
        relay::Relayed::uneven(10_000, 2, 128 << 10);
    "look-select" counted_look_select, "look at a point select of 35 B", "0 allocations", SMALL,
        proxy::Look::select();
    "look-insert-200" counted_look_insert_200, "look at an INSERT of 200 B", "0 allocations", SMALL,
        proxy::Look::insert(200);
    "look-insert-16k" counted_look_insert_16k, "look at an INSERT of 16 KiB", "0 allocations", SMALL,
        proxy::Look::insert(16 << 10);
    "rules-10" counted_rules_10, "look for the rule of a point select among 10 with expressions; none applies", "1 allocation", SMALL,
        proxy::Rules::new(10);
    "rules-100" counted_rules_100, "the same among 100", "1 allocation", SMALL,
        proxy::Rules::new(100);
    "rules-mix-10" counted_rules_mix_10, "the same of each of 344 captured statements in turn among 10", "1 allocation", CAPTURED,
        proxy::RulesOfMix::new(10);
    "rules-mix-100" counted_rules_mix_100, "the same among 100", "1 allocation", CAPTURED,
        proxy::RulesOfMix::new(100);
    "difference-3" counted_difference_3, "write the commands that set three variables", "0 allocations", SMALL,
        proxy::Difference::of_three();
    "proxy-relay" counted_proxy_relay, "a point select through a worker, each client with a connection of its own", "0 allocations", WORKER,
        proxy::Worker::new(Proxy::Relay);
    "proxy-shared" counted_proxy_shared, "the same of 4 clients in turn that share 2 connections", "0 allocations", WORKER,
        proxy::Worker::new(Proxy::Shared);
    "proxy-executed" counted_proxy_executed, "the same, prepared", "0 allocations", WORKER,
        proxy::Worker::new(Proxy::Executed);
    "proxy-executed-kept" counted_proxy_executed_kept, "the same, where each client keeps its connection: nothing is handed over", "0 allocations", WORKER,
        proxy::Worker::new(Proxy::Kept);
    "proxy-relay-large" counted_proxy_relay_large, "proxy-relay with 8 rows of 16 KiB", "0 allocations", SMALL,
        proxy::Worker::new(Proxy::LargeRelay);
    "proxy-shared-large" counted_proxy_shared_large, "proxy-shared with 8 rows of 16 KiB", "0 allocations", SMALL,
        proxy::Worker::new(Proxy::LargeShared);
    "proxy-relay-digests" counted_proxy_relay_digests, "proxy-relay with statements counted by digest", "0 allocations", WORKER,
        proxy::Worker::with_digests(Proxy::Relay, 1_000);
    "proxy-shared-digests" counted_proxy_shared_digests, "proxy-shared with statements counted by digest", "0 allocations", WORKER,
        proxy::Worker::with_digests(Proxy::Shared, 1_000);
    "proxy-executed-digests" counted_proxy_executed_digests, "proxy-executed with statements counted by digest", "0 allocations", WORKER,
        proxy::Worker::with_digests(Proxy::Executed, 1_000);
    "proxy-relay-slow-log" counted_proxy_relay_slow_log, "proxy-relay with a slow log that gets no line", "0 allocations", WORKER,
        proxy::Worker::with_slow_log(Proxy::Relay);
    "proxy-shared-slow-log" counted_proxy_shared_slow_log, "proxy-shared with a slow log that gets no line", "0 allocations", WORKER,
        proxy::Worker::with_slow_log(Proxy::Shared);
    "proxy-executed-slow-log" counted_proxy_executed_slow_log, "proxy-executed with a slow log that gets no line", "0 allocations", WORKER,
        proxy::Worker::with_slow_log(Proxy::Executed);
    "proxy-shared-audit-log" counted_proxy_shared_audit_log, "proxy-shared with an audit log: its lines are handed over, not written", "", WORKER,
        proxy::Worker::with_audit_log(Proxy::Shared);
    "proxy-shared-traces" counted_proxy_shared_traces, "proxy-shared with traces of statements whose clients ask for it: none does", "0 allocations", WORKER,
        proxy::Worker::with_traces(Proxy::Shared, false);
    "proxy-shared-traced" counted_proxy_shared_traced, "proxy-shared with a trace of each statement, which is handed over, not sent", "", WORKER,
        proxy::Worker::with_traces(Proxy::Shared, true);
    "proxy-differing" counted_proxy_differing, "2 clients in turn on one connection, of which one has three variables", "0 allocations", WORKER,
        proxy::Worker::new(Proxy::Differing);
    "proxy-waiting" counted_proxy_waiting, "2 point selects at once on one connection: one waits for the other", "0 allocations", WORKER,
        proxy::Worker::new(Proxy::Waiting);
    "rows-narrow-text" counted_rows_narrow_text, "a text row of an integer and 8 characters, each value looked at", "", ROWS,
        rows::Rows::narrow_text();
    "rows-narrow-binary" counted_rows_narrow_binary, "the same as a binary row", "", ROWS,
        rows::Rows::narrow_binary();
    "rows-15-text" counted_rows_15_text, "a text row of 15 columns", "", ROWS,
        rows::Rows::small_text();
    "rows-15-binary" counted_rows_15_binary, "the same as a binary row", "", ROWS,
        rows::Rows::small_binary();
    "query-15-binary" counted_query_15_binary, "execute, a reply of 1,284 B with one such row, its definitions unchanged", "", SMALL,
        rows::Query::new();
    "resp-statuses" counted_resp_statuses, "scan one `+OK`", "", ROWS,
        Replies::statuses();
    "resp-bulks" counted_resp_bulks, "scan one bulk string of 1 KiB", "", SMALL,
        Replies::bulks();
    "resp-arrays" counted_resp_arrays, "scan one array of 100 short strings and integers", "0 allocations", SMALL,
        Replies::arrays(false);
    "resp-arrays-read" counted_resp_arrays_read, "the same, each element looked at", "0 allocations", SMALL,
        Replies::arrays(true);
    "resp-long-array" counted_resp_long_array, "scan one array of 100,000 such elements, 16 KiB a read", "1,000 times resp-arrays", MEGABYTES,
        Replies::long_array();
    "resp-alternating" counted_resp_alternating, "scan `+OK`, `:1`, `$-1` and `_`", "0 allocations", SMALL,
        Replies::alternating();
    "resp-doubles" counted_resp_doubles, "scan four doubles", "0 allocations", SMALL,
        Replies::doubles();
    "mysql-small-row" counted_mysql_small_row, "execute, one row of 15 columns, all values read", "3,000 instructions", SMALL,
        mysql::Blocking::new(MySql::SmallRow);
    "mysql-exec" counted_mysql_exec, "the same by its text, whose statement is in the cache", "0 allocations", SMALL,
        mysql::Exec::new();
    "mysql-typed-row" counted_mysql_typed_row, "mysql-small-row, each value converted to a type of Rust", "", SMALL,
        mysql::Blocking::new(MySql::TypedRow);
    "mysql-row-derived" counted_mysql_row_derived, "the same, mapped to a struct by the names of its columns", "1.1 x mysql-typed-row", SMALL,
        mysql::Blocking::new(MySql::DerivedRow);
    "mysql-typed-rows" counted_mysql_typed_rows, "mysql-typed-row with 50 rows", "0 allocations", SMALL,
        mysql::Blocking::new(MySql::TypedRows);
    "mysql-rows-derived" counted_mysql_rows_derived, "the same, mapped to structs", "1.1 x mysql-typed-rows", SMALL,
        mysql::Blocking::new(MySql::DerivedRows);
    "mysql-big-row" counted_mysql_big_row, "execute, one row of 18 columns and 105 kB", "3,000 instructions", SMALL,
        mysql::Blocking::new(MySql::BigRow);
    "mysql-big-rows" counted_mysql_big_rows, "execute, 50 such rows", "0 allocations", MEGABYTES,
        mysql::Blocking::new(MySql::BigRows);
    "mysql-parameters" counted_mysql_parameters, "execute with 17 parameters of 71 kB, no row", "3,000 instructions", SMALL,
        mysql::Blocking::new(MySql::Parameters);
    "mysql-ok" counted_mysql_ok, "query as text, no row", "0 allocations", SMALL,
        mysql::Blocking::new(MySql::Ok);
    "mysql-blob-owned" counted_mysql_blob_owned, "query, a value of 4 MiB, owned", "1 allocation", MEGABYTES,
        mysql::Blocking::new(MySql::Blob(Blob::Owned));
    "mysql-blob-reused" counted_mysql_blob_reused, "the same, into a vector that is used again", "0 allocations", MEGABYTES,
        mysql::Blocking::new(MySql::Blob(Blob::Reused));
    "mysql-blob-streamed" counted_mysql_blob_streamed, "the same, in pieces", "0 allocations", MEGABYTES,
        mysql::Blocking::new(MySql::Blob(Blob::Streamed));
    "mysql-tokio-small-row" counted_mysql_tokio_small_row, "mysql-small-row over tokio", "", SMALL,
        mysql::Tokio::new(MySql::SmallRow);
    "mysql-tokio-big-row" counted_mysql_tokio_big_row, "mysql-big-row over tokio", "", SMALL,
        mysql::Tokio::new(MySql::BigRow);
    "mysql-tokio-big-rows" counted_mysql_tokio_big_rows, "mysql-big-rows over tokio", "0 allocations", MEGABYTES,
        mysql::Tokio::new(MySql::BigRows);
    "mysql-tokio-parameters" counted_mysql_tokio_parameters, "mysql-parameters over tokio", "", SMALL,
        mysql::Tokio::new(MySql::Parameters);
    "mysql-pool-checkout" counted_mysql_pool_checkout, "an idle connection from a pool, and back unused; one system call", "0 allocations", SMALL,
        mysql::checkout();
    "mysql-tokio-pool-checkout" counted_mysql_tokio_pool_checkout, "the same over tokio", "0 allocations", SMALL,
        mysql::tokio_checkout();
    "valkey-ping" counted_valkey_ping, "one PING", "0 allocations", SMALL,
        valkey::Blocking::new(Valkey::Ping);
    "valkey-set" counted_valkey_set, "32 SETs of 1 KiB, pipelined", "0 allocations", SMALL,
        valkey::Blocking::new(Valkey::Set);
    "valkey-get" counted_valkey_get, "32 GETs of 1 KiB, pipelined", "0 allocations", SMALL,
        valkey::Blocking::new(Valkey::Get);
    "valkey-get-large" counted_valkey_get_large, "one GET of 4 MiB into a vector that is used again", "0 allocations", MEGABYTES,
        valkey::Blocking::new(Valkey::GetLarge);
    "valkey-pool-checkout" counted_valkey_pool_checkout, "an idle connection from a pool, and back unused; one system call", "0 allocations", SMALL,
        valkey::checkout();
    "valkey-tokio-pool-checkout" counted_valkey_tokio_pool_checkout, "the same over tokio", "0 allocations", SMALL,
        valkey::tokio_checkout();
    "valkey-tokio-set" counted_valkey_tokio_set, "valkey-set over tokio", "0 allocations", SMALL,
        valkey::Tokio::new(Valkey::Set);
    "valkey-tokio-get" counted_valkey_tokio_get, "valkey-get over tokio", "0 allocations", SMALL,
        valkey::Tokio::new(Valkey::Get);
    "valkey-shared-get" counted_valkey_shared_get, "32 tasks get 1 KiB each from a shared handle; the server's tasks included", "", SMALL,
        valkey::Shared::new();
    "valkey-cached-get" counted_valkey_cached_get, "one GET of 1 KiB that is cached", "0 allocations", SMALL,
        valkey::Cached::new();
}
