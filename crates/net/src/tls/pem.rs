//! Certificates and keys in PEM, from a file or from memory.

use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::TlsError;

/// The maximum size of a PEM file. The complete set of public CAs is about 220 KiB.
const MAX_BYTES: u64 = 16 << 20;

/// Certificates or a key in PEM.
#[derive(Clone, PartialEq, Eq)]
pub enum Pem {
    /// The path of a file. It is read when a connection is made, and again after it has changed.
    File(PathBuf),
    /// The PEM text in memory.
    Text(Vec<u8>),
}

/// Shows the path of a file, but nothing of what is in memory, because it may be a key.
impl fmt::Debug for Pem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
            Self::Text(_) => f.write_str("Text(***)"),
        }
    }
}

/// What identifies the state of a file: device, inode, length, and the time of its last status change (ctime), which no program
/// can set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stamp(Option<[i128; 4]>);

impl Pem {
    /// The file's state now. One that can't be looked at has none; reading it says why.
    pub(super) fn stamp(&self) -> Stamp {
        Stamp(match self {
            Self::Text(_) => None,
            Self::File(path) => fs::metadata(path).ok().map(|file| {
                let changed =
                    i128::from(file.ctime()) * 1_000_000_000 + i128::from(file.ctime_nsec());
                [
                    file.dev().into(),
                    file.ino().into(),
                    changed,
                    file.len().into(),
                ]
            }),
        })
    }

    /// All certificates in it, of which there must be one.
    pub(super) fn certificates(
        &self,
        option: &'static str,
    ) -> Result<Vec<CertificateDer<'static>>, TlsError> {
        let text = self.read(option)?;
        let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
        let found = found.map_err(|error| self.bad(option, &error.to_string()))?;
        if found.is_empty() {
            return Err(self.bad(option, "there is no certificate in it"));
        }
        Ok(found)
    }

    pub(super) fn private_key(
        &self,
        option: &'static str,
    ) -> Result<PrivateKeyDer<'static>, TlsError> {
        let text = self.read(option)?;
        PrivateKeyDer::from_pem_slice(&text).map_err(|error| match error {
            rustls::pki_types::pem::Error::NoItemsFound => self.bad(
                option,
                "there is no private key in it, or it is encrypted; decrypt it with openssl pkey",
            ),
            // Its text may quote the line.
            _ => self.bad(option, "it is not well-formed pem"),
        })
    }

    fn read(&self, option: &'static str) -> Result<Vec<u8>, TlsError> {
        let path = match self {
            Self::Text(text) => return Ok(text.clone()),
            Self::File(path) => path,
        };
        let file = |source| TlsError::File {
            option,
            path: path.clone(),
            source,
        };
        if fs::metadata(path).map_err(file)?.len() > MAX_BYTES {
            return Err(self.bad(option, "it is larger than 16 MiB"));
        }
        fs::read(path).map_err(file)
    }

    pub(super) fn bad(&self, option: &'static str, problem: &str) -> TlsError {
        TlsError::Pem {
            option,
            place: self.place(),
            problem: problem.to_owned(),
        }
    }

    /// Where it is, for people.
    pub(super) fn place(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Text(_) => "the text given".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests;
