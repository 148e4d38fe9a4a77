//! Ciphertext in flight out.

use rustls::unbuffered::{
    ConnectionState, EncodeError, EncryptError, InsufficientSizeError, UnbufferedStatus,
};

use super::slices::try_reserve;
use crate::tls::TlsError;

/// Ciphertext in flight out: `bytes[start..end]` is unsent.
#[derive(Default)]
pub(super) struct Output {
    pub(super) bytes: Vec<u8>,
    start: usize,
    end: usize,
}

/// Why nothing was encoded.
pub(super) enum Refusal {
    TooSmall(InsufficientSizeError),
    Failed(TlsError),
}

impl Output {
    pub(super) fn unsent(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// `n` bytes of it were sent.
    pub(super) fn sent(&mut self, n: usize) {
        self.start += n;
        if self.start == self.end {
            self.clear();
        }
    }

    pub(super) fn clear(&mut self) {
        (self.start, self.end) = (0, 0);
    }

    /// Has `encode` write behind what is there; there is room for `expected` bytes at least.
    pub(super) fn put(
        &mut self,
        expected: usize,
        mut encode: impl FnMut(&mut [u8]) -> Result<usize, Refusal>,
    ) -> Result<(), TlsError> {
        self.reserve(expected)?;
        loop {
            match encode(&mut self.bytes[self.end..]) {
                Ok(n) => {
                    self.end += n;
                    return Ok(());
                }
                Err(Refusal::TooSmall(needed)) => self.reserve(needed.required_size)?,
                Err(Refusal::Failed(error)) => return Err(error),
            }
        }
    }

    /// The alert that the library has for the peer after an error, if any.
    pub(super) fn put_alert<D>(
        &mut self,
        status: UnbufferedStatus<'_, '_, D>,
    ) -> Result<(), TlsError> {
        match status.state {
            Ok(ConnectionState::EncodeTlsData(mut data)) => {
                self.put(0, |out| data.encode(out).map_err(Refusal::from))
            }
            _ => Ok(()),
        }
    }

    fn reserve(&mut self, more: usize) -> Result<(), TlsError> {
        let needed = self.end + more;
        if needed > self.bytes.len() {
            try_reserve(&mut self.bytes, needed)?;
            self.bytes.resize(needed, 0);
        }
        Ok(())
    }
}

impl From<EncodeError> for Refusal {
    fn from(error: EncodeError) -> Self {
        match error {
            EncodeError::InsufficientSize(needed) => Self::TooSmall(needed),
            error => Self::Failed(rustls::Error::General(error.to_string()).into()),
        }
    }
}

impl From<EncryptError> for Refusal {
    fn from(error: EncryptError) -> Self {
        match error {
            EncryptError::InsufficientSize(needed) => Self::TooSmall(needed),
            error => Self::Failed(rustls::Error::General(error.to_string()).into()),
        }
    }
}
