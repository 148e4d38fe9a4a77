//! The file, or standard input, from any place on.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// Bytes that are read at once: 256 KiB.
const READ: usize = 256 << 10;

pub(super) type Input = BufReader<Box<dyn Read>>;

/// Where rows come from.
#[derive(Debug)]
pub(super) struct Source {
    /// None for standard input.
    path: Option<PathBuf>,
    /// As it is named in messages.
    pub(super) name: String,
    /// Bytes of it all, where that is known.
    pub(super) bytes: Option<u64>,
}

impl Source {
    pub(super) fn find(path: &Path) -> Result<Self, Failure> {
        if path == Path::new("-") {
            return Ok(Self {
                path: None,
                name: "standard input".into(),
                bytes: None,
            });
        }
        let metadata = std::fs::metadata(path).map_err(|error| cannot_read(path, &error))?;
        Ok(Self {
            path: Some(path.to_owned()),
            name: path.display().to_string(),
            bytes: metadata.is_file().then_some(metadata.len()),
        })
    }

    /// Whether it can be opened at a place again.
    pub(super) fn is_file(&self) -> bool {
        self.bytes.is_some()
    }

    pub(super) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Opens it and passes over `offset` bytes.
    pub(super) fn open(&self, offset: u64) -> Result<Input, Failure> {
        let reader: Box<dyn Read> = match &self.path {
            Some(path) => {
                let mut file = File::open(path).map_err(|error| cannot_read(path, &error))?;
                let sought = if self.is_file() {
                    file.seek(SeekFrom::Start(offset)).map(drop)
                } else {
                    pass_over(&mut file, offset)
                };
                sought.map_err(|error| cannot_read(path, &error))?;
                Box::new(file)
            }
            None => {
                let mut input = io::stdin();
                pass_over(&mut input, offset)
                    .map_err(|error| cannot_read(Path::new("-"), &error))?;
                Box::new(input)
            }
        };
        Ok(BufReader::with_capacity(READ, reader))
    }
}

fn pass_over(reader: &mut impl Read, offset: u64) -> io::Result<()> {
    let passed = io::copy(&mut reader.by_ref().take(offset), &mut io::sink())?;
    if passed < offset {
        return Err(io::Error::other(format!(
            "it ends after {passed} bytes, before the position to continue at, {offset}"
        )));
    }
    Ok(())
}

fn cannot_read(path: &Path, error: &io::Error) -> Failure {
    Failure::other(format!("can't read {}: {error}", path.display()))
}
