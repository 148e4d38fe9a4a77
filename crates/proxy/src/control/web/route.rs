//! What a request asks for, and its response.

mod host;
mod post;

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use hyper::body::Incoming;
use hyper::header::{ALLOW, COOKIE, HOST, HeaderValue, LOCATION};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, StatusCode};

use super::body::{Body, EVENTS, Events, HTML, JSON, response, text, with_body};
use super::client_list::Filter;
use super::form::{Fields, path};
use super::html::{Html, Shell, Visitor};
use super::login::{Administrator, Logins};
use super::maker::{Maker, Topic};
use super::seat::{MAX_WATCHERS, Seat, Seats};
use super::{Offer, action_page};
use crate::control::View;
use crate::control::condition::{Condition, health, live, ready};

const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

/// What one listener serves.
pub(super) struct Site {
    offer: Offer,
    maker: Maker,
    view: Arc<View>,
    logins: Logins,
    /// Whether something is being done.
    is_busy: Arc<AtomicBool>,
}

/// What a request gets.
type Answer = Result<Response<Body>, Refusal>;

/// Why it does not get what it asks for.
#[derive(Debug)]
struct Refusal {
    status: StatusCode,
    text: Cow<'static, str>,
}

/// One request.
struct Asked<'r> {
    parts: &'r Parts,
    fields: Fields,
    client: &'r str,
    seats: &'r Rc<Seats>,
    seat: &'r Rc<Seat>,
}

impl Site {
    pub(super) fn new(offer: Offer, maker: Maker, view: &Arc<View>) -> Self {
        Self {
            offer,
            maker,
            view: Arc::clone(view),
            logins: Logins::default(),
            is_busy: Arc::default(),
        }
    }

    pub(super) async fn answer(
        &self,
        request: Request<Incoming>,
        client: &str,
        seats: &Rc<Seats>,
        seat: &Rc<Seat>,
    ) -> Response<Body> {
        let (parts, body) = request.into_parts();
        let asked = Asked {
            fields: Fields::parse(parts.uri.query().unwrap_or_default()),
            parts: &parts,
            client,
            seats,
            seat,
        };
        let response = match parts.method {
            Method::GET | Method::HEAD => match self.monitoring(parts.uri.path()).await {
                Some(response) => Ok(response),
                None => self.page(&asked).await,
            },
            Method::POST => self.post(&asked, body).await,
            _ => Err(not_allowed()),
        };
        response.unwrap_or_else(Refusal::into_response)
    }

    /// What both kinds of listeners have.
    async fn monitoring(&self, path: &str) -> Option<Response<Body>> {
        match path {
            "/metrics" => Some(match self.maker.metrics().await {
                Some(page) => response(StatusCode::OK, METRICS, page),
                None => dead().into_response(),
            }),
            "/live" => Some(condition(live(&self.view))),
            "/health" => Some(condition(health(&self.view))),
            "/ready" => Some(condition(ready(&self.view))),
            _ => None,
        }
    }

    /// The page, its parts and its JSON. An error is a response as well.
    async fn page(&self, asked: &Asked<'_>) -> Answer {
        self.check_host(asked)?;
        let file = |kind, file: &'static str| Ok(response(StatusCode::OK, kind, file));
        match asked.parts.uri.path() {
            "/" => self.html("Overview", Topic::Overview, asked).await,
            "/sessions" => self.html("Sessions", sessions(&asked.fields), asked).await,
            "/session" => {
                let title = format!("Session {}", super::table::shown(&asked.fields.text("id")));
                self.html(&title, session(&asked.fields)?, asked).await
            }
            "/events" => self.events(asked).await,
            "/api/now" => self.json(Topic::Overview).await,
            "/api/sessions" => self.json(sessions(&asked.fields)).await,
            "/api/session" => self.json(session(&asked.fields)?).await,
            "/login" => {
                self.administrator()?;
                let next = asked.fields.text("next");
                Ok(self.plain(
                    StatusCode::OK,
                    "Log in",
                    &action_page::login(&next, ""),
                    asked,
                ))
            }
            "/action" => self.ask(asked),
            "/page.css" => file(CSS, include_str!("page/page.css")),
            "/page.js" => file(SCRIPT, include_str!("page/page.js")),
            "/icon.svg" => file(SVG, include_str!("page/icon.svg")),
            _ => Err(refused(
                StatusCode::NOT_FOUND,
                "try /, /sessions, /api/now, /api/sessions, /metrics, /live, /health or /ready",
            )),
        }
    }

