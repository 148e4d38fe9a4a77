use serde_json::Value;

use super::*;

fn write_one(who: Who, event: Event, style: Style) -> String {
    let to = To {
        slow: true,
        audit: true,
        traces: false,
    };
    let line = Line::new(to, Arc::new(who), event);
    let mut lines = Vec::new();
    line.write(style, &mut Digester::new(4 << 10), &mut lines);
    String::from_utf8(lines).unwrap()
}

const KEPT: Style = Style {
    literals: Literals::Kept,
    sample: 1.0,
};

fn statement(text: &[u8]) -> Event {
    Event::Statement(Box::new(Statement {
        text: Some(text.to_vec()),
        is_whole: true,
        ..Statement::default()
    }))
}

#[test]
fn a_statement_has_all_its_fields_in_their_order() {
    let who = Who {
        listener: "front".into(),
        user: (*b"app").into(),
        client: "127.0.0.1:5".into(),
        session: 7,
    };
    let statement = Statement {
        backend: "db1".into(),
        backend_session: 9,
        database: Some((*b"shop").into()),
        text: Some(b"SELECT 'x'".to_vec()),
        is_whole: false,
        is_prepared: true,
        has_no_escapes: false,
        wait_us: 30,
        server_us: 12,
        rows_sent: 1,
        rows_affected: 2,
        bytes_received: 3,
        bytes_sent: 4,
        warnings: 5,
        error: 1062,
        sql_state: Some(*b"23000"),
        in_transaction: true,
        pins: "cursor".into(),
        is_by_proxy: true,
        is_unanswered: true,
        trace: None,
        system: "mysql",
    };
    let style = Style {
        literals: Literals::Kept,
        sample: 0.5,
    };
    let line = write_one(who, Event::Statement(Box::new(statement)), style);
    let (time, rest) = line.split_at(r#"{"time":"2026-11-27T14:25:40.123456Z""#.len());
    assert!(
        time.starts_with(r#"{"time":"20"#) && time.ends_with("Z\""),
        "{time}"
    );
    let hash = {
        let mut digester = Digester::new(100);
        digester.digest_start(b"SELECT 'x'")
    };
    let expected = [
        r#","event":"statement","listener":"front","backend":"db1","session":7,"backend_session":9,"user":"app","#,
        r#""client":"127.0.0.1:5","database":"shop","command":"execute","digest":"HASH","digest_text":"SELECT ...","#,
        r#""statement":"SELECT 'x'","cut":true,"duration_us":42,"wait_us":30,"server_us":12,"rows_sent":1,"#,
        r#""rows_affected":2,"bytes_received":3,"bytes_sent":4,"warnings":5,"error":1062,"sqlstate":"23000","#,
        r#""in_transaction":true,"pinned":"cursor","by_proxy":true,"no_reply":true,"sample":0.5}"#,
    ];
    let expected = expected.concat().replace("HASH", &format!("{hash:016x}"));
    assert_eq!(rest, format!("{expected}\n"));
}

#[test]
fn whatever_a_peer_says_stays_on_its_line_and_is_json() {
    let hostile = "a\"b\\c\n\r\t\u{0}\u{1b}[2J\u{7f}\u{85}\u{2028}\u{2029}\u{feff}{}:é😀";
    let who = Who {
        user: hostile.as_bytes().into(),
        client: hostile.into(),
        ..Who::default()
    };
    let line = write_one(who, statement(hostile.as_bytes()), KEPT);
    let controls = |c: &char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    assert_eq!(line.chars().filter(controls).collect::<String>(), "\n");
    let json: Value = serde_json::from_str(&line).unwrap();
    for field in ["user", "client", "statement"] {
        assert_eq!(json[field], hostile);
    }
    assert_eq!(json["escaped"], Value::Null);
}

#[test]
fn bytes_that_are_not_utf_8_are_not_lost() {
    let who = Who {
        user: (*b"\xE9\\x").into(),
        ..Who::default()
    };
    let line = write_one(who, statement(b"SELECT '\xFF\\n\xC3\xA9'"), KEPT);
    let json: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(json["user"], r"\xE9\\x");
    assert_eq!(json["statement"], r"SELECT '\xFF\\né'");
    assert_eq!(json["escaped"], serde_json::json!(["user", "statement"]));
}

#[test]
fn a_statement_that_may_have_a_password_is_withheld() {
    let event = statement(b"SET PASSWORD = 'hunter2'");
    let line = write_one(Who::default(), event, KEPT);
    let json: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(json["statement"], Value::Null);
    assert_eq!(json["withheld"], true);
    assert_eq!(json["digest_text"], "SET `PASSWORD` ...");
}

#[test]
fn long_names_are_cut_off() {
    let who = Who {
        user: vec![b'u'; 100_000].into(),
        ..Who::default()
    };
    let line = write_one(who, Event::Login(Login::default()), KEPT);
    assert!(line.len() < 1_000, "{}", line.len());
}
