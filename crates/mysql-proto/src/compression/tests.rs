use super::*;

mod captured;
mod decoding;
mod frame_ids;
mod hostile;
mod packet_ids;
mod round_trip;

/// Every algorithm that is built in.
fn algorithms() -> Vec<Algorithm> {
    let all = [
        Algorithm::Zlib,
        #[cfg(feature = "zstd")]
        Algorithm::Zstd,
    ];
    all.to_vec()
}

/// What a stream of frames comes to: its content, and the sequence ids.
type Read = (Vec<u8>, Vec<u8>);

/// Reads frames that come in pieces of `most` bytes into room for `room` at a time.
fn read(
    algorithm: Algorithm,
    stream: &[u8],
    most: usize,
    room: usize,
) -> Result<Read, CompressionError> {
    let mut decoder = Decoder::new(algorithm);
    let mut inflaters = Inflaters::new();
    let (mut content, mut ids) = (Vec::new(), Vec::new());
    let mut output = vec![0; room];
    for piece in stream.chunks(most) {
        let mut piece = piece;
        loop {
            let decoded = decoder.decode(piece, &mut output, &mut inflaters)?;
            piece = &piece[decoded.taken..];
            content.extend_from_slice(&output[..decoded.put]);
            match decoded.event {
                Some(FrameEvent::Began { sequence, .. }) => ids.push(sequence),
                // What fills the room may continue in the next.
                None if decoded.put < room => break,
                _ => {}
            }
            if piece.is_empty() && decoder.is_between_frames() {
                break;
            }
        }
        assert!(piece.is_empty(), "all that has come is taken");
    }
    assert!(decoder.is_between_frames());
    assert_eq!(decoder.memory(), 0);
    Ok((content, ids))
}

/// One frame with this header and content.
fn frame(length: usize, sequence: u8, before: usize, content: &[u8]) -> Vec<u8> {
    let [a, b, c, ..] = length.to_le_bytes();
    let [d, e, f, ..] = before.to_le_bytes();
    [&[a, b, c, sequence, d, e, f], content].concat()
}

/// Bytes that no algorithm makes shorter.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let bytes = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    });
    bytes.flatten().take(length).collect()
}
