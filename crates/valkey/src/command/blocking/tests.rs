use std::time::Duration;

use super::Blocking;

#[test]
fn zero_is_for_ever_and_what_the_server_refuses_does_not_wait() {
    assert_eq!(Blocking::seconds(0.0), Blocking::Forever);
    assert_eq!(Blocking::seconds(1e300), Blocking::Forever);
    assert_eq!(
        Blocking::seconds(1.5),
        Blocking::AtMost(Duration::from_millis(1500))
    );
    assert_eq!(Blocking::seconds(-1.0), Blocking::AtMost(Duration::ZERO));
    assert_eq!(
        Blocking::seconds(f64::NAN),
        Blocking::AtMost(Duration::ZERO)
    );
    assert_eq!(Blocking::milliseconds(0), Blocking::Forever);
    assert_eq!(
        Blocking::milliseconds(20),
        Blocking::AtMost(Duration::from_millis(20))
    );
    assert_eq!(
        Blocking::milliseconds(i64::MIN),
        Blocking::AtMost(Duration::ZERO)
    );
}
