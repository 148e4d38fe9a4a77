use super::*;

#[test]
fn an_errors_text_is_one_line_whatever_a_server_names_and_says() {
    let server = Error::server_error(ServerError {
        code: 1064,
        sql_state: None,
        message: "near 'a\nb'".into(),
    });
    assert_eq!(server.to_string(), r"server error 1064: near 'a\nb'");
    let message = server.server().map(|server| server.message.as_str());
    assert_eq!(message, Some("near 'a\nb'"));
    let taken = Error::taken("0 (a\u{1b}[2Jb)".into());
    assert_eq!(
        taken.to_string(),
        r"column 0 (a\u{1b}[2Jb) was moved out of the row"
    );
    let null = FromValueError::Null { wanted: "i64" };
    let value = Error::value("1 (\r\n)".into(), null);
    assert!(value.to_string().starts_with(r"column 1 (\r\n): "));
}
