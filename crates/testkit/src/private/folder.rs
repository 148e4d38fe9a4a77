//! The temporary folder a server lives in.

use std::env;
use std::fs::{self, DirBuilder, File};
use std::io::Read;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::StartError;

/// A `sockaddr_un` holds 104 to 108 bytes with its NUL, depending on the system.
const MAX_SOCKET_PATH: usize = 100;

/// A folder for this user only, removed on drop.
#[derive(Debug)]
pub(crate) struct TempFolder {
    path: PathBuf,
    /// The server refuses to run as root without being told to.
    pub(crate) owned_by_root: bool,
}

impl TempFolder {
    pub(crate) fn new() -> Result<Self, StartError> {
        let name = format!("onecopy-{}", &random_hex()?[..16]);
        let mut path = env::temp_dir().join(&name);
        if path.join(SOCKET).as_os_str().len() >= MAX_SOCKET_PATH {
            path = Path::new("/tmp").join(&name);
        }
        DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .map_err(StartError::io("create the folder", &path))?;
        let metadata = fs::metadata(&path).map_err(StartError::io("look at", &path))?;
        Ok(Self {
            path,
            owned_by_root: metadata.uid() == 0,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.path.join(SOCKET)
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        // Already gone when the watchdog had it; there is nobody to tell if it stays.
        let _ = fs::remove_dir_all(&self.path);
    }
}

const SOCKET: &str = "socket";

/// 32 hexadecimal digits that nobody can guess.
pub(crate) fn random_hex() -> Result<String, StartError> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut bytes))
        .map_err(StartError::io("read", "/dev/urandom"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
