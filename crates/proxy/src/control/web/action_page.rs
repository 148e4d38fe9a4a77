//! What can be done from the page: the question whether it shall be done, and the answer.

use super::form::Fields;
use super::html::Html;
use crate::control::action::Action;

/// What a link or a form asks for; `None` if it is nothing that there is.
pub(super) fn action(fields: &Fields) -> Option<Action> {
    let name = |key| fields.get(key).filter(|name| !name.is_empty());
    let named = |key| name(key).map(str::to_owned);
    match fields.get("do")? {
        "kill" => {
            let id = name("id")?.parse().ok()?;
            Some(Action::Kill(Some(named("listener")?), id))
        }
        "pause" => Some(Action::Pause(Some(named("listener")?))),
        "resume" => Some(Action::Resume(Some(named("listener")?))),
        "drain-backend" => named("backend").map(Action::DrainBackend),
        "resume-backend" => named("backend").map(Action::ResumeBackend),
        "move-backend" => named("backend").map(Action::MoveBackend),
        "reset-digests" => Some(Action::ResetDigests),
        "drain" => Some(Action::Drain),
        _ => None,
    }
}

/// The fields of its form.
const FIELDS: [&str; 4] = ["do", "listener", "backend", "id"];

/// What it is called, and what it does.
fn words(action: &Action) -> (String, &'static str) {
    match action {
        Action::Kill(_, id) => (
            format!("Kill session {id}"),
            "It ends now, and its client gets error 1927. A statement of it may have been executed.",
        ),
        Action::Pause(listener) => (
            format!(
                "Pause listener '{}'",
                listener.as_deref().unwrap_or_default()
            ),
            "New transactions wait, each at most for failover-timeout. Those under way go on.",
        ),
        Action::Resume(listener) => (
            format!(
                "Resume listener '{}'",
                listener.as_deref().unwrap_or_default()
            ),
            "Transactions that wait go on. First the backends are asked for their roles.",
        ),
        Action::DrainBackend(name) => (
            format!("Drain backend '{name}'"),
            "No new session goes to it, and those of pooled listeners leave it between transactions.",
        ),
        Action::ResumeBackend(name) => (
            format!("Resume backend '{name}'"),
            "New sessions go to it again.",
        ),
        Action::MoveBackend(name) => (
            format!("Move connections of backend '{name}'"),
            "Its shared connections are made anew between transactions, each on the backend that has the fewest for its weight.",
        ),
        Action::ResetDigests => (
            "Reset digests".to_owned(),
            "What was counted by digest is forgotten, and counting begins anew.",
        ),
        Action::Drain => (
            "Drain the proxy".to_owned(),
            "No new session is accepted, /health reports 503, and all sessions end after their transactions. It can't be undone: the \
             proxy has to be restarted.",
        ),
    }
}

/// Asks whether it shall be done.
pub(super) fn question(action: &Action, fields: &Fields, token: &str) -> Html {
    let (name, effect) = words(action);
    let mut html = Html::default();
    html.raw("<form class=\"panel\" method=\"post\" action=\"/action\">\n<h2>")
        .text(&super::table::shown(&name))
        .raw("?</h2>\n<p>")
        .raw(effect)
        .raw("</p>\n<input type=\"hidden\" name=\"token\"")
        .attribute("value", token)
        .raw(">\n");
    for key in FIELDS {
        if let Some(value) = fields.get(key) {
            html.raw("<input type=\"hidden\"")
                .attribute("name", key)
                .attribute("value", value)
                .raw(">\n");
        }
    }
    html.raw("<p class=\"buttons\"><button class=\"danger\">Yes, do it</button> <a href=\"/\">No, go back</a></p>\n</form>\n");
    html
}

/// Says what came of it.
pub(super) fn outcome(action: &Action, error: Option<&str>) -> Html {
    let (name, _) = words(action);
    let mut html = Html::default();
    html.raw("<div class=\"panel\">\n<p role=\"status\">")
        .text(&super::table::shown(&name))
        .raw(": ");
    match error {
        None => html.raw("<span class=\"good\">done</span>"),
        Some(why) => html
            .raw("<span class=\"bad\">not done</span>: ")
            .text(&super::table::shown(why)),
    };
    html.raw(
        "</p>\n<p><a href=\"/\">Overview</a> <a href=\"/sessions\">Sessions</a></p>\n</div>\n",
    );
    html
}

/// The form of the login; `next` is where it leads.
pub(super) fn login(next: &str, error: &str) -> Html {
    let mut html = Html::default();
    html.raw("<form class=\"panel\" method=\"post\" action=\"/login\">\n")
        .raw("<p>An account of the admin listener may kill sessions, and pause and drain listeners and backends.</p>\n");
    if !error.is_empty() {
        html.raw("<p role=\"alert\" class=\"bad\">")
            .text(error)
            .raw("</p>\n");
    }
    html.raw("<input type=\"hidden\" name=\"next\"")
        .attribute("value", next)
        .raw(">\n<p><label>User <input name=\"user\" autocomplete=\"username\" required></label></p>\n")
        .raw("<p><label>Password <input name=\"password\" type=\"password\" autocomplete=\"current-password\" required></label></p>\n")
        .raw("<p class=\"buttons\"><button>Log in</button></p>\n</form>\n");
    html
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_whole_is_an_action() {
        for (text, expected) in [
            (
                "do=kill&listener=a&id=7",
                Some(Action::Kill(Some("a".into()), 7)),
            ),
            (
                "do=pause&listener=a+b",
                Some(Action::Pause(Some("a b".into()))),
            ),
            (
                "do=resume&listener=a",
                Some(Action::Resume(Some("a".into()))),
            ),
            (
                "do=drain-backend&backend=db",
                Some(Action::DrainBackend("db".into())),
            ),
            (
                "do=resume-backend&backend=db",
                Some(Action::ResumeBackend("db".into())),
            ),
            (
                "do=move-backend&backend=db",
                Some(Action::MoveBackend("db".into())),
            ),
            ("do=reset-digests", Some(Action::ResetDigests)),
            ("do=drain", Some(Action::Drain)),
            // Never all sessions or listeners, because one was left out.
            ("do=kill&id=7", None),
            ("do=kill&listener=a&id=-1", None),
            ("do=pause", None),
            ("do=pause&listener=", None),
            ("do=drain-backend", None),
            ("do=reload", None),
            ("", None),
        ] {
            assert_eq!(action(&Fields::parse(text)), expected, "{text}");
        }
    }

    #[test]
    fn the_question_has_the_fields_and_the_token() {
        let fields = Fields::parse("do=pause&listener=%3Cb%3E%22&id=1&evil=2");
        let action = action(&fields).unwrap();
        let html = question(&action, &fields, "to\"ken").into_string();
        assert!(
            html.contains("name=\"token\" value=\"to&quot;ken\""),
            "{html}"
        );
        assert!(
            html.contains("name=\"listener\" value=\"&lt;b&gt;&quot;\""),
            "{html}"
        );
        assert!(!html.contains("evil") && !html.contains("<b>"), "{html}");
    }
}
