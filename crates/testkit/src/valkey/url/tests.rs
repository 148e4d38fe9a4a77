use super::*;

#[test]
fn a_password_with_delimiters_stays_one_part_of_the_url() {
    assert_eq!(
        tcp(&login("", "p@ss/w:rd?#%"), 6379),
        "redis://:p%40ss%2Fw%3Ard%3F%23%25@127.0.0.1:6379"
    );
}

#[test]
fn a_sockets_path_keeps_its_slashes_and_nothing_else() {
    assert_eq!(
        socket("", Path::new("/tmp/a b/ö?/socket")),
        "redis+unix:///tmp/a%20b/%C3%B6%3F/socket"
    );
}
