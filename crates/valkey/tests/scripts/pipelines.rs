//! Several commands outstanding.

use onecopy_testkit::script::{Script, Talk, Trial};

use crate::talk::command;

fn three() -> Talk {
    talk!(|conn, log, wait| {
        let mut pipeline = conn.pipeline()?;
        for name in ["ONE", "TWO", "THREE"] {
            pipeline.push(&raw(name))?;
        }
        let mut replies = pipeline.replies();
        while let Some(reply) = wait!(replies.next_reply())? {
            log.reply(reply);
        }
        Ok(())
    })
}

fn asked() -> Script {
    let script = command(Script::new(), "ONE");
    command(command(script, "TWO"), "THREE")
}

#[test]
fn replies_are_taken_in_any_delivery() {
    let script = asked()
        .server(b"$3\r\none\r\n-ERR two\r\n*2\r\n:1\r\n$-1\r\n")
        .in_clear_text();
    let expected = [
        "BulkString(one)",
        "SimpleError(ERR two)",
        "Array [Integer(1), Null]",
    ];
    Trial::new(&script, three(), &expected).run();
}

#[test]
fn a_broken_reply_fails_those_behind_it() {
    let script = asked().server(b"+one\r\n$-7\r\n+three\r\n").in_clear_text();
    let seen = Trial::see(&script, three());
    assert_eq!(seen, ["SimpleString(one)", "InvalidLength at 6"]);
}

#[test]
fn every_pending_caller_hears_the_same_cause() {
    let talk = talk!(|conn, log, wait| {
        let mut pipeline = conn.pipeline()?;
        for name in ["ONE", "TWO", "THREE"] {
            pipeline.push(&raw(name))?;
        }
        let mut replies = pipeline.replies();
        for _ in 0..3 {
            match wait!(replies.next_reply()) {
                Ok(reply) => log.line(format!("{reply:?}")),
                Err(error) => log.line(format!("{:?}", error.protocol().map(|error| error.kind()))),
            }
        }
        Ok(())
    });
    let script = asked().server(b"+one\r\n#x\r\n").in_clear_text();
    let seen: Vec<_> = Trial::see_each(&script, talk).into_iter().collect();
    let broken = "Some(InvalidBoolean)";
    assert_eq!(seen, [["Some(SimpleString(one))", broken, broken]]);
}

#[test]
fn a_transaction_is_one_pipeline() {
    let talk = talk!(|conn, log, wait| {
        let mut transaction = conn.transaction()?;
        transaction.push(&raw("ONE"))?.push(&raw("TWO"))?;
        match wait!(transaction.exec())?.done() {
            None => log.line("aborted"),
            Some(mut results) => {
                while let Some(reply) = results.next_reply() {
                    log.reply(reply);
                }
            }
        }
        Ok(())
    });
    let asked = || {
        let script = command(Script::new(), "MULTI");
        command(command(command(script, "ONE"), "TWO"), "EXEC")
    };
    let queued = "+OK\r\n+QUEUED\r\n+QUEUED\r\n";
    let script = asked().server(format!("{queued}*2\r\n:1\r\n-ERR x\r\n").as_bytes());
    let expected = ["Integer(1)", "SimpleError(ERR x)"];
    Trial::new(&script.in_clear_text(), talk, &expected).run();
    for nil in ["*-1\r\n", "_\r\n"] {
        let script = asked()
            .server(format!("{queued}{nil}").as_bytes())
            .in_clear_text();
        Trial::new(&script, talk, &["aborted"]).run();
    }
    let script = asked()
        .server(b"+OK\r\n+QUEUED\r\n-ERR unknown\r\n-EXECABORT discarded\r\n")
        .in_clear_text();
    let expected = ["command 1 of the transaction: server error: ERR unknown"];
    Trial::new(&script, talk, &expected).run();
}
