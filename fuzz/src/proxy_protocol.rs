//! Headers of the PROXY protocol.
//!
//! | bytes | field                   |
//! |-------|-------------------------|
//! | all   | what a peer sends first |
//!
//! Held: a header is the same however it is cut, and none before its last byte; no more is asked for than the longest has; an
//! error is final; and what was read is written so that it reads the same.

use onecopy_net::proxy_protocol::{Decoded, MAX_V1, MAX_V2, decode};

/// Decodes with each number of bytes that may have arrived, as far as a header goes.
pub fn run(data: &[u8]) {
    let whole = decode(data);
    for len in 0..data.len().min(MAX_V2 + 1) {
        match decode(&data[..len]) {
            Ok(Decoded::NeedMore(n)) => {
                let most = if data.first() == Some(&b'P') {
                    MAX_V1
                } else {
                    MAX_V2
                };
                assert!(n > 0 && len + n <= most, "{n} more behind {len}");
                if let Ok(Decoded::Header(header)) = whole {
                    assert!(len + n <= header.len, "{n} more behind {len}");
                }
            }
            Ok(Decoded::Header(header)) => {
                assert_eq!(Ok(Decoded::Header(header)), whole);
                assert!(header.len <= len);
            }
            Err(_) => assert!(whole.is_err()),
        }
    }
    let Ok(Decoded::Header(header)) = whole else {
        return;
    };
    let written = header.addresses.to_v2();
    let Ok(Decoded::Header(again)) = decode(&written) else {
        panic!("{written:?} is not whole");
    };
    assert_eq!(again.len, written.len());
    // Of IPv4 by way of IPv6 it is written as what it is, and that forever.
    assert_eq!(&again.addresses.to_v2()[..], &written[..]);
    if let Ok(Decoded::Header(line)) = decode(&again.addresses.to_v1())
        && let Some(source) = again.addresses.source()
    {
        assert_eq!(line.addresses.source(), Some(source));
    }
}
