use super::*;

const SIGNATURE: &[u8] = b"\x0d\x0a\x0d\x0a\x00\x0d\x0a\x51\x55\x49\x54\x0a";

fn tcp<'b>(source: &str, destination: &str) -> Addresses<'b> {
    Addresses::Tcp {
        source: source.parse().unwrap(),
        destination: destination.parse().unwrap(),
    }
}

fn v2(rest: &[u8]) -> Vec<u8> {
    [SIGNATURE, rest].concat()
}

/// Decodes with every number of bytes that may have arrived: less asks for more, and for no more than there is.
fn decoded(bytes: &[u8]) -> Header<'_> {
    let Ok(Decoded::Header(header)) = decode(bytes) else {
        panic!("{}: {:?}", bytes.escape_ascii(), decode(bytes));
    };
    for cut in 0..header.len {
        match decode(&bytes[..cut]) {
            Ok(Decoded::NeedMore(n)) => assert!(n > 0 && n <= header.len - cut, "{cut}: {n}"),
            other => panic!("{cut}: {other:?}"),
        }
    }
    let mut more = bytes[..header.len].to_vec();
    more.extend_from_slice(b"what follows\r\n");
    assert_eq!(decode(&more), Ok(Decoded::Header(header)));
    header
}

#[test]
fn a_line_of_version_1_says_between_whom() {
    for (line, addresses) in [
        (
            &b"PROXY TCP4 192.0.2.7 192.0.2.1 50000 3306\r\n"[..],
            tcp("192.0.2.7:50000", "192.0.2.1:3306"),
        ),
        (
            b"PROXY TCP4 255.255.255.255 255.255.255.255 65535 65535\r\n",
            tcp("255.255.255.255:65535", "255.255.255.255:65535"),
        ),
        (
            b"PROXY TCP6 2001:db8::7 ::1 0 1\r\n",
            tcp("[2001:db8::7]:0", "[::1]:1"),
        ),
        (
            b"PROXY TCP6 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n",
            tcp(
                "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535",
                "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535",
            ),
        ),
        (b"PROXY UNKNOWN\r\n", Addresses::Unknown),
        (b"PROXY UNKNOWN and whatever else\r\n", Addresses::Unknown),
        // The longest that there is, 107 bytes.
        (
            b"PROXY UNKNOWN ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n",
            Addresses::Unknown,
        ),
    ] {
        let header = decoded(line);
        assert_eq!((header.len, header.addresses), (line.len(), addresses));
        assert!(header.tlvs.is_empty() && line.len() <= MAX_V1);
    }
}

#[test]
fn a_line_of_another_form_is_refused() {
    for line in [
        &b"PROXY \r\n"[..],
        b"PROXY\tTCP4 1.2.3.4 1.2.3.4 1 2\r\n",
        b"PROXY tcp4 1.2.3.4 1.2.3.4 1 2\r\n",
        b"PROXY TCP5 1.2.3.4 1.2.3.4 1 2\r\n",
        b"PROXY UNKNOWN\n",
        b"PROXY TCP4 1.2.3.4 1.2.3.4 1 2\n",
        b"PROXY TCP4\r\n",
        b"PROXY TCP4 1.2.3.4\r\n",
        b"PROXY TCP4 1.2.3.4 1.2.3.4\r\n",
        b"PROXY TCP4 1.2.3.4 1.2.3.4 1\r\n",
        b"PROXY TCP4 1.2.3.4 1.2.3.4 1 \r\n",
        b"PROXY TCP4 1.2.3.4 1.2.3.4 1 2 3\r\n",
        b"PROXY TCP4 1.2.3.4 1.2.3.4 1 2 \r\n",
        b"PROXY TCP4  1.2.3.4 1.2.3.4 1 2\r\n",
        b"PROXY TCP4 1.2.3.4 1.2.3.256 1 2\r\n",
        b"PROXY TCP4 1.2.3 1.2.3.4 1 2\r\n",
        b"PROXY TCP4 01.2.3.4 1.2.3.4 1 2\r\n",
        b"PROXY TCP4 ::1 ::1 1 2\r\n",
        b"PROXY TCP6 1.2.3.4 1.2.3.4 1 2\r\n",
        b"PROXY TCP6 ::1%lo ::1 1 2\r\n",
        b"PROXY TCP6 [::1] ::1 1 2\r\n",
        b"PROXY TCP4 1.2.3.4 1.2.3.4 65536 2\r\n",
        b"PROXY TCP4 1.2.3.4 1.2.3.4 +1 2\r\n",
        b"PROXY TCP4 1.2.3.4 1.2.3.4 01 2\r\n",
        b"PROXY TCP4 1.2.3.4 1.2.3.4 -1 2\r\n",
        b"PROXY TCP4 1.2.3.4 1.2.3.4 1 \xb2\r\n",
        b"PROXY TCP4 1.2.3.4 1.2.3.4 1\r2\r\n",
        b"PROXY TCP4 db db 1 2\r\n",
    ] {
        let refused = decode(line);
        assert!(
            matches!(
                refused,
                Err(ProxyProtocolError::Line(_) | ProxyProtocolError::NotAHeader)
            ),
            "{}: {refused:?}",
            line.escape_ascii()
        );
    }
}

