//! Why this side aborted an authentication.

use core::fmt;

use super::channel::Channel;
use super::crypto::CryptoError;
use super::parsec;
use super::plugin::Plugin;
use super::public_key::PublicKeyError;
use crate::codec::DecodeError;

/// Why this side aborted an authentication. A refusal by the server is not one of these errors: it is an ERR packet.
///
/// No variant ever contains a byte of the password.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AuthError {
    /// A packet is malformed.
    Malformed(DecodeError),
    /// A packet that is not allowed in an authentication.
    UnexpectedPacket {
        /// The first byte of the packet.
        header: u8,
    },
    /// The server requests a plugin that is not supported.
    UnknownPlugin {
        /// The first 64 bytes of the plugin's name; bytes that are not printable ASCII are replaced.
        name: String,
    },
    /// The server requests a plugin that the caller has not allowed.
    PluginNotAllowed {
        /// The plugin.
        plugin: Plugin,
    },
    /// The caller has allowed no plugin.
    NoPluginAllowed,
    /// The server requests `mysql_old_password`, whose hash reveals the password.
    OldPasswordRefused,
    /// The plugin must send the password itself, and the channel is not secure enough for it.
    InsecureChannel {
        /// The plugin.
        plugin: Plugin,
        /// The channel.
        channel: Channel,
    },
    /// The server's nonce has the wrong length or is all zeros.
    BadNonce {
        /// The plugin that uses it.
        plugin: Plugin,
        /// The number of bytes received.
        bytes: usize,
    },
    /// The server requests a second plugin switch.
    SwitchedTwice,
    /// The server requests another authentication factor, and there is no password for it.
    MoreFactors,
    /// The server asks a question of `dialog` that the password does not answer, and nothing else does.
    NotAnswered {
        /// The first 64 bytes of the question; bytes that are not printable ASCII are replaced.
        question: String,
    },
    /// The server's certificate is signed by no trusted CA, and there is no password with which the server could prove it.
    NothingToProve,
    /// The server's certificate is signed by no trusted CA, and the server has not proven it with the password: another one may have
    /// been put in its place.
    NotProven,
    /// AuthMoreData without data.
    EmptyMoreData {
        /// The current plugin.
        plugin: Plugin,
    },
    /// AuthMoreData that the plugin does not define.
    UnknownMoreData {
        /// The current plugin.
        plugin: Plugin,
        /// The first byte of the data.
        byte: u8,
    },
    /// AuthMoreData after the plugin has finished.
    UnexpectedMoreData {
        /// The current plugin.
        plugin: Plugin,
    },
    /// The server's key cannot be used for encryption.
    PublicKey(PublicKeyError),
    /// The password is too long to be encrypted with the server's key.
    PasswordTooLong {
        /// The maximum length, in bytes.
        max_bytes: usize,
    },
    /// The server requests more iterations of `parsec` than the client computes.
    TooManyIterations {
        /// How often the minimum of 1,024 iterations would be doubled.
        factor: u8,
    },
    /// Random bytes or RSA failed.
    Crypto(CryptoError),
    /// The exchange has too many packets, see [`MAX_STEPS`](super::MAX_STEPS).
    TooManySteps,
    /// The exchange is over, and was given another packet.
    AlreadyDone,
}

/// How much of a plugin's name an error keeps.
const NAME_BYTES: usize = 64;

impl AuthError {
    pub(crate) fn unknown_plugin(name: &[u8]) -> Self {
        Self::UnknownPlugin {
            name: printable(name, b'!'),
        }
    }

    pub(super) fn not_answered(question: &[u8]) -> Self {
        Self::NotAnswered {
            question: printable(question, b' '),
        }
    }
}

/// The beginning of a server's text, from this character on.
fn printable(text: &[u8], first: u8) -> String {
    let printable = |&byte: &u8| match byte {
        b'!'..=b'~' => char::from(byte),
        _ if byte == first => char::from(byte),
        _ => '?',
    };
    text.iter().take(NAME_BYTES).map(printable).collect()
}

impl From<DecodeError> for AuthError {
    fn from(error: DecodeError) -> Self {
        Self::Malformed(error)
    }
}

impl From<PublicKeyError> for AuthError {
    fn from(error: PublicKeyError) -> Self {
        Self::PublicKey(error)
    }
}

