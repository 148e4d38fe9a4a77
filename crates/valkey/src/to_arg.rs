//! Values of the caller's types as arguments.

use std::borrow::Cow;

use bytes::Bytes;

use crate::Arg;

/// A type whose values can be arguments. With the feature `derive` it can be derived for newtypes and for enums without data, and
/// `#[derive(ToPairs)]` uses it for the fields of structs.
///
/// ```
/// use onecopy_valkey::{Arg, ToArg};
///
/// struct UserId(u64);
///
/// impl ToArg for UserId {
///     fn to_arg(&self) -> Arg<'_> {
///         self.0.into()
///     }
/// }
/// assert_eq!(UserId(17).to_arg().len(), 2);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be an argument of a command",
    note = "a newtype or an enum without data can derive it: #[derive(onecopy_valkey::ToArg)], with the feature `derive`"
)]
pub trait ToArg {
    /// Returns the argument, which may borrow from the value.
    fn to_arg(&self) -> Arg<'_>;

    /// Returns whether there is no value: such a field of a struct is left out.
    fn is_absent(&self) -> bool {
        false
    }
}

macro_rules! by_value {
    ($($type:ty),+) => {$(
        impl ToArg for $type {
            fn to_arg(&self) -> Arg<'_> {
                Arg::from(*self)
            }
        }
    )+};
}

by_value!(i64, i32, i16, u64, u32, u16, usize, f64, f32);

macro_rules! by_reference {
    ($($type:ty),+) => {$(
        impl ToArg for $type {
            fn to_arg(&self) -> Arg<'_> {
                Arg::from(self)
            }
        }
    )+};
}

by_reference!(str, [u8], String, Vec<u8>, Bytes);

/// 1 or 0, as replies have it.
impl ToArg for bool {
    fn to_arg(&self) -> Arg<'_> {
        Arg::from(i64::from(*self))
    }
}

/// Empty if there is no value; fields of structs are left out then.
impl<T: ToArg> ToArg for Option<T> {
    fn to_arg(&self) -> Arg<'_> {
        self.as_ref().map_or_else(|| Arg::from(""), T::to_arg)
    }

    fn is_absent(&self) -> bool {
        self.as_ref().is_none_or(T::is_absent)
    }
}

impl<T: ToArg + ?Sized> ToArg for &T {
    fn to_arg(&self) -> Arg<'_> {
        T::to_arg(self)
    }

    fn is_absent(&self) -> bool {
        T::is_absent(self)
    }
}

impl<T: ToArg + ?Sized> ToArg for Box<T> {
    fn to_arg(&self) -> Arg<'_> {
        T::to_arg(self)
    }

    fn is_absent(&self) -> bool {
        T::is_absent(self)
    }
}

impl<T: ToArg + ToOwned + ?Sized> ToArg for Cow<'_, T> {
    fn to_arg(&self) -> Arg<'_> {
        T::to_arg(self)
    }

    fn is_absent(&self) -> bool {
        T::is_absent(self)
    }
}