#[test]
fn a_line_without_an_end_is_refused_once_it_is_too_long() {
    let endless = [&b"PROXY UNKNOWN "[..], &[b'x'; 200]].concat();
    for len in 15..MAX_V1 {
        assert_eq!(decode(&endless[..len]), Ok(Decoded::NeedMore(1)), "{len}");
    }
    for len in MAX_V1..endless.len() {
        let too_long = ProxyProtocolError::TooLong { len, max: MAX_V1 };
        assert_eq!(decode(&endless[..len]), Err(too_long));
    }
    // Its last byte may be the 107th, not the 108th.
    let mut line = endless[..MAX_V1].to_vec();
    line[MAX_V1 - 2..].copy_from_slice(b"\r\n");
    assert_eq!(decoded(&line).len, MAX_V1);
    let mut line = endless[..MAX_V1 + 1].to_vec();
    line[MAX_V1 - 1..].copy_from_slice(b"\r\n");
    assert!(matches!(
        decode(&line),
        Err(ProxyProtocolError::TooLong { .. })
    ));
}

#[test]
fn what_begins_otherwise_is_no_header_from_the_first_byte_that_tells() {
    for (bytes, tells) in [
        (&b"GET / HTTP/1.1\r\n"[..], 1),
        (b"\x16\x03\x01\x02\x00", 1),
        (b"\x4a\x00\x00\x01", 1),
        (b"PRI * HTTP/2.0\r\n", 3),
        (b"PROXX TCP4", 5),
        (b"PROXY\r\n", 6),
        (b"\r\n\r\n\0\r\nQUIX\n", 11),
        (b"\r\n\r\nx", 5),
    ] {
        for len in 1..=bytes.len() {
            let is_refused = decode(&bytes[..len]) == Err(ProxyProtocolError::NotAHeader);
            assert_eq!(is_refused, len >= tells, "{} {len}", bytes.escape_ascii());
        }
    }
}