    /// A page on this machine is for names of this machine: another one may be a foreign page's that leads here to read what is here.
    fn check_host(&self, asked: &Asked<'_>) -> Result<(), Refusal> {
        let Offer::Page { hosts, .. } = &self.offer else {
            return Err(refused(
                StatusCode::NOT_FOUND,
                "try /metrics, /live, /health or /ready; the page has a listener of its own, [web] in the configuration",
            ));
        };
        let (Some(hosts), Some(host)) = (hosts, asked.header(HOST.as_str())) else {
            return Ok(());
        };
        match host::is_known(host, hosts) {
            true => Ok(()),
            false => Err(refused(
                StatusCode::MISDIRECTED_REQUEST,
                "the page does not know this host name; add it to `hosts` in [web] of the configuration",
            )),
        }
    }

    /// Who may do something, if anybody may.
    fn administrator(&self) -> Result<&Administrator, Refusal> {
        match &self.offer {
            Offer::Page {
                administrator: Some(administrator),
                ..
            } => Ok(administrator),
            _ => Err(refused(
                StatusCode::FORBIDDEN,
                "the page is read-only here: `actions` in [web] and a password in [admin] of the configuration change that",
            )),
        }
    }

    fn has_actions(&self) -> bool {
        self.administrator().is_ok()
    }

    /// The token of who is logged in.
    fn token(&self, asked: &Asked<'_>) -> Option<String> {
        self.administrator().ok()?;
        self.logins
            .token(asked.header(COOKIE.as_str())?, Instant::now())
    }

    fn wrapped(
        &self,
        asked: &Asked<'_>,
        make: impl FnOnce(Visitor<'_>) -> String,
        status: StatusCode,
    ) -> Response<Body> {
        let token = self.token(asked);
        let visitor = match (self.administrator(), &token) {
            (Err(_), _) => Visitor::Reader,
            (Ok(_), None) => Visitor::Stranger,
            (Ok(administrator), Some(token)) => Visitor::Administrator {
                user: administrator.user(),
                token,
            },
        };
        response(status, HTML, make(visitor))
    }

    /// A page that is kept up to date.
    async fn html(&self, title: &str, topic: Topic, asked: &Asked<'_>) -> Answer {
        let events = events_path(&topic);
        let page = self.maker.page(topic, self.has_actions()).await;
        let page = page.ok_or_else(dead)?;
        let status = match page.is_found {
            true => StatusCode::OK,
            false => StatusCode::NOT_FOUND,
        };
        let make = |visitor: Visitor<'_>| {
            let shell = Shell {
                title,
                events: &events,
                visitor,
            };
            shell.page(Some(&page.shown), &page.content)
        };
        Ok(self.wrapped(asked, make, status))
    }

    /// A page that does not change.
    fn plain(
        &self,
        status: StatusCode,
        title: &str,
        content: &Html,
        asked: &Asked<'_>,
    ) -> Response<Body> {
        let make = |visitor: Visitor<'_>| {
            let shell = Shell {
                title,
                events: "",
                visitor,
            };
            shell.page(None, content)
        };
        self.wrapped(asked, make, status)
    }

    async fn json(&self, topic: Topic) -> Answer {
        match self.maker.json(topic).await.ok_or_else(dead)? {
            Some(json) => Ok(response(StatusCode::OK, JSON, json)),
            None => Err(refused(StatusCode::NOT_FOUND, "there is no such session")),
        }
    }

    async fn events(&self, asked: &Asked<'_>) -> Answer {
        let topic = match asked.fields.get("of") {
            Some("sessions") => sessions(&asked.fields),
            Some("session") => session(&asked.fields)?,
            _ => Topic::Overview,
        };
        if !asked.seats.watch(asked.seat) {
            return Err(refused(
                StatusCode::SERVICE_UNAVAILABLE,
                format!("{MAX_WATCHERS} pages are open already; close one of them"),
            ));
        }
        let events = self.maker.watch(topic, self.has_actions()).await;
        let events = Events::new(events.ok_or_else(dead)?, asked.seat);
        Ok(with_body(StatusCode::OK, EVENTS, Body::Events(events)))
    }

    /// Asks whether something shall be done, after a login.
    fn ask(&self, asked: &Asked<'_>) -> Answer {
        self.administrator()?;
        let action = action_page::action(&asked.fields).ok_or_else(no_action)?;
        let Some(token) = self.token(asked) else {
            let here = asked.parts.uri.path_and_query();
            let here = here.map_or("/", |here| here.as_str());
            return Ok(see_other(&path("/login", &[("next", here)])));
        };
        let question = action_page::question(&action, &asked.fields, &token);
        Ok(self.plain(StatusCode::OK, "Action", &question, asked))
    }
}

