//! Forms: logging in and out, and doing something.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Instant;

use hyper::body::{Body as HttpBody, Incoming};
use hyper::header::{CONTENT_TYPE, COOKIE, HOST, HeaderValue, ORIGIN, SET_COOKIE};
use hyper::{Response, StatusCode};
use tokio::sync::oneshot;

use super::super::body::Body;
use super::super::form::Fields;
use super::super::login::{Administrator, Outcome, is_same};
use super::super::{Offer, action_page};
use super::{Answer, Asked, Refusal, Site, dead, no_action, not_allowed, refused, see_other};
use crate::control::action::Action;
use crate::control::spawn;
use crate::statement_log::Admin;

/// As the admin listener says it: `ER_ACCESS_DENIED_ERROR`.
const ACCESS_DENIED: u16 = 1045;

/// Bytes of a form. The longest one is a login.
const MAX_FORM: usize = 4 << 10;

impl Site {
    pub(super) async fn post(&self, asked: &Asked<'_>, body: Incoming) -> Answer {
        let path = asked.parts.uri.path();
        if !matches!(path, "/login" | "/logout" | "/action")
            || !matches!(self.offer, Offer::Page { .. })
        {
            return Err(not_allowed());
        }
        self.check_host(asked)?;
        let administrator = self.administrator()?;
        asked.check_origin()?;
        let form = asked.form(body).await?;
        if path == "/login" {
            return self.log_in(administrator, &form, asked);
        }
        let token = self.token(asked);
        let given = form.get("token").unwrap_or_default();
        if !token.is_some_and(|token| is_same(&token, given)) {
            return Err(refused(
                StatusCode::FORBIDDEN,
                "this form is not of your login, or the login has ended: log in, and try again",
            ));
        }
        if path == "/logout" {
            let cookie = self
                .logins
                .log_out(asked.header(COOKIE.as_str()).unwrap_or_default());
            return with_cookie(see_other("/"), &cookie);
        }
        let action = action_page::action(&form).ok_or_else(no_action)?;
        self.act(action, asked).await
    }

    fn log_in(&self, administrator: &Administrator, form: &Fields, asked: &Asked<'_>) -> Answer {
        let account = (&*form.text("user"), &*form.text("password"));
        let next = form.text("next");
        let outcome = self
            .logins
            .log_in(administrator, account, asked.client, Instant::now());
        let admin = Admin {
            command: "login",
            error: match outcome {
                Outcome::In(_) => 0,
                _ => ACCESS_DENIED,
            },
            ..Admin::default()
        };
        self.view.audit(asked.client, Some(account.0), admin);
        let (status, error) = match outcome {
            Outcome::In(cookie) => {
                let is_action = next.starts_with("/action?");
                return with_cookie(see_other(if is_action { &next } else { "/" }), &cookie);
            }
            Outcome::Wrong => (
                StatusCode::UNAUTHORIZED,
                "The user or the password is wrong.".to_owned(),
            ),
            Outcome::Wait(time) => (
                StatusCode::TOO_MANY_REQUESTS,
                format!(
                    "There were too many wrong logins. Try again in {} s.",
                    time.as_secs() + 1
                ),
            ),
            Outcome::Failed => return Err(dead()),
        };
        Ok(self.plain(status, "Log in", &action_page::login(&next, &error), asked))
    }

    /// Does something, on a thread of its own: workers and servers have to answer.
    async fn act(&self, action: Action, asked: &Asked<'_>) -> Answer {
        asked.seat.allow_action();
        if self.is_busy.swap(true, SeqCst) {
            return Err(refused(
                StatusCode::CONFLICT,
                "another action is under way: try again",
            ));
        }
        let (view, is_busy) = (Arc::clone(&self.view), Arc::clone(&self.is_busy));
        let (done, outcome) = oneshot::channel();
        let (its_action, client) = (action.clone(), asked.client.to_owned());
        let spawned = spawn("web-action", move || {
            let outcome = its_action.run(&view, &client);
            is_busy.store(false, SeqCst);
            let _ = done.send(outcome);
        });
        if spawned.is_err() {
            self.is_busy.store(false, SeqCst);
        }
        let outcome = outcome.await.map_err(|_| dead())?;
        let (status, error) = match &outcome {
            Ok(()) => (StatusCode::OK, None),
            Err(error) => (StatusCode::CONFLICT, Some(error.to_string())),
        };
        let content = action_page::outcome(&action, error.as_deref());
        Ok(self.plain(status, "Action", &content, asked))
    }
}

impl Asked<'_> {
    /// Whether a form was sent by a page from here, as far as the browser says so. The token of its login decides.
    fn check_origin(&self) -> Result<(), Refusal> {
        let is_ours = match (self.header("sec-fetch-site"), self.header(ORIGIN.as_str())) {
            (Some(site), _) => matches!(site, "same-origin" | "none"),
            (None, Some(origin)) => {
                let origin = origin.split_once("://").map(|(_, host)| host);
                origin.is_some() && origin == self.header(HOST.as_str())
            }
            (None, None) => true,
        };
        match is_ours {
            true => Ok(()),
            false => Err(refused(
                StatusCode::FORBIDDEN,
                "this form was sent from another site",
            )),
        }
    }

    async fn form(&self, mut body: Incoming) -> Result<Fields, Refusal> {
        let kind = self.header(CONTENT_TYPE.as_str()).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim();
        if !kind.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
            return Err(refused(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "send a form: application/x-www-form-urlencoded",
            ));
        }
        let mut form = Vec::new();
        let mut body = Pin::new(&mut body);
        while let Some(frame) =
            std::future::poll_fn(|context| body.as_mut().poll_frame(context)).await
        {
            let frame =
                frame.map_err(|_| refused(StatusCode::BAD_REQUEST, "the form is cut off"))?;
            let data = frame.into_data().unwrap_or_default();
            if form.len() + data.len() > MAX_FORM {
                return Err(refused(
                    StatusCode::PAYLOAD_TOO_LARGE,
                    "the form has more than 4 KiB",
                ));
            }
            form.extend_from_slice(&data);
        }
        Ok(Fields::parse(&String::from_utf8_lossy(&form)))
    }
}

fn with_cookie(mut response: Response<Body>, cookie: &str) -> Answer {
    let cookie = HeaderValue::from_str(cookie).map_err(|_| dead())?;
    response.headers_mut().insert(SET_COOKIE, cookie);
    Ok(response)
}
