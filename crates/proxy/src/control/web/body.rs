//! The body of a response, and the headers that all have.

use std::convert::Infallible;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use hyper::body::{Body as HttpBody, Bytes, Frame, SizeHint};
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use hyper::{Response, StatusCode};
use tokio::sync::watch;
use tokio::time::{Duration, Instant};

use super::seat::Seat;

/// How long a stream of events lasts. The browser then asks for another one, so a dead one is not kept for ever.
const STREAM_TIME: Duration = Duration::from_secs(600);

/// What is sent.
pub(super) enum Body {
    Whole(Option<Bytes>),
    Events(Events),
}

/// The newest event as often as there is one; those in between are skipped if the client is slow.
pub(super) struct Events {
    next: Next,
    until: Instant,
    seat: Rc<Seat>,
}

type Next = Pin<Box<dyn Future<Output = Option<(Bytes, watch::Receiver<Bytes>)>>>>;

impl Events {
    /// Begins with the event that there is.
    pub(super) fn new(mut events: watch::Receiver<Bytes>, seat: &Rc<Seat>) -> Self {
        events.mark_changed();
        Self {
            next: next(events),
            until: Instant::now() + STREAM_TIME,
            seat: Rc::clone(seat),
        }
    }
}

/// `None` when nobody makes events any more.
fn next(mut events: watch::Receiver<Bytes>) -> Next {
    Box::pin(async move {
        events.changed().await.ok()?;
        let event = events.borrow_and_update().clone();
        Some((event, events))
    })
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut *self {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Events(events) => {
                let Some((event, rest)) = ready!(events.next.as_mut().poll(context)) else {
                    return Poll::Ready(None);
                };
                events.next = next(rest);
                if Instant::now() >= events.until {
                    return Poll::Ready(None);
                }
                events.seat.has_read();
                Poll::Ready(Some(Ok(Frame::data(event))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => {
                let len = bytes.as_ref().map_or(0, Bytes::len);
                SizeHint::with_exact(len as u64)
            }
            Self::Events(_) => SizeHint::default(),
        }
    }
}

/// The kinds of content.
pub(super) const TEXT: &str = "text/plain; charset=utf-8";
pub(super) const HTML: &str = "text/html; charset=utf-8";
pub(super) const JSON: &str = "application/json";
pub(super) const EVENTS: &str = "text/event-stream";

/// Only what this listener serves is loaded, no script or style within a page runs, and no other page may frame it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// No browser keeps or guesses what is sent, or sends data from elsewhere along.
const HEADERS: [(HeaderName, &str); 7] = [
    (CONTENT_SECURITY_POLICY, POLICY),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (X_FRAME_OPTIONS, "DENY"),
    // Not `no-referrer`: with it forms have no origin either, by which they are checked.
    (REFERRER_POLICY, "same-origin"),
    (CACHE_CONTROL, "no-store"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
];

pub(super) fn response(
    status: StatusCode,
    kind: &'static str,
    body: impl Into<Bytes>,
) -> Response<Body> {
    with_body(status, kind, Body::Whole(Some(body.into())))
}

pub(super) fn with_body(status: StatusCode, kind: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// One line of text.
pub(super) fn text(status: StatusCode, text: &str) -> Response<Body> {
    response(status, TEXT, format!("{text}\n"))
}
