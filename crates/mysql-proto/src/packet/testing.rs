//! What the tests of several packets share.

/// The bytes of a capture: on each line two-digit bytes, then, after two or more spaces, a comment.
pub(crate) fn hex(text: &str) -> Vec<u8> {
    let bytes = |line: &str| {
        let line = line.trim();
        let end = line.find("  ").unwrap_or(line.len());
        line[..end]
            .split_whitespace()
            .map(|byte| u8::from_str_radix(byte, 16).expect("a byte of two digits"))
            .collect::<Vec<_>>()
    };
    text.lines().flat_map(bytes).collect()
}

/// Asserts that `decode` refuses every strict prefix of `payload`, and takes those whose length is in `whole`.
pub(crate) fn assert_refused_when_cut<'a, T, E>(
    payload: &'a [u8],
    whole: &[usize],
    decode: impl Fn(&'a [u8]) -> Result<T, E>,
) {
    for length in 0..payload.len() {
        let accepted = decode(&payload[..length]).is_ok();
        assert_eq!(accepted, whole.contains(&length), "cut to {length} bytes");
    }
    assert!(decode(payload).is_ok(), "the whole payload");
}
