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
        .replace("impl AsyncRead + Unpin", "impl Read")
        .replace("impl AsyncWrite + Unpin", "impl Write")
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
    assert_same_file!("connection");
    assert_same_file!("connection/scripts");
    assert_same_file!("pipeline");
    assert_same_file!("pipe");
    assert_same_file!("transaction");
    assert_same_file!("bulk_reader");
    assert_same_file!("subscriber");
    assert_same_file!("consumer");
    assert_same_file!("monitor");
    assert_same_file!("pool");
    assert_same_file!("pooled_connection");
}

/// A handle of a cluster is shared, or its caller's alone.
#[test]
fn both_faces_of_clusters_have_the_same_methods() {
    macro_rules! signatures_of {
        ($face:literal, $name:literal) => {
            signatures(include_str!(concat!(
                "../../src/",
                $face,
                "/cluster/",
                $name,
                ".rs"
            )))
        };
    }
    let owned = |signatures: Vec<String>| -> Vec<String> {
        let owned = |signature: String| {
            signature
                .replace("&mut self", "&self")
                .replace("ClusterScan<'_>", "ClusterScan")
        };
        signatures.into_iter().map(owned).collect()
    };
    for (blocking, tokio) in [
        (
            signatures_of!("blocking", "split"),
            signatures_of!("aio", "split"),
        ),
        (
            signatures_of!("blocking", "scan"),
            signatures_of!("aio", "scan"),
        ),
        (
            signatures_of!("blocking", "pipeline"),
            signatures_of!("aio", "pipeline"),
        ),
        (
            signatures_of!("blocking", "transaction"),
            signatures_of!("aio", "transaction"),
        ),
    ] {
        assert!(blocking.len() > 3);
        assert_eq!(owned(blocking), owned(tokio));
    }
}

#[test]
fn both_faces_have_the_same_types() {
    let types = |source: &'static str| -> Vec<String> {
        // Many callers on one connection are tasks: the shared handle is tokio's alone, and its types are used by blocking
        // clusters; so is the one that caches. A reader that follows its slots waits for several nodes at the same time: tasks
        // have one over shared connections, threads one with connections of its own, and so do readers that follow servers.
        let is_own = |line: &&str| {
            let is_shared = [" shared::", " cached::", " crate::"].map(|own| line.contains(own));
            let follows = ["ClusterSubscri", "FailoverSubscri"].map(|own| line.contains(own));
            !is_shared.contains(&true) && !follows.contains(&true)
        };
        let uses = source
            .lines()
            .filter(|line| line.starts_with("pub use ") && is_own(line));
        uses.map(|line| line.replace("onecopy_net::tokio", "onecopy_net::blocking"))
            .collect()
    };
    let blocking = types(include_str!("../../src/blocking.rs"));
    assert!(blocking.len() > 2, "{blocking:?}");
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
