//! Pages as HTML. They work without the script, which then only keeps the values up to date.
//!
//! Every text goes through [`Html::text`], which escapes it, or [`Html::attribute`]; only literals are written as they are.

use std::fmt::Write;

use super::table::{CHART, Cell, Chart, Column, Row, Shown, Table, Tile};

/// A text of HTML that is being written.
#[derive(Debug, Default)]
pub(super) struct Html(String);

impl Html {
    /// Writes markup of ours.
    pub(super) fn raw(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Writes a text, for between tags and within double quotes.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        for c in text.chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                // No browser shows it.
                '\0' => self.0.push('\u{FFFD}'),
                c => self.0.push(c),
            }
        }
        self
    }

    /// Writes ` name="value"`.
    pub(super) fn attribute(&mut self, name: &'static str, value: &str) -> &mut Self {
        self.raw(" ").raw(name).raw("=\"").text(value).raw("\"")
    }

    /// Writes what was made before.
    pub(super) fn html(&mut self, html: &Self) -> &mut Self {
        self.0.push_str(&html.0);
        self
    }

    pub(super) fn into_string(self) -> String {
        self.0
    }

    fn hidden_if(&mut self, is_hidden: bool) -> &mut Self {
        self.raw(if is_hidden { " hidden" } else { "" })
    }
}

/// What is around the content of a page.
#[derive(Debug, Clone, Default)]
pub(super) struct Shell<'s> {
    pub(super) title: &'s str,
    /// Where the script gets its events from; empty for a page that does not change.
    pub(super) events: &'s str,
    pub(super) visitor: Visitor<'s>,
}

/// Who looks at a page.
#[derive(Debug, Clone, Default)]
pub(super) enum Visitor<'s> {
    /// The page can only be looked at.
    #[default]
    Reader,
    /// Somebody who may log in.
    Stranger,
    Administrator {
        user: &'s str,
        token: &'s str,
    },
}

impl Shell<'_> {
    /// The whole page. `shown` is what its script keeps up to date.
    pub(super) fn page(&self, shown: Option<&Shown>, content: &Html) -> String {
        let mut page = Html::default();
        page.raw("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
            .raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n")
            .raw("<meta name=\"color-scheme\" content=\"light dark\">\n<title>")
            .text(self.title)
            .raw(" – onecopy proxy</title>\n<link rel=\"stylesheet\" href=\"/page.css\">\n")
            .raw("<link rel=\"icon\" href=\"/icon.svg\" type=\"image/svg+xml\">\n");
        if !self.events.is_empty() {
            page.raw("<noscript><meta http-equiv=\"refresh\" content=\"5\"></noscript>\n")
                .raw("<script src=\"/page.js\" defer></script>\n");
        }
        page.raw("</head>\n<body")
            .attribute("data-events", self.events)
            .raw(">\n<a class=\"skip\" href=\"#main\">Skip to the content</a>\n<header>\n");
        page.raw("<p class=\"brand\">onecopy proxy</p>\n<nav aria-label=\"Pages\">\n");
        for (title, path) in [
            ("Overview", "/"),
            ("Sessions", "/sessions"),
            ("Metrics", "/metrics"),
            ("JSON", "/api/now"),
        ] {
            page.raw("<a").attribute("href", path);
            if title == self.title {
                page.raw(" aria-current=\"page\"");
            }
            page.raw(">").raw(title).raw("</a>\n");
        }
        page.raw("</nav>\n");
        self.visitor.write(&mut page);
        page.raw("</header>\n<main id=\"main\" tabindex=\"-1\">\n<div class=\"head\">\n<h1>")
            .text(self.title)
            .raw("</h1>\n");
        if let Some(shown) = shown {
            head(&mut page, shown);
        }
        page.raw("</div>\n")
            .html(content)
            .raw("</main>\n</body>\n</html>\n");
        page.into_string()
    }
}

