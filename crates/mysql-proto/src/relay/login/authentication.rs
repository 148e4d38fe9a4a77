//! The packets of an authentication, one by one, with their sequence ids.

use crate::frame::{HEADER_BYTES, MAX_BODY, split_header};
use crate::packet::{ErrPacket, OkPacket, auth_next_factor, auth_switch_request, err, ok};
use crate::relay::{RelayError, Side};
use crate::{Capabilities, StatusFlags};

/// The most packets of the server in one login: plugins need a handful for each of three factors, dialogs a few more.
const MAX_STEPS: u8 = 64;

/// The meaning of a packet from the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LoginPacket {
    /// More data of the plugin. Only the plugin knows whether the client must answer.
    More,
    /// The client must use another plugin, and answers.
    Switch,
    /// One factor is done, and the client answers the next.
    NextFactor,
    /// The login succeeded: the command phase begins.
    Ok {
        /// The server's status.
        status: StatusFlags,
    },
    /// The server refuses the login, and closes the connection.
    Err {
        /// The server's error number.
        code: u16,
    },
}

/// Follows the packets of an authentication, from the client's response on, and renumbers them for the other side.
///
/// ```
/// use onecopy_mysql_proto::relay::login::{Login, LoginPacket};
/// use onecopy_mysql_proto::{Capabilities, StatusFlags};
///
/// // The client has TLS, and so asked for it; the server is on the same machine.
/// let mut login = Login::new(Capabilities::PROTOCOL_41, true, false);
/// let mut ok = [7, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0];
/// let status = StatusFlags::AUTOCOMMIT;
/// assert_eq!(login.server(&mut ok), Ok(LoginPacket::Ok { status }));
/// assert_eq!(ok[3], 3, "as the client counts");
/// assert!(login.is_over());
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Login {
    capabilities: Capabilities,
    /// What is added to the server's ids for the client.
    ahead: u8,
    /// The id of a packet towards the client.
    sequence: u8,
    steps: u8,
    is_over: bool,
}

impl Login {
    /// Creates the state of a login of a client and a server that agreed on `capabilities`. The flags say which requests for TLS
    /// were made: by the client to the proxy, and by the proxy to the server.
    pub fn new(
        capabilities: Capabilities,
        client_asked_for_tls: bool,
        server_was_asked_for_tls: bool,
    ) -> Self {
        let ahead = u8::from(client_asked_for_tls).wrapping_sub(u8::from(server_was_asked_for_tls));
        Self {
            capabilities,
            ahead,
            sequence: 1,
            steps: 0,
            is_over: false,
        }
    }

    /// Gives a packet of the client, complete and with its header, the sequence id that the server expects: the handshake
    /// response, and each answer to the server.
    ///
    /// # Errors
    /// Fails if the header does not match the packet, or if the packet has 16 MiB.
    pub fn client(&mut self, packet: &mut [u8]) -> Result<(), RelayError> {
        let (sequence, _) = split(packet, Side::Client)?;
        self.sequence = sequence.wrapping_add(1);
        *sequence = sequence.wrapping_sub(self.ahead);
        Ok(())
    }

    /// Gives a packet of the server, complete and with its header, the sequence id that the client expects. Returns what the
    /// packet means.
    ///
    /// # Errors
    /// Fails if the header does not match the packet, if the packet has 16 MiB, if an OK packet is truncated, or if the
    /// authentication has too many packets.
    pub fn server(&mut self, packet: &mut [u8]) -> Result<LoginPacket, RelayError> {
        let (sequence, payload) = split(packet, Side::Server)?;
        self.steps = self.steps.saturating_add(1);
        if self.steps > MAX_STEPS {
            return Err(RelayError::EndlessLogin);
        }
        let said = read(payload, self.capabilities)?;
        self.is_over = matches!(said, LoginPacket::Ok { .. } | LoginPacket::Err { .. });
        *sequence = sequence.wrapping_add(self.ahead);
        self.sequence = sequence.wrapping_add(1);
        Ok(said)
    }

    /// Returns whether OK or ERR has arrived.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Returns the sequence id that an ERR packet of the proxy to the client must have.
    pub fn error_sequence(&self) -> u8 {
        self.sequence
    }
}

fn read(payload: &[u8], capabilities: Capabilities) -> Result<LoginPacket, RelayError> {
    let factors = capabilities.contains(Capabilities::MULTI_FACTOR_AUTHENTICATION);
    Ok(match payload {
        [ok::HEADER, ..] => LoginPacket::Ok {
            status: OkPacket::decode_numbers(payload)
                .map_err(RelayError::of_server)?
                .status_flags,
        },
        [err::HEADER, ..] => LoginPacket::Err {
            code: ErrPacket::decode(payload)
                .map_err(RelayError::of_server)?
                .code,
        },
        [auth_switch_request::HEADER, ..] => LoginPacket::Switch,
        [auth_next_factor::HEADER, ..] if factors => LoginPacket::NextFactor,
        // Mostly AuthMoreData; MariaDB's plugins send data with any first byte.
        _ => LoginPacket::More,
    })
}

/// The sequence id's place and the payload.
fn split(packet: &mut [u8], side: Side) -> Result<(&mut u8, &[u8]), RelayError> {
    match packet.split_first_chunk_mut::<HEADER_BYTES>() {
        Some((header, payload))
            if split_header(*header).0 == payload.len() && payload.len() < MAX_BODY =>
        {
            let [_, _, _, sequence] = header;
            Ok((sequence, payload))
        }
        _ => Err(RelayError::BadLength { side }),
    }
}