impl From<CryptoError> for AuthError {
    fn from(error: CryptoError) -> Self {
        Self::Crypto(error)
    }
}

impl core::error::Error for AuthError {}

impl fmt::Display for AuthError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(error) => write!(f, "{error}"),
            Self::UnexpectedPacket { header } => {
                write!(f, "the server sent a packet {header:#04x} that no authentication plugin has")
            }
            Self::UnknownPlugin { name } => write!(
                f,
                "the server asks for the plugin {name}, which is not supported: use another one for the account"
            ),
            Self::PluginNotAllowed { plugin: plugin @ (Plugin::ClearPassword | Plugin::Dialog) } => write!(
                f,
                "the server asks for the password in clear text; to permit that, add {plugin} to auth-plugins"
            ),
            Self::PluginNotAllowed { plugin } => {
                write!(f, "the server asks for {plugin}, which auth-plugins does not list: add it, or use another one for the account")
            }
            Self::NoPluginAllowed => f.write_str("no plugin is allowed: allow at least one"),
            Self::OldPasswordRefused => f.write_str(
                "the server asks for mysql_old_password, which gives the password away: set the account's password again",
            ),
            Self::InsecureChannel { plugin, channel: Channel::TlsUnverified }
                if !matches!(plugin, Plugin::ClearPassword | Plugin::Dialog) =>
            {
                write!(
                    f,
                    "{plugin} needs the password itself and tls is not verified: verify the server's certificate, \
                     or set password-over-unverified-tls"
                )
            }
            Self::InsecureChannel { plugin, channel: Channel::Plain }
                if !matches!(plugin, Plugin::ClearPassword | Plugin::Dialog) =>
            {
                write!(
                    f,
                    "{plugin} needs the password itself and the connection is plain tcp: use tls that verifies the \
                     server (ssl-mode=verify-full or verify-ca), or a unix socket, or the server's key \
                     (server-public-key, or get-server-public-key on a network that you trust)"
                )
            }
            Self::InsecureChannel { plugin, channel } => write!(
                f,
                "{plugin} needs the password itself and the connection is {channel}: \
                 use tls that verifies the server, or a unix socket"
            ),
            Self::BadNonce { plugin, bytes } => {
                write!(f, "the server's nonce for {plugin} is not usable, {bytes} bytes: is it a mysql server?")
            }
            Self::SwitchedTwice => f.write_str("the server asks for a second switch of the plugin"),
            Self::MoreFactors => {
                f.write_str("the server asks for another factor: set password2, and password3 for a third one")
            }
            Self::NothingToProve => f.write_str(
                "the server's certificate is not signed by a trusted CA, and an account without a password can't prove it: \
                 name the server's CA with ssl-ca",
            ),
            Self::NotProven => f.write_str(
                "the server's certificate is not signed by a trusted CA, and the server did not prove it with the account's \
                 password, as MariaDB 11.4 does: name the server's CA with ssl-ca, if this is the right server",
            ),
            Self::NotAnswered { question } => write!(
                f,
                "the server asks \"{question}\", which the password does not answer: set Config::dialog to answer it"
            ),
            Self::EmptyMoreData { plugin } => write!(f, "the server sent an empty packet where {plugin} expects data"),
            Self::UnknownMoreData { plugin, byte } => {
                write!(f, "the server sent {byte:#04x}, which {plugin} does not have")
            }
            Self::UnexpectedMoreData { plugin } => {
                write!(f, "the server continues the login although {plugin} is complete")
            }
            Self::PublicKey(error) => error.fmt(f),
            Self::PasswordTooLong { max_bytes } => write!(
                f,
                "the password is too long for the server's key, which takes {max_bytes} bytes: use tls or a unix socket"
            ),
            Self::TooManyIterations { factor } => write!(
                f,
                "the server asks for 1024 << {factor} iterations of parsec, and at most 1024 << {} are computed: \
                 lower parsec_iterations there and set the account's password again",
                parsec::MAX_FACTOR
            ),
            Self::Crypto(error) => error.fmt(f),
            Self::TooManySteps => f.write_str("the server's authentication does not end"),
            Self::AlreadyDone => f.write_str("the authentication is over: hand the packet to the connection"),
        }
    }
}
