//! Values as people write them: sizes, times, addresses, passwords.

use std::fmt;
use std::time::Duration;

use onecopy_mysql_proto::auth::Secret;
use onecopy_net::Endpoint;
use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};

/// Bytes: a number, or a number and a unit, as `"256MiB"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size(pub(super) usize);

/// The same, or `"off"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SizeOrOff(pub(super) Option<usize>);

/// A time: a number and a unit, as `"5s"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Time(pub(super) Duration);

/// The same, or `"off"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TimeOrOff(pub(super) Option<Duration>);

/// A number, or `"off"` for no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CountOrOff(pub(super) Option<u32>);

/// `"HOST:PORT"`, or the path of a Unix socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place(pub(super) Endpoint);

/// Several of them, or one.
#[derive(Debug, Clone)]
pub(super) struct Places(pub(super) Vec<Endpoint>);

/// A password, which no error shows.
#[derive(Debug, Clone)]
pub(super) struct Password(pub(super) Secret);

/// Parses an address: `HOST:PORT`, `[IPV6]:PORT`, or the path of a Unix socket, which contains a `/`.
///
/// # Errors
/// Fails with one line that says what is missing.
pub fn endpoint(text: &str) -> Result<Endpoint, String> {
    if text.contains('/') {
        return Ok(Endpoint::Unix(text.into()));
    }
    if let Some((address, behind)) = text.strip_prefix('[').and_then(|rest| rest.split_once(']'))
        && !behind.starts_with(':')
    {
        return Err(format!(
            "`{text}` has no ':' and port behind the ']'; write [{address}]:PORT"
        ));
    }
    let Some((host, port)) = text.rsplit_once(':') else {
        let is_port = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        return Err(match is_port {
            true => format!("`{text}` has no host; write HOST:PORT, e.g. 127.0.0.1:{text}"),
            false => format!(
                "`{text}` has no port; write HOST:PORT, e.g. {text}:3306, or the path of a Unix socket with a `/` in it"
            ),
        });
    };
    let port = port
        .parse()
        .map_err(|_| format!("`{port}` is not a valid port"))?;
    let is_bracketed = host.starts_with('[') && host.ends_with(']');
    let host = if is_bracketed {
        &host[1..host.len() - 1]
    } else {
        host
    };
    if host.is_empty() {
        return Err(format!(
            "`{text}` has no host; write HOST:PORT, e.g. 127.0.0.1{text}, or 0.0.0.0{text} for every address"
        ));
    }
    if host.contains(':') && !is_bracketed {
        return Err(format!(
            "the IPv6 address in `{text}` needs brackets: [{host}]:{port}"
        ));
    }
    let host = host.to_owned();
    Ok(Endpoint::Tcp { host, port })
}

fn size(text: &str) -> Option<usize> {
    let (number, unit) = number(text)?;
    let shift = match unit {
        "" | "B" => 0,
        "KiB" => 10,
        "MiB" => 20,
        "GiB" => 30,
        _ => return None,
    };
    usize::try_from(number).ok()?.checked_mul(1 << shift)
}

fn time(text: &str) -> Option<Duration> {
    let (number, unit) = number(text)?;
    match unit {
        "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        "m" => number.checked_mul(60).map(Duration::from_secs),
        "h" => number.checked_mul(3_600).map(Duration::from_secs),
        "d" => number.checked_mul(86_400).map(Duration::from_secs),
        _ => None,
    }
    // Beyond it deadlines could not be reckoned.
    .filter(|time| time.as_secs() <= 100 * 365 * 86_400)
}

fn number(text: &str) -> Option<(u64, &str)> {
    let end = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(end);
    Some((number.parse().ok()?, unit.trim_start()))
}

const SIZES: &str = "a size: a number of bytes, or \"64KiB\", \"256MiB\", \"1GiB\"";
const TIMES: &str = "a time with its unit: \"250ms\", \"5s\", \"10m\", \"1h\", \"1d\"";

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Sizes;
        impl Visitor<'_> for Sizes {
            type Value = Size;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(SIZES)
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<Size, E> {
                let size = usize::try_from(value).ok().map(Size);
                size.ok_or_else(|| E::invalid_value(Unexpected::Signed(value), &self))
            }

            fn visit_str<E: Error>(self, value: &str) -> Result<Size, E> {
                let size = size(value).map(Size);
                size.ok_or_else(|| E::invalid_value(Unexpected::Str(value), &self))
            }
        }
        from.deserialize_any(Sizes)
    }
}

impl<'de> Deserialize<'de> for SizeOrOff {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        const EXPECTED: &str = "\"off\", or a size with its unit: \"64KiB\", \"256MiB\", \"1GiB\"";
        let text = text(from, EXPECTED)?;
        if text == "off" {
            return Ok(Self(None));
        }
        match size(&text) {
            Some(size) => Ok(Self(Some(size))),
            None => Err(D::Error::invalid_value(Unexpected::Str(&text), &EXPECTED)),
        }
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = text(from, TIMES)?;
        time(&text)
            .map(Time)
            .ok_or_else(|| D::Error::invalid_value(Unexpected::Str(&text), &TIMES))
    }
}