impl Visitor<'_> {
    fn write(&self, page: &mut Html) {
        match self {
            Self::Reader => page.raw("<p class=\"who\">read-only</p>\n"),
            Self::Stranger => page.raw("<p class=\"who\"><a href=\"/login\">Log in</a></p>\n"),
            Self::Administrator { user, token } => page
                .raw("<form class=\"who\" method=\"post\" action=\"/logout\">\n")
                .raw("<a href=\"/action?do=reset-digests\">Reset digests</a>\n")
                .raw("<a href=\"/action?do=drain\">Drain the proxy</a>\n")
                .raw("<input type=\"hidden\" name=\"token\"")
                .attribute("value", token)
                .raw(">\n<span>")
                .text(user)
                .raw("</span> <button>Log out</button>\n</form>\n"),
        };
    }
}

/// The proxy's state, and how old the values are.
fn head(page: &mut Html, shown: &Shown) {
    page.raw("<p id=\"state\" role=\"status\"")
        .attribute("class", shown.state.class.name())
        .raw(">")
        .text(&shown.state.text)
        .raw("</p>\n<p class=\"time\"><span id=\"time\">")
        .text(&shown.time)
        .raw("</span> UTC <span id=\"link\" role=\"status\"></span>\n")
        .raw("<button id=\"hold\" type=\"button\" hidden>Pause updates</button></p>\n");
}

/// All that changes on a page.
pub(super) fn content(shown: &Shown) -> Html {
    let mut html = Html::default();
    html.raw("<p id=\"note\" role=\"status\"")
        .hidden_if(shown.note.is_empty())
        .raw(">")
        .text(&shown.note)
        .raw("</p>\n");
    if !shown.tiles.is_empty() {
        html.raw("<dl class=\"tiles\">\n");
        shown.tiles.iter().for_each(|one| tile(&mut html, one));
        html.raw("</dl>\n");
    }
    if !shown.charts.is_empty() {
        html.raw("<div class=\"charts\">\n");
        shown.charts.iter().for_each(|one| chart(&mut html, one));
        html.raw("</div>\n");
    }
    shown.tables.iter().for_each(|one| table(&mut html, one));
    html
}

fn tile(html: &mut Html, tile: &Tile) {
    html.raw("<div class=\"tile\"><dt>")
        .raw(tile.label)
        .raw("</dt><dd><span")
        .attribute("id", tile.id)
        .raw(" class=\"value\">")
        .text(&tile.text)
        .raw("</span> <span class=\"more\">")
        .text(&tile.more)
        .raw("</span></dd></div>\n");
}

fn chart(html: &mut Html, chart: &Chart) {
    let (width, height) = CHART;
    let mut size = String::new();
    // A string takes everything.
    let _ = write!(size, "0 0 {width} {height}");
    html.raw("<figure")
        .attribute("id", chart.id)
        .raw("><figcaption><b>")
        .raw(chart.label)
        .raw("</b> <span class=\"says\">")
        .text(&chart.text)
        .raw("</span></figcaption>\n<svg")
        .attribute("viewBox", &size)
        .raw(" preserveAspectRatio=\"none\" aria-hidden=\"true\"><polyline")
        .attribute("points", &chart.points)
        .raw("/></svg></figure>\n");
}

fn table(html: &mut Html, table: &Table) {
    let is_empty = table.rows.is_empty();
    html.raw("<section")
        .attribute("id", table.id)
        .raw(">\n<h2")
        .attribute("id", &heading(table))
        .raw(">")
        .raw(table.caption)
        .raw("</h2>\n<p class=\"none\"")
        .hidden_if(!is_empty)
        .raw(">")
        .raw(table.none)
        .raw("</p>\n<div class=\"scroll\" role=\"region\" tabindex=\"0\"")
        .attribute("aria-labelledby", &heading(table))
        .hidden_if(is_empty)
        .raw(">\n<table")
        .attribute("aria-labelledby", &heading(table))
        .raw(">\n<thead><tr>");
    for (name, kind) in table.columns {
        html.raw("<th scope=\"col\"")
            .attribute("class", kind.class())
            .raw(">")
            .raw(name)
            .raw("</th>");
    }
    html.raw("</tr></thead>\n<tbody>\n");
    for one in &table.rows {
        row(html, table.columns, one);
    }
    html.raw("</tbody>\n</table>\n</div>\n</section>\n");
}

