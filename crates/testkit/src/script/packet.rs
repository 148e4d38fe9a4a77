//! Packets for scripts: a second, plain writing of them, so that an encoder is not tested against itself.

use super::HEADER;

const MAX_BODY: usize = 0xFF_FFFF;

/// One payload as packets, counted on from `sequence`; one of a multiple of 0xFFFFFF bytes ends with an empty packet.
pub fn packets(sequence: &mut u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(payload.len() + HEADER * 2);
    let mut rest = payload;
    loop {
        let (body, later) = rest.split_at(rest.len().min(MAX_BODY));
        let [a, b, c, ..] = body.len().to_le_bytes();
        bytes.extend([a, b, c, *sequence]);
        bytes.extend_from_slice(body);
        *sequence = sequence.wrapping_add(1);
        rest = later;
        if body.len() < MAX_BODY {
            return bytes;
        }
    }
}

/// A length-encoded integer in its shortest form.
pub fn lenenc(value: usize) -> Vec<u8> {
    let bytes = value.to_le_bytes();
    let mut out = match value {
        0..0xFB => vec![],
        0xFB..0x1_0000 => vec![0xFC],
        0x1_0000..0x100_0000 => vec![0xFD],
        _ => vec![0xFE],
    };
    let width = match out.first() {
        None => 1,
        Some(0xFC) => 2,
        Some(0xFD) => 3,
        Some(_) => 8,
    };
    out.extend_from_slice(&bytes[..width]);
    out
}

/// The payload of a text row.
pub fn text_row(values: &[Option<&[u8]>]) -> Vec<u8> {
    let mut row = Vec::with_capacity(values.iter().flatten().map(|value| value.len() + 9).sum());
    for value in values {
        match value {
            None => row.push(0xFB),
            Some(value) => {
                row.extend(lenenc(value.len()));
                row.extend_from_slice(value);
            }
        }
    }
    row
}
