use super::*;

/// All commands, read through a buffer of so many bytes.
fn read(input: &[u8], buffer: usize) -> Result<Vec<Vec<Vec<u8>>>, String> {
    let mut source = Source::new(BufReader::with_capacity(buffer, input));
    let mut commands = Vec::new();
    loop {
        match source.next() {
            Ok(Some(words)) => commands.push(words.iter().map(<[u8]>::to_vec).collect()),
            Ok(None) => {
                assert_eq!(source.bytes(), input.len() as u64);
                return Ok(commands);
            }
            Err(Failure::Other(text)) => return Err(text),
            Err(other) => panic!("{other:?}"),
        }
    }
}

#[test]
fn lines_and_arrays_may_be_mixed_and_blank_lines_are_passed_over() {
    let input =
        b"SET a \"b c\"\r\n\n*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$4\r\n\r\n*1\r\n  \n*0\r\nGET a\nPING";
    for buffer in 1..=input.len() {
        assert_eq!(
            read(input, buffer).unwrap(),
            [
                vec![b"SET".to_vec(), b"a".to_vec(), b"b c".to_vec()],
                vec![b"SET".to_vec(), b"k".to_vec(), b"\r\n*1".to_vec()],
                vec![b"GET".to_vec(), b"a".to_vec()],
                vec![b"PING".to_vec()],
            ],
            "buffer of {buffer}"
        );
    }
    assert!(read(b"", 16).unwrap().is_empty());
}

#[test]
fn an_array_cut_anywhere_is_an_error_that_says_so() {
    let whole = b"*2\r\n$3\r\nGET\r\n$5\r\nkey:1\r\n";
    for end in 1..whole.len() {
        let error = read(&whole[..end], 8).unwrap_err();
        assert!(
            error.starts_with("command 1 of standard input, near byte "),
            "{end}: {error}"
        );
    }
}

#[test]
fn what_is_no_header_is_shown() {
    for (input, why) in [
        (
            &b"*x\r\n"[..],
            "near byte 4: *x\\r\\n is not a line *LENGTH",
        ),
        (
            b"PING\n*-1\r\n",
            "command 2 of standard input, near byte 10: *-1\\r\\n is not a line",
        ),
        (
            b"*1\r\n:3\r\n",
            "near byte 8: :3\\r\\n is not a line $LENGTH",
        ),
        (b"*1\r\n$3\nGET\r\n", "$3\\n is not a line $LENGTH"),
        (b"*9999999\r\n", "*9999999 is over 1048576"),
        (b"*1\r\n$4294967297\r\n", "$4294967297 is over 4294967296"),
        (b"*1\r\n$2\r\nGET\r\n", "does not end with CR LF"),
        (
            b"*1111111111111111111111111111111111111\r\n",
            "is not a line *LENGTH",
        ),
        (b"SET a \"b", "near byte 8: a quote has no end"),
    ] {
        let error = read(input, 64).unwrap_err();
        assert!(error.contains(why), "{}: {error}", input.escape_ascii());
    }
}

#[test]
fn a_claim_costs_no_memory() {
    let mut source = Source::new(BufReader::new(&b"*1\r\n$4294967296\r\nabc"[..]));
    assert!(source.next().is_err());
    assert!(source.words.capacity() < 1 << 10);
}
