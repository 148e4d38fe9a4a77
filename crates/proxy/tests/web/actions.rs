//! What can be done from the page: by whom, and what comes of it.

use onecopy_net::Endpoint;
use onecopy_proxy::Proxy;
use onecopy_proxy::config::Actions;
use serde_json::Value;

use crate::common::{Pooled, loopback, text};
use crate::http::{Response, address, get, get_with, json, post, until, with_page};

const LOGIN: &str = "user=admin&password=secret";

/// Somebody who is logged in.
struct Administrator<'p> {
    proxy: &'p Proxy,
    /// The header.
    cookie: String,
}

fn log_in<'p>(proxy: &'p Proxy, form: &str) -> (Response, Option<Administrator<'p>>) {
    let response = post(proxy, "/login", "", form);
    let cookie = response.header("Set-Cookie").map(|cookie| {
        assert!(
            cookie.contains("; HttpOnly") && cookie.contains("; SameSite=Strict"),
            "{cookie}"
        );
        format!("Cookie: {}\r\n", cookie.split(';').next().unwrap())
    });
    let administrator = cookie.map(|cookie| Administrator { proxy, cookie });
    (response, administrator)
}

impl<'p> Administrator<'p> {
    fn of(proxy: &'p Proxy) -> Self {
        let (response, administrator) = log_in(proxy, LOGIN);
        assert_eq!(
            (response.status, response.header("Location")),
            (303, Some("/"))
        );
        administrator.unwrap()
    }

    /// The page that asks whether something shall be done.
    fn question(&self, query: &str) -> Response {
        get_with(self.proxy, &format!("/action?{query}"), &self.cookie)
    }

    /// The token of its forms.
    fn token(&self) -> String {
        let page = get_with(self.proxy, "/", &self.cookie).body;
        let (_, value) = page.split_once("name=\"token\" value=\"").unwrap();
        value.split('"').next().unwrap().to_owned()
    }

    fn act(&self, query: &str) -> Response {
        let question = self.question(query);
        assert_eq!(question.status, 200, "{query}: {}", question.body);
        assert!(question.body.contains("Yes, do it"), "{}", question.body);
        post(
            self.proxy,
            "/action",
            &self.cookie,
            &format!("{query}&token={}", self.token()),
        )
    }
}

fn session_id(pooled: &Pooled) -> u64 {
    json(&pooled.proxy, "/api/sessions")["sessions"][0]["id"]
        .as_u64()
        .unwrap()
}

#[test]
fn a_session_is_killed_after_a_login_and_not_before() {
    let pooled = with_page(|_| {});
    let mut conn = pooled.connect();
    conn.run("DO 1").unwrap();
    let kill = format!("do=kill&listener=mysql&id={}", session_id(&pooled));
    // A link leads to the login, and from there back.
    let question = get(&pooled.proxy, &format!("/action?{kill}"));
    let next = question
        .header("Location")
        .unwrap()
        .strip_prefix("/login?next=")
        .unwrap();
    assert_eq!(question.status, 303);
    let (response, _) = log_in(&pooled.proxy, &format!("{LOGIN}&next={next}"));
    assert_eq!(
        response.header("Location"),
        Some(format!("/action?{kill}").as_str())
    );
    assert_eq!(post(&pooled.proxy, "/action", "", &kill).status, 403);
    conn.ping().unwrap();
    let administrator = Administrator::of(&pooled.proxy);
    let done = administrator.act(&kill);
    assert_eq!(done.status, 200, "{}", done.body);
    let error = conn.ping().unwrap_err();
    assert_eq!(
        error.server().map(|error| error.code),
        Some(1927),
        "{error}"
    );
    let again = administrator.act(&kill);
    assert_eq!(again.status, 409);
    assert!(
        again.body.contains("not done") && again.body.contains("Unknown thread id"),
        "{}",
        again.body
    );
}

#[test]
fn a_login_leads_nowhere_else() {
    let pooled = with_page(|_| {});
    for next in [
        "//evil.example/",
        "https://evil.example/",
        "/\\evil.example",
        "/action?%0d%0aSet-Cookie:a=b",
        "javascript:1",
    ] {
        let (response, _) = log_in(&pooled.proxy, &format!("{LOGIN}&next={next}"));
        assert_eq!(
            (response.status, response.header("Location")),
            (303, Some("/")),
            "{next}"
        );
    }
}

