use super::*;

#[test]
fn a_password_with_delimiters_stays_one_part_of_the_url() {
    assert_eq!(
        tcp("p@ss/w:rd?#%", 3306),
        "mysql://root:p%40ss%2Fw%3Ard%3F%23%25@127.0.0.1:3306/test"
    );
}

#[test]
fn a_socket_path_is_encoded_byte_by_byte() {
    assert_eq!(
        socket("secret", Path::new("/tmp/a b/ö/socket")),
        "mysql://root:secret@localhost/test?socket=%2Ftmp%2Fa%20b%2F%C3%B6%2Fsocket"
    );
}
