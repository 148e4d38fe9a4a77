//! Where the files are that are kept from one run to the next.

use std::env;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

/// `$XDG_STATE_HOME/onecopy/NAME`, or the same in `~/.local/state`; the folder is there then. `None` where there
/// is no such place, which is no reason to fail.
pub(crate) fn file(name: &str) -> Option<PathBuf> {
    let state = env::var_os("XDG_STATE_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".local/state")))?;
    let folder = state.join("onecopy");
    // For this user alone, as the base directory specification asks: commands hold values.
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&folder)
        .ok()?;
    Some(folder.join(name))
}