#[test]
fn a_form_from_elsewhere_does_nothing() {
    let pooled = with_page(|_| {});
    let proxy = &pooled.proxy;
    let (one, other) = (Administrator::of(proxy), Administrator::of(proxy));
    let pause = |headers: &str, token: &str| {
        let form = format!("do=pause&listener=mysql&token={token}");
        post(proxy, "/action", headers, &form).status
    };
    let (cookie, token) = (one.cookie.as_str(), one.token());
    for (what, headers, token) in [
        ("no cookie", String::new(), token.as_str()),
        ("no token", cookie.to_owned(), ""),
        ("another's token", cookie.to_owned(), &other.token()),
        (
            "another cookie",
            "Cookie: onecopy-session=00\r\n".to_owned(),
            &token,
        ),
        (
            "another site",
            format!("{cookie}Sec-Fetch-Site: cross-site\r\n"),
            &token,
        ),
        (
            "a neighbour",
            format!("{cookie}Sec-Fetch-Site: same-site\r\n"),
            &token,
        ),
        (
            "another origin",
            format!("{cookie}Origin: http://evil.example\r\n"),
            &token,
        ),
        ("no origin", format!("{cookie}Origin: null\r\n"), &token),
    ] {
        assert_eq!(pause(&headers, token), 403, "{what}");
    }
    // A link does nothing, whoever follows it.
    assert_eq!(one.question("do=pause&listener=mysql").status, 200);
    let kind = format!("{cookie}Content-Type: text/plain\r\n");
    assert_ne!(pause(&kind, "x"), 200);
    let is_paused = || json(proxy, "/api/now")["pools"][0]["is_paused"] == Value::Bool(true);
    assert!(!is_paused());
    let own = format!(
        "{cookie}Origin: http://{}\r\nSec-Fetch-Site: same-origin\r\n",
        address(proxy)
    );
    assert_eq!(pause(&own, &token), 200);
    until("the pause", is_paused);
    // A login that has ended has no token any more.
    assert_eq!(
        post(
            proxy,
            "/logout",
            cookie,
            &format!("token={}", other.token())
        )
        .status,
        403
    );
    let out = post(proxy, "/logout", cookie, &format!("token={token}"));
    assert_eq!(out.status, 303);
    assert!(out.header("Set-Cookie").unwrap().contains("Max-Age=0"));
    assert_eq!(pause(cookie, &token), 403);
    assert!(!get_with(proxy, "/", cookie).body.contains("token"));
    assert!(get_with(proxy, "/", &other.cookie).body.contains("Log out"));
}

#[test]
fn wrong_passwords_have_to_wait() {
    let pooled = with_page(|_| {});
    let wrong = [
        "user=admin&password=",
        "user=admin&password=Secret",
        "user=root&password=secret",
        "",
    ];
    let statuses = wrong.map(|form| log_in(&pooled.proxy, form).0.status);
    assert_eq!(statuses[..3], [401; 3]);
    until("a wait", || {
        log_in(&pooled.proxy, "user=admin&password=x").0.status == 429
    });
    until("the end of the wait", || {
        log_in(&pooled.proxy, LOGIN).1.is_some()
    });
}

#[test]
fn listeners_and_backends_are_paused_and_drained() {
    let pooled = with_page(|config| config.listeners[0].backends[0].name = "db 1".into());
    let administrator = Administrator::of(&pooled.proxy);
    let now = || json(&pooled.proxy, "/api/now");
    let mut conn = pooled.connect();
    conn.run("DO 1").unwrap();
    assert_eq!(administrator.act("do=pause&listener=mysql").status, 200);
    until("the pause", || now()["listeners"][0]["is_paused"] == true);
    std::thread::scope(|threads| {
        let waits = threads.spawn(|| text(&mut conn, "SELECT 'waited'"));
        until("one that waits", || now()["pools"][0]["waiting"] == 1);
        assert_eq!(administrator.act("do=resume&listener=mysql").status, 200);
        assert_eq!(waits.join().unwrap(), "waited");
    });
    for (query, state) in [
        ("do=drain-backend&backend=db+1", "drained"),
        ("do=resume-backend&backend=db+1", "up"),
    ] {
        assert_eq!(administrator.act(query).status, 200);
        until(state, || now()["backends"][0]["state"] == state);
    }
    assert_eq!(
        administrator.act("do=move-backend&backend=db+1").status,
        200
    );
    for query in ["do=drain-backend&backend=db+2", "do=pause&listener=other"] {
        let response = administrator.act(query);
        assert!(
            response.status == 409 && response.body.contains("not done"),
            "{}",
            response.body
        );
    }
    for query in [
        "",
        "do=x",
        "do=pause",
        "do=kill&listener=mysql",
        "do=reload",
    ] {
        assert_eq!(administrator.question(query).status, 400, "{query}");
    }
    assert_eq!(administrator.act("do=drain").status, 200);
    until("the end of all sessions", || pooled.proxy.is_drained());
    assert_eq!(get(&pooled.proxy, "/health").status, 503);
    assert_eq!(now()["is_draining"], true);
}

