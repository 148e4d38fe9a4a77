//! Passwords, hashes, keys and plugins, of which some are in files of their own.

use std::fmt::Display;
use std::fs::File as OpenFile;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use onecopy_mysql_proto::auth::{Plugin, PluginSet, PublicKey, Secret};
use toml::Spanned;

use super::error::Problem;
use super::value::Password;
use crate::config::StoredHash;

/// A password file's first line is at most this long, so that a wrong file is not read whole: 64 KiB.
const MAX_PASSWORD: u64 = 64 << 10;

/// A larger file is no key: 64 KiB.
const MAX_KEY: u64 = 64 << 10;

/// An RSA key, in a file.
pub(super) fn public_key(
    file: Option<Spanned<PathBuf>>,
    folder: &Path,
) -> Result<Option<PublicKey>, Problem> {
    let Some(file) = file else {
        return Ok(None);
    };
    let path = folder.join(file.get_ref());
    let failed = |error: &dyn Display| {
        let message = format!("can't read the public key {}: {error}", path.display());
        Problem::at(file.span(), message)
    };
    let mut pem = Vec::new();
    OpenFile::open(&path)
        .and_then(|file| file.take(MAX_KEY).read_to_end(&mut pem))
        .map_err(|error| failed(&error))?;
    let key = PublicKey::from_pem(&pem).map_err(|error| failed(&error))?;
    Ok(Some(key))
}

/// Plugins by their names.
pub(super) fn plugins(names: &Spanned<Vec<String>>) -> Result<PluginSet, Problem> {
    let known = || Plugin::ALL.map(Plugin::name).join(", ");
    if names.get_ref().is_empty() {
        let problem = Problem::at(names.span(), "`auth-plugins` is empty");
        return Err(problem.hint(format!("name one or more of {}", known())));
    }
    let mut allowed = PluginSet::empty();
    for name in names.get_ref() {
        let Some(plugin) = Plugin::from_name(name.as_bytes()) else {
            let message = format!("`{name}` is not a supported authentication plugin");
            return Err(
                Problem::at(names.span(), message).hint(format!("use one or more of {}", known()))
            );
        };
        allowed |= plugin.into();
    }
    Ok(allowed)
}

/// What a server stores of a password.
pub(super) fn stored(hash: &Spanned<String>, has_password: bool) -> Result<StoredHash, Problem> {
    if has_password {
        let message = "there is a password and a `hash`; give one of them";
        return Err(Problem::at(hash.span(), message));
    }
    StoredHash::from_text(hash.get_ref()).ok_or_else(|| {
        let message = "this is no hash of mysql_native_password or caching_sha2_password";
        Problem::at(hash.span(), message).hint(
            "it is * and 40 hexadecimal digits, or 0x24412430 and 132 more of the other plugin: \
             SELECT authentication_string (or CONCAT('0x', HEX(authentication_string))) FROM mysql.user",
        )
    })
}

/// A password, said here or in a file's first line.
pub(super) fn secret(
    said: Option<Spanned<Password>>,
    file: Option<Spanned<PathBuf>>,
    folder: &Path,
) -> Result<Option<Secret>, Problem> {
    match (said, file) {
        (Some(_), Some(file)) => Err(Problem::at(
            file.span(),
            "there is a `password` and a `password-file`; give one of them",
        )),
        (said, None) => Ok(said.map(|said| said.into_inner().0)),
        (None, Some(file)) => {
            let path = folder.join(file.get_ref());
            let failed = |error: std::io::Error| {
                let message = format!("can't read the password file {}: {error}", path.display());
                Problem::at(file.span(), message)
            };
            let mut line = Vec::new();
            let file = OpenFile::open(&path).map_err(failed)?;
            let mut file = BufReader::new(file.take(MAX_PASSWORD));
            file.read_until(b'\n', &mut line).map_err(failed)?;
            while matches!(line.last(), Some(b'\n' | b'\r')) {
                line.pop();
            }
            Ok(Some(Secret::new(line)))
        }
    }
}
