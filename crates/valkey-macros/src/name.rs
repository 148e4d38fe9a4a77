//! Names of the protocol as names in Rust.

/// Words that are not names in Rust.
const KEYWORDS: [&str; 38] = [
    "as", "async", "await", "break", "const", "continue", "crate", "dyn", "else", "enum", "extern",
    "false", "final", "fn", "for", "if", "impl", "in", "let", "loop", "match", "mod", "move",
    "mut", "pub", "ref", "return", "self", "static", "struct", "super", "trait", "true", "type",
    "unsafe", "use", "where", "while",
];

/// The name of a function, a method, a field: `CLIENT NO-EVICT` is `client_no_evict`, `JSON.GET` is `json_get`, and `TYPE`
/// is `type_`.
pub(crate) fn snake(name: &str) -> String {
    let name = name
        .to_lowercase()
        .replace(['-', ' ', '.'], "_")
        .replace('=', "equal")
        .replace('~', "approximately");
    match KEYWORDS.contains(&name.as_str()) {
        true => name + "_",
        false => name,
    }
}

/// The name of a type or a variant: `CLIENT NO-EVICT` is `ClientNoEvict`.
pub(crate) fn camel(name: &str) -> String {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric());
    words.map(capitalized).collect()
}

fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    let rest = letters.map(|letter| letter.to_ascii_lowercase());
    first.into_iter().chain(rest).collect()
}

/// The name of several.
pub(crate) fn plural(name: &str) -> String {
    match name.ends_with('s') {
        true => name.to_owned(),
        false => format!("{name}s"),
    }
}

/// A word as it is sent, in the text of a byte string.
pub(crate) fn bulk(word: &str) -> String {
    format!("${}\\r\\n{}\\r\\n", word.len(), word.replace('"', "\\\""))
}
