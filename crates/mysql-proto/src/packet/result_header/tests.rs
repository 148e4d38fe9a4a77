use super::*;

const PLAIN: Capabilities = Capabilities::empty();
const CACHE: Capabilities = Capabilities::MARIADB_CACHE_METADATA;

fn columns(payload: &[u8], capabilities: Capabilities) -> Result<(u32, bool), DecodeErrorKind> {
    match ResultHeader::decode(payload, capabilities) {
        Ok(ResultHeader::Columns {
            count,
            metadata_follows,
        }) => Ok((count, metadata_follows)),
        Ok(other) => panic!("{other:?}"),
        Err(error) => Err(error.kind),
    }
}

#[test]
fn a_count_announces_columns() {
    assert_eq!(columns(&[0x01], PLAIN), Ok((1, true)));
    assert_eq!(columns(&[0xFA], PLAIN), Ok((250, true)));
    assert_eq!(columns(&[0xFC, 0x00, 0x10], PLAIN), Ok((4096, true)));
    // Captured from MariaDB 10.11.19: more than a table can have, and more than 16 bits count.
    assert_eq!(columns(&[0xFC, 0x01, 0x10], PLAIN), Ok((4097, true)));
    let wide = [0xFD, 0x70, 0x11, 0x01];
    assert_eq!(columns(&wide, PLAIN), Ok((70_000, true)));
}

#[test]
fn a_count_that_no_server_can_mean_is_refused() {
    for payload in [
        &[0xFC, 0x00, 0x00][..],            // 0 the long way
        &[0xFE, 0, 0, 0, 0, 2, 0, 0, 0],    // 2^33
        &[0xFE, 0, 0, 0, 0, 0, 0, 0, 0x80], // 2^63
    ] {
        assert_eq!(
            columns(payload, PLAIN),
            Err(DecodeErrorKind::BadValue),
            "{payload:?}"
        );
    }
}

#[test]
fn a_header_cut_short_empty_or_too_long_is_refused() {
    assert_eq!(columns(&[], PLAIN), Err(DecodeErrorKind::Truncated));
    assert_eq!(
        columns(&[0xFC, 0x01], PLAIN),
        Err(DecodeErrorKind::Truncated)
    );
    assert_eq!(
        columns(&[0xFE, 0x00, 0x00, 0x02, 0x00], PLAIN),
        Err(DecodeErrorKind::Truncated)
    );
    assert_eq!(
        columns(&[0x01, 0x01], PLAIN),
        Err(DecodeErrorKind::Trailing)
    );
    assert_eq!(columns(&[0x01], CACHE), Err(DecodeErrorKind::Truncated));
}

#[test]
fn mariadb_says_whether_definitions_follow() {
    // Captured from MariaDB 10.11.19: a query, then an execution whose columns the client has.
    assert_eq!(columns(&[0x05, 0x01], CACHE), Ok((5, true)));
    assert_eq!(columns(&[0x01, 0x00], CACHE), Ok((1, false)));
    assert_eq!(
        columns(&[0x01, 0x02], CACHE),
        Err(DecodeErrorKind::BadValue)
    );
}

#[test]
fn mysql_says_it_in_the_same_place() {
    let optional = Capabilities::OPTIONAL_RESULTSET_METADATA;
    assert_eq!(columns(&[0x05, 0x01], optional), Ok((5, true)));
    assert_eq!(columns(&[0x05, 0x00], optional), Ok((5, false)));
    assert_eq!(columns(&[0x05], optional), Err(DecodeErrorKind::Truncated));
}

#[test]
fn ok_err_progress_and_local_infile_are_told_apart() {
    let ok = ResultHeader::decode(&[0, 1, 0, 2, 0, 0, 0], PLAIN).unwrap();
    assert!(matches!(
        ok,
        ResultHeader::Ok(OkPacket {
            affected_rows: 1,
            ..
        })
    ));

    let err = ResultHeader::decode(b"\xff\x1e\x04#42S22no", PLAIN).unwrap();
    assert!(matches!(err, ResultHeader::Err(ErrReply::Error(error)) if error.code == 1054));

    let report = b"\xff\xff\xff\x01\x01\x02\x00\x00\x00\x00";
    let progress = ResultHeader::decode(report, Capabilities::MARIADB_PROGRESS).unwrap();
    assert!(matches!(progress, ResultHeader::Err(ErrReply::Progress(_))));

    // Captured from MariaDB 10.11.19.
    let infile = ResultHeader::decode(b"\xfb/etc/hostname", PLAIN).unwrap();
    assert_eq!(
        infile,
        ResultHeader::LocalInfile {
            file_name: b"/etc/hostname"
        }
    );
}

#[test]
fn headers_are_written_as_they_are_read() {
    let mut out = Vec::new();
    ResultHeader::encode_columns(300, true, PLAIN, &mut out);
    assert_eq!(out, [0xFC, 0x2C, 0x01]);
    out.clear();
    ResultHeader::encode_columns(5, false, CACHE, &mut out);
    assert_eq!(out, [0x05, 0x00]);
    out.clear();
    ResultHeader::encode_local_infile(b"x.csv", &mut out);
    assert_eq!(out, b"\xfbx.csv");
}
