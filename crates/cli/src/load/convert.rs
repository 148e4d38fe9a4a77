//! Fields as parameters.

use onecopy_mysql::Param;

use super::records::Field;
use crate::table::ValueKind;

/// The parameter for a field of a column of this kind.
///
/// # Errors
/// The field can't be a value of the column.
#[inline]
pub(super) fn param(kind: ValueKind, field: Field<'_>) -> Result<Param<'_>, String> {
    let bytes = match field {
        Field::Null => return Ok(Param::Null),
        Field::Missing => return Ok(Param::Default),
        Field::Value(bytes) => bytes,
    };
    Ok(match kind {
        // What is no integer is the server's to refuse: it tells what it is worth.
        ValueKind::Integer => integer(bytes).unwrap_or(Param::Text(bytes)),
        ValueKind::Bit => match integer(bytes) {
            Some(Param::Int(number)) if number >= 0 => Param::UInt(number.unsigned_abs()),
            Some(number @ Param::UInt(_)) => number,
            _ => {
                return Err(format!(
                    "'{}' is not a number, which a BIT column needs",
                    bytes.escape_ascii()
                ));
            }
        },
        ValueKind::Bytes => Param::Bytes(bytes),
        ValueKind::Float | ValueKind::Text => Param::Text(bytes),
    })
}

fn integer(bytes: &[u8]) -> Option<Param<'_>> {
    let text = str::from_utf8(bytes).ok()?;
    match text.parse() {
        Ok(number) => Some(Param::Int(number)),
        Err(_) => text.parse().ok().map(Param::UInt),
    }
}

/// The memory of a row's parameters, for the next row.
pub(super) fn recycle<'new>(mut params: Vec<Param<'_>>) -> Vec<Param<'new>> {
    params.clear();
    // The standard library collects into the same allocation.
    params.into_iter().map(|_| Param::Null).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_numbers_where_they_fit_one() {
        for (text, expected) in [
            ("-9223372036854775808", Param::Int(i64::MIN)),
            ("18446744073709551615", Param::UInt(u64::MAX)),
            ("007", Param::Int(7)),
            ("1.5", Param::Text(b"1.5")),
            ("", Param::Text(b"")),
        ] {
            assert_eq!(
                param(ValueKind::Integer, Field::Value(text.as_bytes())),
                Ok(expected)
            );
        }
        assert_eq!(
            param(ValueKind::Bit, Field::Value(b"5")),
            Ok(Param::UInt(5))
        );
        assert!(param(ValueKind::Bit, Field::Value(b"x")).is_err());
        assert_eq!(param(ValueKind::Bytes, Field::Missing), Ok(Param::Default));
    }

    #[test]
    fn the_memory_of_parameters_is_used_again() {
        let params = vec![Param::Int(1); 100];
        let at = params.as_ptr() as usize;
        let again: Vec<Param<'static>> = recycle(params);
        assert_eq!((again.as_ptr() as usize, again.capacity()), (at, 100));
    }
}
