use super::ColumnType;

#[test]
fn every_byte_is_a_type_with_a_name() {
    for byte in 0..=0xFF {
        let ty = ColumnType(byte);
        assert_eq!(ty.is_known(), ty.name() != "UNKNOWN", "{ty:?}");
        assert!(!ty.to_string().is_empty());
    }
}

#[test]
fn the_bytes_are_those_of_the_specification() {
    for (ty, byte, name) in [
        (ColumnType::DECIMAL, 0x00, "DECIMAL"),
        (ColumnType::TINY, 0x01, "TINY"),
        (ColumnType::SHORT, 0x02, "SHORT"),
        (ColumnType::LONG, 0x03, "LONG"),
        (ColumnType::FLOAT, 0x04, "FLOAT"),
        (ColumnType::DOUBLE, 0x05, "DOUBLE"),
        (ColumnType::NULL, 0x06, "NULL"),
        (ColumnType::TIMESTAMP, 0x07, "TIMESTAMP"),
        (ColumnType::LONGLONG, 0x08, "LONGLONG"),
        (ColumnType::INT24, 0x09, "INT24"),
        (ColumnType::DATE, 0x0A, "DATE"),
        (ColumnType::TIME, 0x0B, "TIME"),
        (ColumnType::DATETIME, 0x0C, "DATETIME"),
        (ColumnType::YEAR, 0x0D, "YEAR"),
        (ColumnType::NEWDATE, 0x0E, "NEWDATE"),
        (ColumnType::VARCHAR, 0x0F, "VARCHAR"),
        (ColumnType::BIT, 0x10, "BIT"),
        (ColumnType::VECTOR, 242, "VECTOR"),
        (ColumnType::JSON, 245, "JSON"),
        (ColumnType::NEWDECIMAL, 246, "NEWDECIMAL"),
        (ColumnType::ENUM, 247, "ENUM"),
        (ColumnType::SET, 248, "SET"),
        (ColumnType::TINY_BLOB, 249, "TINY_BLOB"),
        (ColumnType::MEDIUM_BLOB, 250, "MEDIUM_BLOB"),
        (ColumnType::LONG_BLOB, 251, "LONG_BLOB"),
        (ColumnType::BLOB, 252, "BLOB"),
        (ColumnType::VAR_STRING, 253, "VAR_STRING"),
        (ColumnType::STRING, 254, "STRING"),
        (ColumnType::GEOMETRY, 255, "GEOMETRY"),
    ] {
        assert_eq!((ty.0, ty.name()), (byte, name));
    }
}

#[test]
fn an_unknown_type_shows_its_byte() {
    assert_eq!(ColumnType(0x9A).to_string(), "type 0x9a");
    assert_eq!(format!("{:?}", ColumnType(0x9A)), "UNKNOWN (0x9a)");
    assert_eq!(format!("{:?}", ColumnType::LONG), "LONG (0x03)");
}
