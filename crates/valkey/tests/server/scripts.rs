//! Scripts by their digest, and libraries of functions.

use onecopy_testkit::valkey::Server;
use onecopy_valkey::command::{scripting, string};
use onecopy_valkey::{Executed, Library, Script, ScriptCall};

use super::Connection;
use crate::common::{sample, with_option};

/// The cache of scripts is the server's: it is emptied here, so this one is nobody else's.
fn server() -> Server {
    Server::start().unwrap()
}

fn urls(server: &Server) -> [String; 2] {
    let url = server.url();
    [with_option(&url, "protocol=2"), url]
}

fn sum() -> Script {
    Script::new("return redis.call('INCRBY', KEYS[1], ARGV[1])")
}

/// How often the server was asked for a command, as INFO says.
macro_rules! calls {
    ($conn:expr, $command:literal) => {{
        let stats = wait!($conn.run(&onecopy_valkey::raw("INFO").arg("commandstats"))).unwrap();
        let stats = stats.as_str().unwrap().to_owned();
        let line = concat!("cmdstat_", $command, ":calls=");
        let at = stats.find(line).map(|at| &stats[at + line.len()..]);
        let number = at.and_then(|rest| rest.split(',').next());
        number.map_or(0, |number| number.parse::<u64>().unwrap())
    }};
}

#[tokio::test]
async fn a_script_is_loaded_where_the_server_does_not_know_it() {
    let server = server();
    for url in urls(&server) {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        wait!(conn.run(&scripting::script_flush())).unwrap();
        wait!(conn.run(&string::set("sum", 0))).unwrap();
        let script = sum();
        let before = calls!(conn, "script|load");
        for round in 1..=3 {
            let call = script.call().keys("sum").args(5);
            let reply = wait!(conn.run_script(&call)).unwrap();
            assert_eq!(reply.as_i64(), Some(5 * round));
        }
        wait!(conn.run(&scripting::script_flush())).unwrap();
        let call = script.call().keys("sum").args(1);
        let reply = wait!(conn.run_script(&call)).unwrap();
        assert_eq!(reply.as_i64(), Some(16), "{url}");
        assert_eq!(calls!(conn, "script|load") - before, 2);
        // Sent by itself it says so.
        wait!(conn.run(&scripting::script_flush())).unwrap();
        let error = wait!(conn.run(&call)).unwrap_err();
        assert!(error.is_no_script() && !error.is_closed(), "{error}");
        let read_only = Script::new("return redis.call('GET', KEYS[1])");
        let call = read_only.call().keys("sum").read_only();
        assert_eq!(wait!(conn.run_script(&call)).unwrap().bytes(), b"16");
        let writes = wait!(conn.run_script(&script.call().keys("sum").args(1).read_only()));
        assert!(writes.unwrap_err().server().is_some());
    }
}

#[tokio::test]
async fn a_script_that_does_not_compile_is_an_error_and_nothing_is_left_of_it() {
    let server = server();
    for url in urls(&server) {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        let script = Script::new("this is no Lua");
        for _ in 0..2 {
            let error = wait!(conn.run_script(&script.call())).unwrap_err();
            assert!(error.server().is_some() && !error.is_no_script(), "{error}");
        }
        wait!(conn.run(&string::set("key", "own"))).unwrap();
        let own = wait!(conn.run(&string::get("key"))).unwrap();
        assert_eq!(own, Some(&b"own"[..]));
    }
}

#[tokio::test]
async fn a_large_script_and_large_arguments_go_by_reference() {
    let server = server();
    for url in urls(&server) {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        let script = Script::new(format!("--{}\nreturn ARGV[1]", "x".repeat(100_000)));
        let large = sample(200_000);
        for _ in 0..2 {
            let call = script.call().args(&large);
            assert!(wait!(conn.run_script(&call)).unwrap().bytes() == large);
        }
    }
}

