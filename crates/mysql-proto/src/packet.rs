//! The packets, each in a module of its own with byte table, decoder and encoder.
//!
//! A decoded packet borrows from its payload; names and texts stay bytes. A decoder takes the complete payload: the packets that
//! it was split into are joined and their headers removed.
#![deny(clippy::indexing_slicing)]

pub mod auth_more_data;
pub mod auth_next_factor;
pub mod auth_switch_request;
pub mod bulk_execute;
pub mod change_user;
pub mod close;
pub mod column_definition;
pub mod command;
pub mod connect_attributes;
pub mod eof;
pub mod err;
pub mod execute;
pub mod fetch;
pub mod greeting;
pub mod handshake_response;
pub mod init_db;
pub mod ok;
pub mod parameters;
pub mod ping;
pub mod prepare;
pub mod prepare_ok;
pub mod query;
pub mod quit;
pub mod reset_connection;
pub mod result_header;
pub mod send_long_data;
pub mod session_track;
pub mod ssl_request;
pub mod stmt_reset;
pub mod transaction_state;

pub use auth_more_data::AuthMoreData;
pub use auth_next_factor::AuthNextFactor;
pub use auth_switch_request::AuthSwitchRequest;
pub use bulk_execute::{BulkExecute, BulkFlags, BulkValue, Indicator};
pub use change_user::ChangeUser;
pub use close::Close;
pub use column_definition::{ColumnDefinition, ExtendedMetadata, ExtendedMetadataKind};
pub use command::{Command, CommandByte};
pub use connect_attributes::{ConnectAttributes, MAX_ATTRIBUTES_BYTES};
pub use eof::EofPacket;
pub use err::{ErrPacket, ErrReply, OneLine, ProgressReport};
pub use execute::{CursorType, Execute};
pub use fetch::Fetch;
pub use greeting::Greeting;
pub use handshake_response::HandshakeResponse;
pub use init_db::InitDb;
pub use ok::{OkHeader, OkPacket};
pub use parameters::{NullBitmap, ParameterType, Parameters};
pub use ping::Ping;
pub use prepare::Prepare;
pub use prepare_ok::PrepareOk;
pub use query::Query;
pub use quit::Quit;
pub use reset_connection::ResetConnection;
pub use result_header::ResultHeader;
pub use send_long_data::SendLongData;
pub use session_track::{SessionChange, SessionTrack};
pub use ssl_request::SslRequest;
pub use stmt_reset::StmtReset;
pub use transaction_state::{TransactionBegin, TransactionState};

#[cfg(test)]
pub(crate) mod testing;
