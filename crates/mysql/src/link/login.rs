//! A new connection: its buffers, what its login says, and why a login failed.

use onecopy_mysql_proto::Error as ProtocolError;
use onecopy_mysql_proto::auth::Secret;
use onecopy_mysql_proto::client::{Handshake, HandshakeConfig};
use onecopy_mysql_proto::owned;
use onecopy_mysql_proto::packet::ErrPacket;
use onecopy_net::DriveError;
use onecopy_wire::{BufferConfig, Buffers, WireError};

use crate::compression::Wanted;
use crate::{Config, Error, ServerError};

/// The buffers and the login of a new connection.
pub(crate) fn login(config: &Config, is_unix: bool) -> Result<(Buffers, Handshake), Error> {
    let mut buffers = Buffers::new(BufferConfig {
        idle_keep: config.idle_keep,
        ..config.limits.buffer_config()
    });
    buffers.set_home_advice(onecopy_net::advise_huge_pages);
    let handshake = Handshake::new(handshake_config(config, is_unix)?, config.limits);
    Ok((buffers, handshake))
}

/// The layer of a compressed connection.
#[cfg(feature = "compression")]
pub(crate) fn codec(
    config: &Config,
    session: &onecopy_mysql_proto::client::Session,
) -> Option<crate::compression::FrameCodec> {
    let (level, workspaces) = (config.compression_level, &config.workspaces);
    crate::compression::FrameCodec::agreed(session.capabilities, level, workspaces)
}

fn handshake_config(config: &Config, is_unix: bool) -> Result<HandshakeConfig, Error> {
    let mode = config.effective_ssl_mode();
    let compression = Wanted::new(config)?;
    let database = config.database.as_deref().map(str::as_bytes);
    Ok(HandshakeConfig {
        user: owned::bytes(config.user.as_bytes()).map_err(ProtocolError::from)?,
        password: config.password.secret()?,
        more_passwords: more_passwords(config)?,
        database: database
            .map(owned::bytes)
            .transpose()
            .map_err(ProtocolError::from)?,
        is_unix,
        tls: mode.demand(),
        tls_verifies: mode.verifies(),
        multi_statements: config.multi_statements,
        found_rows: config.found_rows,
        local_infile: config.local_infile,
        full_metadata: !config.cached_metadata,
        auth: config.auth_options(),
        query_attributes: config.query_attributes || config.trace_parent.is_some(),
        extended_types: config.extended_types,
        progress_reports: config.progress.is_some(),
        compression: compression.algorithms,
        compression_required: compression.is_required,
        zstd_level: compression.zstd_level,
        attributes: attributes(config).map_err(ProtocolError::from)?,
        ..HandshakeConfig::default()
    })
}

/// Of the second and the third factor.
fn more_passwords(config: &Config) -> Result<Vec<Secret>, Error> {
    let [second, third] = &config.more_passwords;
    match (second.is_some(), third.is_some()) {
        (false, false) => Ok(Vec::new()),
        (false, true) => Err(Error::config(
            "password3 without password2: a third factor comes behind a second one".to_owned(),
        )),
        (true, false) => Ok(vec![second.secret()?]),
        (true, true) => Ok(vec![second.secret()?, third.secret()?]),
    }
}

fn attributes(config: &Config) -> Result<Vec<(String, String)>, WireError> {
    let pid = std::process::id().to_string();
    let own = [
        ("_client_name", "onecopy"),
        ("_client_version", env!("CARGO_PKG_VERSION")),
        ("_os", std::env::consts::OS),
        ("_platform", std::env::consts::ARCH),
        ("_pid", &pid),
    ];
    let others = config.attributes.iter();
    let others = others.map(|(name, value)| (name.as_str(), value.as_str()));
    let mut attributes = owned::with_capacity(own.len() + config.attributes.len())?;
    for (name, value) in own.into_iter().chain(others) {
        attributes.push((owned::text(name)?, owned::text(value)?));
    }
    Ok(attributes)
}

/// The server's error in the place of a login.
#[cold]
pub(crate) fn login_refused(payload: &[u8]) -> Error {
    let packet = ErrPacket::decode(payload).map_err(ProtocolError::from);
    match packet.and_then(|packet| ServerError::new(&packet)) {
        Ok(error) => Error::server_error(error),
        Err(error) => error.into(),
    }
}

/// The login was broken off.
#[cold]
pub(crate) fn login_failed(handshake: &Handshake, error: DriveError<ProtocolError>) -> Error {
    match error {
        DriveError::Timeout if !handshake.is_greeted() => Error::no_greeting(),
        error => error.into(),
    }
}
