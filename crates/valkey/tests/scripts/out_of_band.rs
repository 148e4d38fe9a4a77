//! Pushes and attributes.

use onecopy_testkit::script::{Script, Talk, Trial};

use crate::talk::command;

/// Two commands, and what came out of band between them.
fn listening() -> Talk {
    talk!(|conn, log, wait| {
        let (sender, pushes) = std::sync::mpsc::channel();
        conn.on_push(move |push| sender.send(format!("{push:?}")).unwrap());
        log.reply(wait!(conn.run(&raw("ONE")))?);
        log.reply(wait!(conn.run(&raw("TWO")))?);
        for push in pushes.try_iter() {
            log.line(push);
        }
        Ok(())
    })
}

fn answered_with(one: &str, two: &str) -> Script {
    let script = command(Script::new(), "ONE").server(one.as_bytes());
    command(script, "TWO")
        .server(two.as_bytes())
        .in_clear_text()
}

#[test]
fn a_push_is_never_a_reply() {
    let invalidate = ">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nk\r\n";
    let script = answered_with(
        &format!("{invalidate}+one\r\n"),
        &format!(">1\r\n:7\r\n{invalidate}+two\r\n"),
    );
    let push = "Push [BulkString(invalidate), Array [BulkString(k)]]";
    let expected = [
        "SimpleString(one)",
        "SimpleString(two)",
        push,
        "Push [Integer(7)]",
        push,
    ];
    Trial::new(&script, listening(), &expected).run();
}

#[test]
fn a_push_behind_the_last_reply_waits_for_the_next_call() {
    let script = answered_with("+one\r\n>1\r\n:1\r\n", "+two\r\n");
    let expected = [
        "SimpleString(one)",
        "SimpleString(two)",
        "Push [Integer(1)]",
    ];
    Trial::new(&script, listening(), &expected).run();
}

#[test]
fn a_push_inside_a_reply_is_an_error() {
    let script = command(Script::new(), "ONE")
        .server(b"*2\r\n:1\r\n>1\r\n:2\r\n")
        .in_clear_text();
    let seen = Trial::see(&script, listening());
    assert!(seen[0].starts_with("PushInside"), "{seen:?}");
}

#[test]
fn an_attribute_is_no_reply() {
    let script = answered_with(
        "|1\r\n+ttl\r\n:3600\r\n*1\r\n|1\r\n+a\r\n+b\r\n:5\r\n",
        ":2\r\n",
    );
    let talk = talk!(|conn, log, wait| {
        let reply = wait!(conn.run(&raw("ONE")))?;
        log.reply(reply);
        log.line(reply.len().to_string());
        log.reply(wait!(conn.run(&raw("TWO")))?);
        Ok(())
    });
    let expected = [
        "Array [Attribute [SimpleString(a), SimpleString(b)], Integer(5)]",
        "1",
        "Integer(2)",
    ];
    Trial::new(&script, talk, &expected).run();
}

#[test]
fn a_large_push_before_a_null_leaves_it_null() {
    let push = format!(">1\r\n$70000\r\n{}\r\n", "x".repeat(70_000));
    let script = command(Script::new(), "ONE")
        .server(format!("{push}$-1\r\n").as_bytes())
        .in_clear_text();
    let talk = talk!(|conn, log, wait| {
        let mut into = Vec::from("before");
        let len = wait!(conn.run_into(&raw("ONE"), &mut into))?;
        log.line(format!("{len:?} {into:?}"));
        Ok(())
    });
    Trial::new(&script, talk, &["None []"]).run();
}
