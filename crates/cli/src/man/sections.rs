//! The sections of a text behind the options of `--help`: a heading that ends with a colon, and indented lines.

/// One of them.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Section {
    /// In capitals, as in manual pages, unless it is an option.
    pub heading: String,
    /// Without the first two spaces.
    pub lines: Vec<String>,
}

/// A line that is neither a heading nor indented belongs to the section before it; without one, to notes.
pub(super) fn sections(text: &str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    for line in text.lines() {
        let heading = line.strip_suffix(':').filter(|text| !text.starts_with(' '));
        if let Some(heading) = heading {
            let heading = if heading.starts_with('-') {
                heading.to_owned()
            } else {
                heading.to_uppercase()
            };
            let lines = Vec::new();
            sections.push(Section { heading, lines });
            continue;
        }
        if sections.is_empty() {
            let (heading, lines) = ("NOTES".to_owned(), Vec::new());
            sections.push(Section { heading, lines });
        }
        if let Some(section) = sections.last_mut() {
            let line = line.strip_prefix("  ").unwrap_or(line);
            section.lines.push(line.to_owned());
        }
    }
    for section in &mut sections {
        while section.lines.last().is_some_and(String::is_empty) {
            section.lines.pop();
        }
    }
    sections
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_are_sections_and_options_keep_their_case() {
        let text = "Examples:\n  onecopy sql\n    x \\\n\n--out:\n  Writes the value.\n";
        let section = |heading: &str, lines: &[&str]| Section {
            heading: heading.to_owned(),
            lines: lines.iter().map(ToString::to_string).collect(),
        };
        assert_eq!(
            sections(text),
            [
                section("EXAMPLES", &["onecopy sql", "  x \\"]),
                section("--out", &["Writes the value."]),
            ]
        );
        assert_eq!(
            sections("See there.\n"),
            [section("NOTES", &["See there."])]
        );
        assert!(sections("").is_empty());
    }
}
