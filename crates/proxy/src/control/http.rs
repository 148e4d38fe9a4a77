//! `/metrics`, `/live`, `/health` and `/ready` over HTTP/1.1.
//!
//! One request a connection, GET or HEAD, no body: what monitoring asks. That takes less than the code that would set a
//! library up for it, and has bounds of its own: 8 KiB of request within 5 seconds, 32 clients at a time.

mod request;
mod server;

use std::sync::Arc;

use onecopy_net::Endpoint;

use super::View;
use super::door::Door;
use crate::error::Error;
use request::{Path, Request, RequestError};
use server::Server;

/// What is said of the proxy's state.
#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    Fine,
    /// It works, and somebody should look.
    Warned(String),
    /// And why not.
    Not(&'static str),
}

/// Listens.
pub(super) fn open(endpoint: &Endpoint, view: &Arc<View>) -> Result<Door, Error> {
    let view = Arc::clone(view);
    Door::open(endpoint, ("metrics", 0o777), move |hall| {
        let mut server = Server::new(hall, view)?;
        Ok(move || server.run())
    })
}

/// The answer to a request for anything but metrics.
fn answer(request: Result<Request, RequestError>, view: &View) -> String {
    let Request { path, has_body } = match request {
        Ok(request) => request,
        Err(RequestError::Bad) => {
            return response("400 Bad Request", "", "not an HTTP/1 request\n", true);
        }
        Err(RequestError::TooLarge) => {
            let status = "431 Request Header Fields Too Large";
            return response(status, "", "the request has more than 8 KiB\n", true);
        }
    };
    match path {
        Path::Live => state(live(view), has_body),
        Path::Health => state(health(view), has_body),
        Path::Ready => state(ready(view), has_body),
        Path::Metrics | Path::Other => {
            let paths = "try /metrics, /live, /health or /ready\n";
            response("404 Not Found", "", paths, has_body)
        }
        Path::OtherMethod => response(
            "405 Method Not Allowed",
            "Allow: GET, HEAD\r\n",
            "only GET and HEAD are supported\n",
            has_body,
        ),
    }
}

fn metrics_answer(page: &str, has_body: bool) -> String {
    let kind = "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n";
    response("200 OK", kind, page, has_body)
}

/// Whether the process is intact. Backends and drains don't matter: restarting the proxy would not help there.
fn live(view: &View) -> State {
    match view.failure() {
        Some(_) => State::Not("a thread of the proxy has died\n"),
        None => State::Fine,
    }
}

/// Whether new sessions can be served at all.
fn health(view: &View) -> State {
    if let not @ State::Not(_) = live(view) {
        return not;
    }
    if view.is_draining() {
        return State::Not("draining\n");
    }
    if !view.backends().iter().any(|(_, backend)| backend.is_up()) {
        return State::Not("no backend is up\n");
    }
    let mut listeners = view.listeners().into_iter();
    if !listeners.any(|listener| listener.backends.serve()) {
        return State::Not("no backend is up and eligible by its role\n");
    }
    let backends = view.backends();
    let mut second = backends.iter().filter(|(_, backend)| backend.is_second());
    if let Some((listener, backend)) = second.next() {
        let name = backend.name();
        return State::Warned(format!(
            "backend '{name}' of listener '{listener}' takes writes while another one is the primary"
        ));
    }
    State::Fine
}

/// Whether new sessions can be served on every listener.
fn ready(view: &View) -> State {
    let has_backend = |listener: &Arc<crate::listener::Listener>| listener.backends.serve();
    match health(view) {
        State::Fine | State::Warned(_) if !view.listeners().iter().all(has_backend) => {
            State::Not("a listener has no backend that is up and eligible by its role\n")
        }
        state => state,
    }
}

fn state(state: State, has_body: bool) -> String {
    match state {
        State::Fine => response("200 OK", "", "ok\n", has_body),
        State::Warned(what) => response("200 OK", "", &format!("ok, but {what}\n"), has_body),
        State::Not(why) => response("503 Service Unavailable", "", why, has_body),
    }
}

fn response(status: &str, headers: &str, body: &str, has_body: bool) -> String {
    let kind = if headers.starts_with("Content-Type") {
        ""
    } else {
        "Content-Type: text/plain; charset=utf-8\r\n"
    };
    let len = body.len();
    let body = if has_body { body } else { "" };
    format!(
        "HTTP/1.1 {status}\r\n{headers}{kind}Content-Length: {len}\r\nConnection: close\r\n\r\n{body}"
    )
}