#[test]
fn version_2_says_between_whom_and_keeps_what_follows_the_addresses() {
    let ipv4 = v2(&[
        0x21, 0x11, 0, 12, // PROXY, TCP4, length
        192, 0, 2, 7, 192, 0, 2, 1, // source, destination
        0xc3, 0x50, 0x0c, 0xea, // 50000, 3306
    ]);
    let header = decoded(&ipv4);
    assert_eq!(header.len, 28);
    assert_eq!(header.addresses, tcp("192.0.2.7:50000", "192.0.2.1:3306"));
    assert_eq!(header.tlvs, b"");

    let mut ipv6 = v2(&[0x21, 0x21, 0, 36 + 5]);
    ipv6.extend_from_slice(&[0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7]);
    ipv6.extend_from_slice(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    ipv6.extend_from_slice(&[0xff, 0xff, 0, 0]);
    // A further field: authority, two bytes.
    ipv6.extend_from_slice(&[0x02, 0, 2, b'd', b'b']);
    let header = decoded(&ipv6);
    assert_eq!(header.len, 16 + 36 + 5);
    assert_eq!(header.addresses, tcp("[2001:db8::7]:65535", "[::1]:0"));
    assert_eq!(header.tlvs, b"\x02\0\x02db");
}

#[test]
fn paths_of_unix_sockets_are_without_what_fills_them_up() {
    let full = [b'x'; 108];
    for (source, destination) in [
        (&b""[..], &b"/run/mysqld.sock"[..]),
        (b"\0abstract\0name", b"/"),
        (&full, &full),
    ] {
        let mut bytes = v2(&[0x21, 0x31, 0, 216]);
        for path in [source, destination] {
            bytes.extend_from_slice(path);
            bytes.resize(bytes.len() + 108 - path.len(), 0);
        }
        let addresses = Addresses::Unix {
            source,
            destination,
        };
        assert_eq!(decoded(&bytes).addresses, addresses);
        assert_eq!(&addresses.to_v2()[..], bytes);
        assert_eq!(addresses.source(), None);
    }
    // What stands behind the zero is nobody's name.
    let mut bytes = v2(&[0x21, 0x31, 0, 216]);
    bytes.extend_from_slice(&[b'a', 0, b'b']);
    bytes.resize(16 + 216, b'c');
    let Addresses::Unix { source, .. } = decoded(&bytes).addresses else {
        panic!("not unix");
    };
    assert_eq!(source, b"a");
}

#[test]
fn local_and_unknown_tell_nothing_whatever_stands_in_them() {
    for (rest, addresses) in [
        (&[0x20, 0x00, 0, 0][..], Addresses::Local),
        // The family and all that follows is to be ignored.
        (&[0x20, 0xee, 0, 3, 1, 2, 3], Addresses::Local),
        (&[0x20, 0x11, 0, 1, 9], Addresses::Local),
        (&[0x21, 0x00, 0, 0], Addresses::Unknown),
        (&[0x21, 0x00, 0, 2, 1, 2], Addresses::Unknown),
    ] {
        let bytes = v2(rest);
        let header = decoded(&bytes);
        assert_eq!((header.addresses, header.len), (addresses, bytes.len()));
        assert_eq!(header.addresses.source(), None);
    }
}

#[test]
fn a_version_2_that_is_wrong_is_refused_at_its_sixteenth_byte() {
    use ProxyProtocolError as E;
    for (rest, error) in [
        ([0x11, 0x11, 0, 12], E::Version(0x11)),
        ([0x31, 0x11, 0, 12], E::Version(0x31)),
        ([0x00, 0x00, 0, 0], E::Version(0x00)),
        ([0x22, 0x11, 0, 12], E::Command(0x22)),
        ([0x2f, 0x11, 0, 12], E::Command(0x2f)),
        // Datagrams, families and transports that there are not.
        ([0x21, 0x12, 0, 12], E::Family(0x12)),
        ([0x21, 0x22, 0, 36], E::Family(0x22)),
        ([0x21, 0x32, 0, 216], E::Family(0x32)),
        ([0x21, 0x10, 0, 12], E::Family(0x10)),
        ([0x21, 0x01, 0, 12], E::Family(0x01)),
        ([0x21, 0x41, 0, 12], E::Family(0x41)),
        (
            [0x21, 0x11, 0, 11],
            E::AddressesCut {
                len: 11,
                needed: 12,
            },
        ),
        (
            [0x21, 0x21, 0, 35],
            E::AddressesCut {
                len: 35,
                needed: 36,
            },
        ),
        (
            [0x21, 0x31, 0, 215],
            E::AddressesCut {
                len: 215,
                needed: 216,
            },
        ),
        (
            [0x21, 0x11, 0x0f, 0xf1],
            E::TooLong {
                len: 4097,
                max: MAX_V2,
            },
        ),
        (
            [0x20, 0x00, 0xff, 0xff],
            E::TooLong {
                len: 65551,
                max: MAX_V2,
            },
        ),
    ] {
        let bytes = v2(&rest);
        assert_eq!(decode(&bytes[..15]), Ok(Decoded::NeedMore(1)));
        assert_eq!(decode(&bytes), Err(error), "{rest:02x?}");
        assert!(error.to_string().starts_with(['p', 'a']), "{error}");
    }
    // The longest that is taken.
    let mut bytes = v2(&[0x21, 0x11, 0x0f, 0xf0]);
    assert_eq!(decode(&bytes), Ok(Decoded::NeedMore(4080)));
    bytes.resize(MAX_V2, 0);
    assert_eq!(decoded(&bytes).tlvs.len(), 4068);
}

#[test]
fn both_versions_are_written_as_they_are_read() {
    let addresses = tcp("192.0.2.7:50000", "192.0.2.1:3306");
    assert_eq!(
        &addresses.to_v1()[..],
        b"PROXY TCP4 192.0.2.7 192.0.2.1 50000 3306\r\n"
    );
    assert_eq!(
        &addresses.to_v2()[..],
        b"\x0d\x0a\x0d\x0a\x00\x0d\x0a\x51\x55\x49\x54\x0a\x21\x11\x00\x0c\xc0\x00\x02\x07\xc0\x00\x02\x01\xc3\x50\x0c\xea"
    );
    let longest = tcp(
        "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535",
        "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535",
    );
    assert!(longest.to_v1().ends_with(b" 65535 65535\r\n"));
    for addresses in [addresses, longest] {
        assert_eq!(decoded(&addresses.to_v1()).addresses, addresses);
        assert_eq!(decoded(&addresses.to_v2()).addresses, addresses);
    }
    let unix = Addresses::Unix {
        source: b"",
        destination: b"/run/mysqld.sock",
    };
    for addresses in [Addresses::Local, Addresses::Unknown, unix] {
        assert_eq!(&addresses.to_v1()[..], b"PROXY UNKNOWN\r\n");
        assert_eq!(decoded(&addresses.to_v2()).addresses, addresses);
    }
    let nowhere = Addresses::Unix {
        source: b"",
        destination: &[b'x'; 109],
    };
    assert_eq!(decoded(&nowhere.to_v2()).addresses, Addresses::Unknown);
}

#[test]
fn an_address_of_ipv4_beside_one_of_ipv6_is_written_as_one_of_ipv6() {
    let mixed = tcp("192.0.2.7:5", "[2001:db8::1]:6");
    let written = tcp("[::ffff:192.0.2.7]:5", "[2001:db8::1]:6");
    assert_eq!(
        &mixed.to_v1()[..],
        b"PROXY TCP6 ::ffff:192.0.2.7 2001:db8::1 5 6\r\n"
    );
    assert_eq!(decoded(&mixed.to_v1()).addresses, written);
    assert_eq!(decoded(&mixed.to_v2()).addresses, written);
    // And two that only came by way of IPv6 as what they are.
    let mapped = tcp("[::ffff:192.0.2.7]:5", "[::ffff:192.0.2.1]:6");
    assert_eq!(
        &mapped.to_v1()[..],
        b"PROXY TCP4 192.0.2.7 192.0.2.1 5 6\r\n"
    );
    assert_eq!(mapped.to_v2().len(), 28);
}

#[test]
fn a_header_to_be_sent_shows_its_bytes() {
    let mut header = Encoded::default();
    header.put(b"PROXY \r\n");
    assert_eq!(&*header, b"PROXY \r\n");
    assert_eq!(format!("{header:?}"), r"Encoded(PROXY \r\n)");
}