impl<'de> Deserialize<'de> for TimeOrOff {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        const EXPECTED: &str =
            "\"off\", or a time with its unit: \"250ms\", \"5s\", \"10m\", \"1h\", \"1d\"";
        let text = text(from, EXPECTED)?;
        if text == "off" {
            return Ok(Self(None));
        }
        match time(&text) {
            Some(time) if time > Duration::ZERO => Ok(Self(Some(time))),
            _ => Err(D::Error::invalid_value(Unexpected::Str(&text), &EXPECTED)),
        }
    }
}

impl<'de> Deserialize<'de> for CountOrOff {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Counts;
        impl Visitor<'_> for Counts {
            type Value = CountOrOff;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number from 1 on, or \"off\"")
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<CountOrOff, E> {
                match u32::try_from(value) {
                    Ok(count) if count > 0 => Ok(CountOrOff(Some(count))),
                    _ => Err(E::invalid_value(Unexpected::Signed(value), &self)),
                }
            }

            fn visit_str<E: Error>(self, value: &str) -> Result<CountOrOff, E> {
                match value {
                    "off" => Ok(CountOrOff(None)),
                    _ => Err(E::invalid_value(Unexpected::Str(value), &self)),
                }
            }
        }
        from.deserialize_any(Counts)
    }
}

impl<'de> Deserialize<'de> for Place {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = text(
            from,
            "an address: \"HOST:PORT\", or the path of a Unix socket",
        )?;
        endpoint(&text).map(Self).map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Places {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Several;
        impl<'de> Visitor<'de> for Several {
            type Value = Places;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "an address, \"HOST:PORT\" or the path of a Unix socket, or a list of them",
                )
            }

            fn visit_str<E: Error>(self, value: &str) -> Result<Places, E> {
                let endpoint = endpoint(value).map_err(E::custom)?;
                Ok(Places(vec![endpoint]))
            }

            fn visit_seq<A: serde::de::SeqAccess<'de>>(
                self,
                mut list: A,
            ) -> Result<Places, A::Error> {
                let mut places = Vec::new();
                while let Some(Place(endpoint)) = list.next_element()? {
                    places.push(endpoint);
                }
                Ok(Places(places))
            }
        }
        from.deserialize_any(Several)
    }
}

impl<'de> Deserialize<'de> for Password {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        // The words of what did not fit would show it.
        String::deserialize(from)
            .map(|text| Self(Secret::new(text)))
            .map_err(|_| D::Error::custom("a password is a text in quotes"))
    }
}

/// A text; where it is none, the error says what was expected.
fn text<'de, D: Deserializer<'de>>(from: D, expected: &'static str) -> Result<String, D::Error> {
    struct Text(&'static str);
    impl Visitor<'_> for Text {
        type Value = String;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }

        fn visit_str<E: Error>(self, value: &str) -> Result<String, E> {
            Ok(value.to_owned())
        }
    }
    from.deserialize_str(Text(expected))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units_of_two() {
        for (text, bytes) in [
            ("0", Some(0)),
            ("64KiB", Some(64 << 10)),
            ("256 MiB", Some(256 << 20)),
            ("1GiB", Some(1 << 30)),
            ("1MB", None),
            ("MiB", None),
            ("-1", None),
            ("99999999999GiB", None),
        ] {
            assert_eq!(size(text), bytes, "{text}");
        }
    }

    #[test]
    fn times_have_a_unit() {
        for (text, millis) in [
            ("0s", Some(0)),
            ("250ms", Some(250)),
            ("5s", Some(5_000)),
            ("10m", Some(600_000)),
            ("1h", Some(3_600_000)),
            ("1d", Some(86_400_000)),
            ("5", None),
            ("five", None),
            ("1.5s", None),
            ("18446744073709551615d", None),
            ("18446744073709551615s", None),
        ] {
            assert_eq!(time(text), millis.map(Duration::from_millis), "{text}");
        }
    }

    #[test]
    fn addresses_have_a_host_and_a_port_or_a_path() {
        let tcp = |host: &str, port| {
            let host = host.to_owned();
            Ok(Endpoint::Tcp { host, port })
        };
        assert_eq!(endpoint("db:3306"), tcp("db", 3306));
        assert_eq!(endpoint("[::1]:3307"), tcp("::1", 3307));
        assert_eq!(
            endpoint("/run/x.sock"),
            Ok(Endpoint::Unix("/run/x.sock".into()))
        );
        for (text, said) in [
            ("db", "`db` has no port; write HOST:PORT, e.g. db:3306"),
            (
                "3307",
                "`3307` has no host; write HOST:PORT, e.g. 127.0.0.1:3307",
            ),
            (
                ":3306",
                "`:3306` has no host; write HOST:PORT, e.g. 127.0.0.1:3306",
            ),
            ("db:", "`` is not a valid port"),
            ("db:99999", "`99999` is not a valid port"),
            ("::1:3307", "needs brackets: [::1]:3307"),
            ("", "`` has no port"),
        ] {
            let error = endpoint(text).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn a_port_behind_brackets_without_its_colon_is_an_error_that_says_what_to_write() {
        for text in ["[::1]3307", "[::1]", "[::1].x:3307"] {
            let error = endpoint(text).unwrap_err();
            assert!(error.contains("write [::1]:PORT"), "{text}: {error}");
        }
    }
}
