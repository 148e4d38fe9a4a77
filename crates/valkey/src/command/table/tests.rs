use super::{find, find_words, starting_with, table};

#[test]
fn the_table_is_sorted_and_each_name_begins_its_usage() {
    assert!(table().is_sorted_by(|one, other| one.name < other.name));
    for entry in table() {
        let rest = entry.usage.strip_prefix(entry.name).unwrap();
        assert!(rest.is_empty() || rest.starts_with(' '), "{entry:?}");
        assert!(entry.arity != 0 && !entry.since.is_empty(), "{entry:?}");
        assert!(
            entry.complexity.is_empty() || entry.complexity.starts_with("O("),
            "{entry:?}"
        );
    }
}

#[test]
fn every_command_is_found_in_capitals_or_not() {
    for entry in table() {
        assert_eq!(find(entry.name), Some(entry));
        assert_eq!(find(&entry.name.to_lowercase()), Some(entry));
    }
    for name in ["", "NO", "GETT", "ZZZ", "CLIENT NO"] {
        assert_eq!(find(name), None, "{name}");
    }
}

#[test]
fn a_request_of_a_container_is_its_subcommand() {
    let name =
        |name: &[u8], argument: Option<&[u8]>| find_words(name, argument).map(|entry| entry.name);
    assert_eq!(name(b"config", Some(b"Get")), Some("CONFIG GET"));
    assert_eq!(name(b"config", Some(b"nothing")), Some("CONFIG"));
    assert_eq!(name(b"config", None), Some("CONFIG"));
    assert_eq!(name(b"get", Some(b"set")), Some("GET"));
    assert_eq!(name(b"zunionstore", Some(b"a")), Some("ZUNIONSTORE"));
    assert_eq!(name(b"nothing", Some(b"a")), None);
}

#[test]
fn commands_are_completed_by_their_beginning() {
    let names = |prefix| {
        starting_with(prefix)
            .iter()
            .map(|entry| entry.name)
            .collect::<Vec<_>>()
    };
    assert_eq!(names("getr"), ["GETRANGE"]);
    assert_eq!(names("hin"), ["HINCRBY", "HINCRBYFLOAT"]);
    assert_eq!(names("MSETNX"), ["MSETNX"]);
    assert_eq!(names("zzz"), [""; 0]);
    assert_eq!(names("").len(), table().len());
    assert_eq!(
        names("client t"),
        ["CLIENT TRACKING", "CLIENT TRACKINGINFO"]
    );
}

#[test]
#[cfg(feature = "caching")]
fn the_name_of_an_encoded_command_is_that_of_the_table() {
    for (encoded, name) in [
        (&b"*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n"[..], "GET"),
        (
            b"*3\r\n$6\r\nOBJECT\r\n$8\r\nENCODING\r\n$1\r\nk\r\n",
            "OBJECT ENCODING",
        ),
        (b"*1\r\n$4\r\nPING\r\n", "PING"),
        (b"*2\r\n$6\r\nsecret\r\n$1\r\nk\r\n", "OTHER"),
        (b"*2\r\n", "OTHER"),
        (b"", "OTHER"),
    ] {
        assert_eq!(crate::command::encoded_name(encoded), name);
    }
}
