//! Both APIs have the same public types, and these the same methods: names, parameters and results.

/// The public functions of a file, each as one line: `fn name(parameters) -> result`.
fn signatures(source: &str) -> Vec<String> {
    let mut signatures = Vec::new();
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        let line = line.trim_start();
        if !line.starts_with("pub fn ") && !line.starts_with("pub async fn ") {
            continue;
        }
        let mut signature = line.to_owned();
        while !signature.ends_with('{') {
            signature.push(' ');
            signature.push_str(lines.next().unwrap().trim());
        }
        signatures.push(normalized(&signature));
    }
    signatures
}

/// Without what is meant to differ: `async`, the readers' traits, and how lines are broken.
fn normalized(signature: &str) -> String {
    signature
        .trim_start_matches("pub ")
        .trim_start_matches("async ")
        .replace("( ", "(")
        .replace(", )", ")")
        .replace("AsyncRead + Unpin", "Read")
        .trim_end_matches([' ', '{'])
        .to_owned()
}

fn assert_same(name: &str, blocking: &str, tokio: &str) {
    let (blocking, tokio) = (signatures(blocking), signatures(tokio));
    assert!(!blocking.is_empty(), "{name} has no public function");
    assert_eq!(blocking, tokio, "{name}");
}

macro_rules! assert_same_file {
    ($name:literal) => {
        assert_same(
            $name,
            include_str!(concat!("../../src/blocking/", $name, ".rs")),
            include_str!(concat!("../../src/aio/", $name, ".rs")),
        )
    };
}

#[test]
fn both_faces_have_the_same_methods() {
    assert_same_file!("bulk");
    assert_same_file!("cancel_token");
    assert_same_file!("connection");
    assert_same_file!("formatted");
    assert_same_file!("mapped");
    assert_same_file!("local_infile");
    assert_same_file!("rows");
    assert_same_file!("session");
    assert_same_file!("streaming_row");
    assert_same_file!("column_reader");
    assert_same_file!("pool");
    assert_same_file!("pooled_connection");
    assert_same_file!("cursor");
    assert_same_file!("exec");
    assert_same_file!("pipeline");
    assert_same_file!("transaction");
}

#[test]
fn both_faces_have_the_same_types() {
    let types = |source: &'static str| -> Vec<String> {
        let uses = source.lines().filter(|line| line.starts_with("pub use "));
        uses.map(|line| line.replace("onecopy_net::tokio", "onecopy_net::blocking"))
            .collect()
    };
    let blocking = types(include_str!("../../src/blocking.rs"));
    assert!(blocking.len() > 3, "{blocking:?}");
    assert_eq!(blocking, types(include_str!("../../src/aio.rs")));
}

#[test]
fn signatures_are_found_and_compared() {
    let source = "    pub async fn a(\n        &mut self,\n        reader: impl AsyncRead + Unpin,\n    ) -> u8 {\n    }\n    \
                  fn hidden() {}\n    pub(super) fn also_hidden() {}\n    pub fn b(&self) {";
    assert_eq!(
        signatures(source),
        ["fn a(&mut self, reader: impl Read) -> u8", "fn b(&self)"]
    );
}