#[tokio::test]
async fn pipelines_carry_the_code_of_each_script_once() {
    let server = server();
    for url in urls(&server) {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        wait!(conn.run(&scripting::script_flush())).unwrap();
        wait!(conn.run(&string::set("sum", 0))).unwrap();
        let (script, other) = (sum(), Script::new("return 'other'"));
        let before = (calls!(conn, "eval"), calls!(conn, "evalsha"));
        let mut pipeline = conn.pipeline().unwrap();
        for _ in 0..3 {
            let call = script.call().keys("sum").args(2);
            pipeline.push_script(&call).unwrap();
            pipeline.push_script(&other.call()).unwrap();
        }
        pipeline.push(&string::get("sum")).unwrap();
        assert_eq!(pipeline.len(), 7);
        let mut replies = pipeline.replies();
        for round in 1..=3 {
            let reply = wait!(replies.next::<ScriptCall<'_>>()).unwrap().unwrap();
            assert_eq!(reply.as_i64(), Some(2 * round));
            let reply = wait!(replies.next::<ScriptCall<'_>>()).unwrap().unwrap();
            assert_eq!(reply.bytes(), b"other");
        }
        let sum = wait!(replies.next::<string::Get<'_>>()).unwrap().unwrap();
        assert_eq!(sum, Some(&b"6"[..]));
        let after = (calls!(conn, "eval"), calls!(conn, "evalsha"));
        assert_eq!((after.0 - before.0, after.1 - before.1), (2, 4), "{url}");
    }
}

#[tokio::test]
async fn a_cache_that_is_emptied_in_the_middle_of_a_pipeline_is_a_typed_error() {
    let server = server();
    for url in urls(&server) {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        wait!(conn.run(&string::set("sum", 0))).unwrap();
        let script = sum();
        let call = script.call().keys("sum").args(2);
        let mut pipeline = conn.pipeline().unwrap();
        pipeline.push_script(&call).unwrap();
        pipeline.push(&scripting::script_flush()).unwrap();
        pipeline.push_script(&call).unwrap();
        let mut replies = pipeline.replies();
        wait!(replies.next::<ScriptCall<'_>>()).unwrap();
        wait!(replies.next::<scripting::ScriptFlush>()).unwrap();
        let error = wait!(replies.next::<ScriptCall<'_>>()).unwrap_err();
        assert!(error.is_no_script(), "{error}");
        let reply = wait!(conn.run_script(&call)).unwrap();
        assert_eq!(reply.as_i64(), Some(4), "the failed call did nothing");
    }
}

#[tokio::test]
async fn transactions_carry_the_code_of_each_script_once() {
    let server = server();
    for url in urls(&server) {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        wait!(conn.run(&scripting::script_flush())).unwrap();
        wait!(conn.run(&string::set("sum", 0))).unwrap();
        let script = sum();
        for round in 0..2 {
            let mut transaction = conn.transaction().unwrap();
            for _ in 0..3 {
                let call = script.call().keys("sum").args(1);
                transaction.push_script(&call).unwrap();
            }
            let Executed::Done(mut results) = wait!(transaction.exec()).unwrap() else {
                panic!("aborted");
            };
            for step in 1..=3 {
                let result = results.next::<ScriptCall<'_>>().unwrap().unwrap();
                assert_eq!(result.as_i64(), Some(3 * round + step));
            }
            wait!(conn.run(&scripting::script_flush())).unwrap();
        }
    }
}

#[tokio::test]
async fn a_library_is_loaded_if_its_code_has_changed() {
    let server = server();
    for url in urls(&server) {
        let mut conn = wait!(Connection::connect(&url)).unwrap();
        wait!(conn.run(&scripting::function_flush())).unwrap();
        let library = |version: u32| {
            let code = format!(
                "#!lua name=lib\nredis.register_function('version', function() return {version} end)"
            );
            Library::new(code).unwrap()
        };
        for version in 1..=2 {
            assert!(wait!(conn.load_library(&library(version))).unwrap());
            assert!(!wait!(conn.load_library(&library(version))).unwrap());
            let reply = wait!(conn.run(&scripting::fcall("version"))).unwrap();
            assert_eq!(reply.as_i64(), Some(i64::from(version)), "{url}");
        }
        let broken = Library::new("#!lua name=lib\nthis is no Lua").unwrap();
        let error = wait!(conn.load_library(&broken)).unwrap_err();
        assert!(error.server().is_some(), "{error}");
        let reply = wait!(conn.run(&scripting::fcall("version"))).unwrap();
        assert_eq!(reply.as_i64(), Some(2), "the old one stays");
    }
}
