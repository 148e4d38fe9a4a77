//! A target's corpus: one file of text, with one input a line, escaped as in a byte string of Rust.
//!
//! libFuzzer wants a folder with one file an input: `cargo run -p onecopy-fuzz --example corpus` unpacks and packs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The file of a target's corpus.
pub fn file(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(target)
        .with_extension("txt")
}

/// The inputs of a target, in the order of the file.
///
/// # Errors
/// The file is missing, or a line is not an escaped input.
pub fn read(target: &str) -> io::Result<Vec<Vec<u8>>> {
    let file = file(target);
    let text = fs::read_to_string(&file)
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", file.display())))?;
    let line = |(number, line): (usize, &str)| {
        unescaped(line).ok_or_else(|| {
            let place = format!("{}:{}", file.display(), number + 1);
            io::Error::new(
                io::ErrorKind::InvalidData,
                format!("{place}: not an escaped input"),
            )
        })
    };
    text.lines().enumerate().map(line).collect()
}

/// Writes a target's corpus, the shortest input first and each input once. Returns how many there are.
///
/// # Errors
/// The file can't be written.
pub fn write(target: &str, inputs: impl IntoIterator<Item = Vec<u8>>) -> io::Result<usize> {
    let sorted: BTreeSet<_> = inputs
        .into_iter()
        .map(|input| (input.len(), input))
        .collect();
    let mut text = String::new();
    for (_, input) in &sorted {
        text.push_str(&input.escape_ascii().to_string());
        text.push('\n');
    }
    let file = file(target);
    fs::create_dir_all(file.parent().unwrap_or(Path::new(".")))?;
    fs::write(file, text)?;
    Ok(sorted.len())
}

/// What [`slice::escape_ascii`] made the line of.
fn unescaped(line: &str) -> Option<Vec<u8>> {
    let mut bytes = line.bytes();
    let mut input = Vec::with_capacity(line.len());
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            input.push(byte);
            continue;
        }
        input.push(match bytes.next()? {
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'x' => digit(bytes.next()?)? << 4 | digit(bytes.next()?)?,
            quoted => quoted,
        });
    }
    Some(input)
}

fn digit(byte: u8) -> Option<u8> {
    u8::try_from(char::from(byte).to_digit(16)?).ok()
}

#[cfg(test)]
mod tests {
    use super::unescaped;

    #[test]
    fn every_byte_is_unescaped_as_it_was() {
        let all: Vec<u8> = (0..=u8::MAX).chain(*br"\x41").collect();
        assert_eq!(unescaped(&all.escape_ascii().to_string()), Some(all));
        assert_eq!(unescaped(""), Some(Vec::new()));
        for cut in [r"\", r"\x", r"\x4", r"\x4g"] {
            assert_eq!(unescaped(cut), None, "{cut}");
        }
    }
}
