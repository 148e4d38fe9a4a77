use bytes::Bytes;
use onecopy_valkey::command::{connection, list, string};
use onecopy_valkey::raw;

use crate::common::{connect, sample, within};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_of_another_task_comes_between_the_commands_of_a_pipeline() {
    let shared = connect().await;
    shared.run(&raw("DEL").arg("contiguous")).await.unwrap();
    let tasks: Vec<_> = (0..16)
        .map(|task| {
            let shared = shared.clone();
            tokio::spawn(async move {
                for _ in 0..20 {
                    let mut pipeline = shared.pipeline();
                    for _ in 0..task + 1 {
                        pipeline.push(&string::incr("contiguous")).unwrap();
                    }
                    let replies = pipeline.run().await.unwrap();
                    assert_eq!(replies.len(), task + 1);
                    let first = replies.get::<string::Incr>(0).unwrap();
                    for (position, reply) in replies.iter().enumerate() {
                        let expected = first + i64::try_from(position).unwrap();
                        assert_eq!(reply.as_i64(), Some(expected));
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
async fn an_error_in_a_pipeline_has_its_place_among_the_replies() {
    let shared = connect().await;
    let mut pipeline = shared.pipeline();
    pipeline
        .push(&string::set("pipeline_error", "text"))
        .and_then(|pipeline| pipeline.push(&string::incr("pipeline_error")))
        .and_then(|pipeline| pipeline.push(&string::get("pipeline_error")))
        .unwrap();
    let replies = pipeline.run().await.unwrap();
    replies.get::<string::Set>(0).unwrap();
    let error = replies.get::<string::Incr>(1).unwrap_err();
    assert_eq!(error.server().unwrap().code(), "ERR");
    assert_eq!(replies.get::<string::Get>(2).unwrap(), Some(&b"text"[..]));
    assert!(replies.get::<string::Get>(3).unwrap_err().is_misuse());
}

#[tokio::test]
async fn a_pipeline_without_commands_asks_nothing() {
    let shared = connect().await;
    let before = shared.meter();
    assert!(shared.pipeline().run().await.unwrap().is_empty());
    assert_eq!(shared.meter().bytes_written, before.bytes_written);
}

#[tokio::test]
async fn a_pipeline_larger_than_all_buffers_comes_back_whole() {
    let shared = connect().await;
    let value = Bytes::from(sample(1 << 20, 3));
    let mut pipeline = shared.pipeline();
    for number in 0..2_000 {
        pipeline.push(&raw("ECHO").arg(number)).unwrap();
        if number % 100 == 0 {
            pipeline.push(&raw("ECHO").arg(value.clone())).unwrap();
        }
    }
    let replies = within(pipeline.run()).await.unwrap();
    let large = replies
        .iter()
        .filter(|reply| reply.bytes() == &value[..])
        .count();
    let small: Vec<_> = replies.iter().filter_map(|reply| reply.as_i64()).collect();
    assert_eq!(large, 20);
    assert_eq!(small, (0..2_000).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_command_that_can_not_be_taken_leaves_the_others_of_a_pipeline() {
    let shared = connect().await;
    let mut pipeline = shared.pipeline();
    pipeline.push(&connection::echo("before")).unwrap();
    for refused in [
        raw("SELECT").arg(1),
        raw("SUBSCRIBE").arg("x"),
        raw("BLPOP").arg("x").arg(0),
    ] {
        assert!(pipeline.push(&refused).unwrap_err().is_misuse());
    }
    pipeline.push(&connection::echo("behind")).unwrap();
    let replies = pipeline.run().await.unwrap();
    let texts: Vec<_> = replies.iter().map(|reply| reply.bytes()).collect();
    assert_eq!(texts, [&b"before"[..], b"behind"]);
}

#[tokio::test]
async fn a_transaction_is_executed_as_a_whole() {
    let shared = connect().await;
    shared.run(&string::set("transaction", "10")).await.unwrap();
    let mut transaction = shared.transaction();
    transaction
        .push(&string::incrby("transaction", 5))
        .and_then(|transaction| transaction.push(&list::lpush("transaction", "x")))
        .and_then(|transaction| transaction.push(&string::get("transaction")))
        .unwrap();
    assert_eq!(transaction.len(), 3);
    let replies = transaction.exec().await.unwrap();
    assert_eq!(replies.len(), 3);
    assert_eq!(replies.get::<string::Incrby>(0).unwrap(), 15);
    let error = replies.get::<list::Lpush>(1).unwrap_err();
    assert_eq!(error.server().unwrap().code(), "WRONGTYPE");
    assert_eq!(replies.get::<string::Get>(2).unwrap(), Some(&b"15"[..]));
    within(shared.run(&connection::ping())).await.unwrap();
}

#[tokio::test]
async fn a_transaction_with_a_command_that_the_server_refuses_executes_nothing() {
    let shared = connect().await;
    shared.run(&string::set("refused", "1")).await.unwrap();
    let mut transaction = shared.transaction();
    transaction.push(&string::incr("refused")).unwrap();
    transaction.push(&raw("NO-SUCH-COMMAND")).unwrap();
    let error = transaction.exec().await.unwrap_err();
    assert!(error.to_string().contains("unknown command"), "{error}");
    assert_eq!(error.command_index(), Some(1));
    let value = shared.run(&string::get("refused")).await.unwrap();
    assert_eq!(value.get().unwrap(), Some(&b"1"[..]));
    assert!(shared.transaction().exec().await.unwrap().is_empty());
}
