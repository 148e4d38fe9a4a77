use super::*;

#[test]
fn the_password_goes_out_on_verified_channels_only() {
    let password = Secret::new("secret");
    for channel in [Channel::UnixSocket, Channel::TlsVerified] {
        assert_eq!(respond(&password, channel).unwrap().expose(), b"secret\0");
    }
    for channel in [Channel::Plain, Channel::TlsUnverified] {
        let error = respond(&password, channel).unwrap_err();
        assert_eq!(
            error,
            AuthError::InsecureChannel {
                plugin: Plugin::ClearPassword,
                channel
            }
        );
        assert!(!error.to_string().contains("secret"));
    }
}
