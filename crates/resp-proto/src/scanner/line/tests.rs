use super::*;

/// What the fast way gives of a length, which has to be what the slow one does, or nothing.
fn check(line: &[u8]) {
    for cut in 1..=line.len() {
        let bytes = &line[..cut];
        let told = match length(bytes, 0) {
            Line::Length(number, next) => Some((usize::try_from(number).unwrap(), next)),
            _ => None,
        };
        match fast_length(bytes, 0) {
            None => assert!(
                told.is_none_or(|(number, _)| number > 999_999_999),
                "{bytes:?}"
            ),
            fast => assert_eq!(fast, told, "{bytes:?}"),
        }
    }
}

#[test]
fn a_length_is_the_same_the_fast_way_whatever_stands_behind_it() {
    let edges = (0..10).flat_map(|zeros| {
        let power = 10_u64.pow(zeros);
        [power - 1, power, power + 1, 123_456_789 % (power * 10)]
    });
    for number in (0..2_000).chain(edges) {
        for behind in [
            &b""[..],
            b"x",
            b"0123456789",
            b"\r\n\r\n$1\r\n",
            b"\xff\xff\xff\xff\xff\xff\xff",
        ] {
            let mut line = format!("${number}\r\n").into_bytes();
            line.extend_from_slice(behind);
            check(&line);
        }
    }
}

#[test]
fn no_other_byte_is_taken_for_a_digit_or_for_a_line_end() {
    for digits in 0..8 {
        for byte in 0..=u8::MAX {
            let mut line = b"$1234567\r\n........".to_vec();
            line.truncate(1 + digits);
            line.push(byte);
            line.extend_from_slice(b"1\r\n.......");
            check(&line);
            let mut line = [b"$", &b"1234567"[..digits], b"\r\n........"].concat();
            line[1 + digits] = byte;
            check(&line);
            line[1 + digits] = b'\r';
            line[2 + digits] = byte;
            check(&line);
        }
    }
}
