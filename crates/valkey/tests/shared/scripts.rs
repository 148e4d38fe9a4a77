//! Scripts on the shared connection.

use onecopy_testkit::valkey::Server;
use onecopy_valkey::aio::Shared;
use onecopy_valkey::command::{scripting, string};
use onecopy_valkey::{Library, Script, ScriptCall};

use crate::common::within;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scripts_are_loaded_while_others_empty_the_cache() {
    let server = Server::start().unwrap();
    let shared = Shared::connect(&server.url()).await.unwrap();
    let tasks: Vec<_> = (0..8)
        .map(|task| {
            let shared = shared.clone();
            tokio::spawn(async move {
                let script = Script::new("return redis.call('INCRBY', KEYS[1], ARGV[1])");
                let key = format!("sum:{task}");
                let mut sum = 0;
                for round in 0..50 {
                    if round % 5 == task % 5 {
                        shared.run(&scripting::script_flush()).await.unwrap();
                    }
                    let call = script.call().keys(&key).args(round);
                    match shared.run_script(&call).await {
                        Ok(reply) => {
                            sum += round;
                            assert_eq!(reply.as_i64(), Some(sum));
                        }
                        // Emptied again between SCRIPT LOAD and EVALSHA: nothing was executed.
                        Err(error) => assert!(error.is_no_script(), "{error}"),
                    }
                }
            })
        })
        .collect();
    for task in tasks {
        within(task).await.unwrap();
    }
}

#[tokio::test]
async fn pipelines_and_transactions_call_scripts() {
    let server = Server::start().unwrap();
    let shared = Shared::connect(&server.url()).await.unwrap();
    let script = Script::new("return redis.call('INCRBY', KEYS[1], ARGV[1])");
    let call = || script.call().keys("sum").args(2);
    let mut pipeline = shared.pipeline();
    pipeline.push_script(&call()).unwrap();
    pipeline.push(&string::get("sum")).unwrap();
    pipeline.push_script(&call()).unwrap();
    let replies = pipeline.run().await.unwrap();
    let reply = replies.get::<ScriptCall<'_>>(0).unwrap();
    assert_eq!(reply.as_i64(), Some(2));
    let reply = replies.get::<ScriptCall<'_>>(2).unwrap();
    assert_eq!(reply.as_i64(), Some(4));
    shared.run(&scripting::script_flush()).await.unwrap();
    let mut transaction = shared.transaction();
    transaction.push_script(&call()).unwrap();
    transaction.push_script(&call()).unwrap();
    let replies = transaction.exec().await.unwrap();
    let reply = replies.get::<ScriptCall<'_>>(1).unwrap();
    assert_eq!(reply.as_i64(), Some(8));
    let broken = Script::new("this is no Lua");
    let error = shared.run_script(&broken.call()).await.unwrap_err();
    assert!(error.server().is_some() && !error.is_no_script());
}

#[tokio::test]
async fn libraries_are_loaded_once() {
    let server = Server::start().unwrap();
    let shared = Shared::connect(&server.url()).await.unwrap();
    let code =
        "#!lua name=lib\nredis.register_function('give', function(_, args) return args[1] end)";
    let library = Library::new(code).unwrap();
    assert!(shared.load_library(&library).await.unwrap());
    assert!(!shared.load_library(&library).await.unwrap());
    let given = shared.run(&scripting::fcall("give").args("x")).await;
    assert_eq!(given.unwrap().into_bytes(), Some(b"x".to_vec()));
}