fn heading(table: &Table) -> String {
    format!("{}-heading", table.id)
}

fn row(html: &mut Html, columns: &[Column], row: &Row) {
    html.raw("<tr").attribute("data-key", &row.key).raw(">");
    for (at, (one, (_, kind))) in row.cells.iter().zip(columns).enumerate() {
        html.raw(if at == 0 { "<th scope=\"row\"" } else { "<td" })
            .attribute("class", kind.class())
            .raw(">");
        cell(html, one);
        html.raw(if at == 0 { "</th>" } else { "</td>" });
    }
    html.raw("</tr>\n");
}

fn cell(html: &mut Html, cell: &Cell) {
    match cell.class {
        None => html.text(&cell.text),
        Some(class) => html
            .raw("<span")
            .attribute("class", class.name())
            .raw(">")
            .text(&cell.text)
            .raw("</span>"),
    };
    for (at, link) in cell.links.iter().enumerate() {
        html.raw(if at > 0 || !cell.text.is_empty() {
            " "
        } else {
            ""
        });
        html.raw("<a").attribute("href", &link.href);
        if !link.name.is_empty() {
            html.attribute("aria-label", &link.name);
        }
        html.raw(">").text(&link.text).raw("</a>");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::web::table::{Class, Kind, Mark};

    #[test]
    fn names_stay_text() {
        let hostile = "\"><script>alert('1')</script>&amp;\0";
        let mut link = Cell::link(hostile, hostile.to_owned());
        link.links[0].name = hostile.to_owned();
        let shown = Shown {
            state: Mark {
                text: hostile.into(),
                class: Class::Bad,
            },
            time: hostile.into(),
            note: hostile.into(),
            tiles: vec![Tile {
                id: "a",
                label: "A",
                text: hostile.into(),
                more: hostile.into(),
            }],
            charts: vec![Chart {
                id: "b",
                label: "B",
                points: hostile.into(),
                text: hostile.into(),
            }],
            tables: vec![Table {
                id: "t",
                caption: "T",
                none: "none",
                columns: &[("A", Kind::Text), ("B", Kind::Number), ("C", Kind::Word)],
                rows: vec![Row {
                    key: hostile.into(),
                    cells: vec![
                        Cell {
                            text: hostile.into(),
                            ..Cell::default()
                        },
                        Cell {
                            text: hostile.into(),
                            class: Some(Class::Good),
                            ..Cell::default()
                        },
                        link,
                    ],
                }],
            }],
        };
        let shell = Shell {
            title: hostile,
            events: hostile,
            visitor: Visitor::Administrator {
                user: hostile,
                token: hostile,
            },
        };
        let page = shell.page(Some(&shown), &content(&shown));
        let escaped = "&quot;&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;amp;";
        assert_eq!(page.matches(escaped).count(), 18, "{page}");
        for wrong in ["<script>", "alert('", "&amp;\0", "\0", "\"\""] {
            assert!(!page.contains(wrong), "{wrong}: {page}");
        }
    }

    #[test]
    fn an_empty_table_says_so() {
        let table = |rows| Table {
            id: "t",
            caption: "T",
            none: "There is none.",
            columns: &[("A", Kind::Text)],
            rows,
        };
        let mut html = Html::default();
        super::table(&mut html, &table(Vec::new()));
        assert!(html.0.contains("<p class=\"none\">There is none.</p>"));
        assert!(html.0.contains("aria-labelledby=\"t-heading\" hidden>"));
        let row = Row {
            key: "a".into(),
            cells: vec!["x".into()],
        };
        let mut html = Html::default();
        super::table(&mut html, &table(vec![row]));
        assert!(html.0.contains("<p class=\"none\" hidden>"));
        assert!(
            html.0
                .contains("<tr data-key=\"a\"><th scope=\"row\" class=\"t\">x</th></tr>")
        );
    }
}
