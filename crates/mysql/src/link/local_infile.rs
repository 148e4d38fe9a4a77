//! A file that the server requested: whether it may, and what is left of one that did not reach its end.

use onecopy_mysql_proto::Capabilities;
use onecopy_mysql_proto::client::Reply;
use onecopy_net::DriveError;

use super::Link;
use crate::{Error, ProtocolError};

/// Why a connection is closed.
const BROKEN_OFF: &str = "a local file was not sent to its end";

impl Link {
    /// # Errors
    /// The configuration does not allow local files, or the server does not know them.
    pub(crate) fn check_local_infile(&self) -> Result<(), Error> {
        let capabilities = self.core.session().capabilities;
        if capabilities.contains(Capabilities::LOCAL_FILES) {
            return Ok(());
        }
        Err(Error::config(
            "load_infile needs local-infile=true in the url (Config::local_infile), and a server whose local_infile is ON"
                .into(),
        ))
    }

    /// A file whose sending was given up in the middle closes the connection: an end in its place would make the server store
    /// a part of it, where it now rolls the statement back.
    pub(super) fn abandon_local_infile(&mut self) -> Result<(), Error> {
        if self.core.is_in_local_infile() {
            return Err(self.close(BROKEN_OFF));
        }
        Ok(())
    }

    /// What sending a piece came to: the server may have broken off. After any error the connection is closed.
    pub(crate) fn sent_local_infile(
        &mut self,
        flushed: Result<Option<Reply>, DriveError<ProtocolError>>,
    ) -> Result<(), Error> {
        let error = match flushed.transpose() {
            None => return Ok(()),
            Some(driven) => match self.reply(driven) {
                Ok(_) => return Err(self.close(BROKEN_OFF)),
                Err(error) => error,
            },
        };
        if !error.is_closed() {
            self.close(BROKEN_OFF);
        }
        Err(error.after_sending(true).closing())
    }
}
