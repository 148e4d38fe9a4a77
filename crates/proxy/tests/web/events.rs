//! Events: one a second with what has changed, the same for all who watch.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

use onecopy_proxy::Proxy;
use serde_json::Value;

use crate::http::{connect, get, with_page};

/// A stream of events.
pub(crate) struct Events(BufReader<TcpStream>);

impl Events {
    pub(crate) fn of(proxy: &Proxy, path: &str) -> Self {
        let mut stream = connect(proxy);
        write!(stream, "GET {path} HTTP/1.0\r\n\r\n").unwrap();
        let mut events = Self(BufReader::new(stream));
        let status = events.line();
        assert!(status.contains(" 200 "), "{status}");
        loop {
            let line = events.line();
            if line.is_empty() {
                return events;
            }
            if let Some(kind) = line.strip_prefix("Content-Type: ") {
                assert_eq!(kind, "text/event-stream");
            }
        }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        assert!(self.0.read_line(&mut line).unwrap() > 0, "the stream ended");
        line.trim_end().to_owned()
    }

    /// The next one, as it is sent.
    pub(crate) fn next_text(&mut self) -> String {
        let event = self.line();
        assert_eq!(self.line(), "", "an event is one line");
        event.strip_prefix("data: ").unwrap().to_owned()
    }

    pub(crate) fn next(&mut self) -> Value {
        serde_json::from_str(&self.next_text()).unwrap()
    }
}

/// The plain text of a cell.
fn cell(event: &Value, table: &str, row: usize, column: usize) -> String {
    let tables = event["tables"].as_array().unwrap();
    let table = tables.iter().find(|one| one["id"] == table).unwrap();
    let cell = &table["rows"][row]["cells"][column];
    cell.as_str().or(cell["text"].as_str()).unwrap().to_owned()
}

#[test]
fn events_have_what_has_changed_since() {
    let pooled = with_page(|_| {});
    let mut events = Events::of(&pooled.proxy, "/events");
    let first = events.next();
    assert_eq!(first["state"]["text"], "ready");
    let sessions = |event: &Value| cell(event, "listeners", 0, 2);
    assert_eq!(sessions(&first), "0");
    let mut conn = pooled.connect();
    conn.run("DO 1").unwrap();
    let is_there = |event: &Value| sessions(event) == "1" && cell(event, "pools", 0, 2) == "1";
    while !is_there(&events.next()) {}
    // Rates are there from the second event on.
    assert_ne!(cell(&events.next(), "listeners", 0, 3), "–");
    drop(conn);
    while sessions(&events.next()) != "0" {}
}

#[test]
fn all_who_watch_the_same_get_the_same_bytes() {
    let pooled = with_page(|_| {});
    for path in ["/events", "/events?of=sessions&user=root"] {
        let mut one = Events::of(&pooled.proxy, path);
        let mut other = Events::of(&pooled.proxy, path);
        let ones: Vec<_> = (0..4).map(|_| one.next_text()).collect();
        let others: Vec<_> = (0..4).map(|_| other.next_text()).collect();
        // One may have begun an event earlier.
        let common = ones.iter().filter(|event| others.contains(event)).count();
        assert!(common >= 2, "{ones:?} {others:?}");
    }
}

#[test]
fn a_session_is_watched_until_it_ends() {
    let pooled = with_page(|_| {});
    let mut conn = pooled.connect();
    conn.run("SET @a = 1").unwrap();
    let sessions = crate::http::json(&pooled.proxy, "/api/sessions");
    let id = sessions["sessions"][0]["id"].as_u64().unwrap();
    let page = format!("/session?listener=mysql&id={id}");
    let html = get(&pooled.proxy, &page);
    assert_eq!(html.status, 200);
    for text in [
        "user_variable",
        "data-events=\"/events?of=session&amp;listener=mysql&amp;id=",
    ] {
        assert!(html.body.contains(text), "{text}: {}", html.body);
    }
    let path = format!("/events?of=session&listener=mysql&id={id}");
    let mut events = Events::of(&pooled.proxy, &path);
    assert!(events.next_text().contains("user_variable"));
    drop(conn);
    while !events.next()["note"]
        .as_str()
        .unwrap()
        .contains("no such session")
    {}
    assert_eq!(get(&pooled.proxy, &page).status, 404);
}

#[test]
fn tables_need_no_script() {
    let pooled = with_page(|_| {});
    let _conn = pooled.connect();
    let html = get(&pooled.proxy, "/").body;
    for text in [
        "<noscript><meta http-equiv=\"refresh\" content=\"5\"></noscript>",
        "<th scope=\"row\" class=\"t\"><a href=\"/sessions?listener=mysql\">mysql</a></th>",
        "<html lang=\"en\">",
        "<h2 id=\"backends-heading\">Backends</h2>",
    ] {
        assert!(html.contains(text), "{text}: {html}");
    }
    // Nothing comes from elsewhere, and nothing runs within the page.
    for text in [
        "http://",
        "https://",
        "<style",
        "style=",
        "onclick",
        "javascript:",
    ] {
        assert!(!html.contains(text), "{text}");
    }
    assert_eq!(html.matches("<script").count(), 1);
}
