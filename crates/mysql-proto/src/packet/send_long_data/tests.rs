use super::*;
use crate::packet::testing::assert_refused_when_cut;

#[test]
fn data_is_read_and_written() {
    let payload = [0x18, 0x01, 0x02, 0x03, 0x04, 0x05, 0x00, b'a', b'b'];
    let long = SendLongData::decode(&payload).unwrap();
    assert_eq!(
        long,
        SendLongData {
            statement_id: 0x0403_0201,
            parameter: 5,
            data: b"ab"
        }
    );
    let mut out = Vec::new();
    long.encode(&mut out);
    assert_eq!(out, payload);
    assert_refused_when_cut(&payload, &[7, 8], SendLongData::decode);
}