impl Asked<'_> {
    fn header(&self, name: &str) -> Option<&str> {
        self.parts.headers.get(name)?.to_str().ok()
    }
}

fn sessions(fields: &Fields) -> Topic {
    Topic::Sessions(Filter {
        listener: fields.text("listener"),
        backend: fields.text("backend"),
        user: fields.text("user"),
        state: fields.text("state"),
        pinned: fields
            .get("pinned")
            .is_some_and(|pinned| !pinned.is_empty()),
    })
}

fn session(fields: &Fields) -> Result<Topic, Refusal> {
    match fields.text("id").parse() {
        Ok(id) => Ok(Topic::Session {
            listener: fields.text("listener"),
            id,
        }),
        Err(_) => Err(refused(
            StatusCode::BAD_REQUEST,
            "give the session's listener and id: ?listener=NAME&id=NUMBER",
        )),
    }
}

/// Where the script of a page gets its events from.
fn events_path(topic: &Topic) -> String {
    match topic {
        Topic::Overview => path("/events", &[("of", "overview")]),
        Topic::Sessions(filter) => {
            let fields = [("of", "sessions")].into_iter().chain(filter.fields());
            path("/events", &fields.collect::<Vec<_>>())
        }
        Topic::Session { listener, id } => {
            let id = id.to_string();
            path(
                "/events",
                &[("of", "session"), ("listener", listener), ("id", &id)],
            )
        }
    }
}

fn condition(condition: Condition) -> Response<Body> {
    match condition {
        Condition::Fine => text(StatusCode::OK, "ok"),
        Condition::Warned(what) => text(StatusCode::OK, &format!("ok, but {what}")),
        Condition::Not(why) => text(StatusCode::SERVICE_UNAVAILABLE, why),
    }
}

fn refused(status: StatusCode, text: impl Into<Cow<'static, str>>) -> Refusal {
    let text = text.into();
    Refusal { status, text }
}

fn dead() -> Refusal {
    refused(
        StatusCode::SERVICE_UNAVAILABLE,
        "a thread of the proxy has died, or can't be had",
    )
}

fn no_action() -> Refusal {
    refused(StatusCode::BAD_REQUEST, "there is no such action")
}

fn not_allowed() -> Refusal {
    refused(
        StatusCode::METHOD_NOT_ALLOWED,
        "only GET and HEAD are supported",
    )
}

impl Refusal {
    fn into_response(self) -> Response<Body> {
        let mut response = text(self.status, &self.text);
        if self.status == StatusCode::METHOD_NOT_ALLOWED {
            let allowed = HeaderValue::from_static("GET, HEAD");
            response.headers_mut().insert(ALLOW, allowed);
        }
        response
    }
}

/// Leads to a path that was escaped.
fn see_other(path: &str) -> Response<Body> {
    let mut response = text(StatusCode::SEE_OTHER, "see the page that this leads to");
    let location = HeaderValue::from_str(path);
    let location = location.unwrap_or(HeaderValue::from_static("/"));
    response.headers_mut().insert(LOCATION, location);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_gets_the_events_of_what_it_shows() {
        for (topic, expected) in [
            (Topic::Overview, "/events?of=overview"),
            (
                sessions(&Fields::parse("user=a%26b&pinned=1&state=")),
                "/events?of=sessions&user=a%26b&pinned=1",
            ),
            (
                Topic::Session {
                    listener: "a b".into(),
                    id: 7,
                },
                "/events?of=session&listener=a%20b&id=7",
            ),
        ] {
            assert_eq!(events_path(&topic), expected);
        }
    }
}