#[test]
fn without_a_password_or_a_loopback_address_there_are_no_actions() {
    type Change = fn(&mut onecopy_proxy::config::Config);
    let changes: [(&str, Change, bool); 4] = [
        (
            "no password",
            |config| {
                config.admin.listen = None;
                config.admin.password = onecopy_proxy::config::Secret::default();
            },
            false,
        ),
        ("off", |config| config.web.actions = Actions::Off, false),
        (
            "any address",
            |config| config.web.listen = Some(any()),
            false,
        ),
        (
            "any address, on",
            |config| {
                config.web.listen = Some(any());
                config.web.actions = Actions::On;
            },
            true,
        ),
    ];
    for (what, change, has_actions) in changes {
        let pooled = with_page(change);
        let proxy = &pooled.proxy;
        let page = get_page(proxy, "/");
        assert_eq!(page.contains("/action?"), has_actions, "{what}");
        assert_eq!(page.contains("read-only"), !has_actions, "{what}");
        assert_eq!(page.contains("Log in"), has_actions, "{what}");
        let port = address(proxy).port();
        let form = |path: &str| {
            let request = format!(
                "POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/x-www-form-urlencoded\r\n\
                 Content-Length: {}\r\n\r\n{LOGIN}",
                LOGIN.len()
            );
            crate::http::send(proxy, &request).status
        };
        assert_eq!(
            form("/login"),
            if has_actions { 303 } else { 403 },
            "{what}"
        );
        assert_eq!(form("/action"), 403, "{what}");
    }
}

fn any() -> Endpoint {
    Endpoint::Tcp {
        host: "0.0.0.0".into(),
        port: 0,
    }
}

fn get_page(proxy: &Proxy, path: &str) -> String {
    let response = get(proxy, path);
    assert_eq!(response.status, 200);
    response.body
}

#[test]
fn a_metrics_listener_has_no_page() {
    let pooled = with_page(|config| config.metrics.listen = Some(loopback(0)));
    let Some(onecopy_net::evented::Address::Tcp(metrics)) = pooled.proxy.metrics_address() else {
        panic!("it is of TCP");
    };
    for (path, status) in [
        ("/metrics", 200),
        ("/health", 200),
        ("/", 404),
        ("/api/now", 404),
        ("/page.css", 404),
        ("/login", 404),
    ] {
        use std::io::{Read, Write};
        let mut stream = std::net::TcpStream::connect(metrics).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        assert!(
            response.starts_with(&format!("HTTP/1.1 {status} ")),
            "{path}: {response}"
        );
        if path == "/" {
            assert!(response.contains("[web]"), "{response}");
        }
    }
}

#[test]
fn a_unix_socket_has_the_page_with_actions() {
    let folder = std::env::temp_dir().join(format!("onecopy-web-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let socket = folder.join("web.sock");
    let pooled = with_page(|config| config.web.listen = Some(Endpoint::Unix(socket.clone())));
    let ask = |request: String| {
        use std::io::{Read, Write};
        let mut stream = std::os::unix::net::UnixStream::connect(&socket).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        response
    };
    let page = ask("GET / HTTP/1.1\r\nHost: anything\r\n\r\n".into());
    assert!(
        page.starts_with("HTTP/1.1 200 ") && page.contains("Log in"),
        "{page}"
    );
    let login = ask(format!(
        "POST /login HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{LOGIN}",
        LOGIN.len()
    ));
    assert!(login.starts_with("HTTP/1.1 303 "), "{login}");
    drop(pooled);
    assert!(!socket.exists());
    std::fs::remove_dir_all(folder).unwrap();
}
