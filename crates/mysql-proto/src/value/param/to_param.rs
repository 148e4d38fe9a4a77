//! Types that a parameter can be made of.

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

use super::Param;
use crate::value::{Date, DateTime, Decimal, OwnedDecimal, Time, Value};

/// A type that a parameter can be made of, by reference: the same types as `Param` implements `From` for, references, boxes and
/// options of them, and with the feature `derive` of `onecopy-mysql` newtypes and enums of the caller's.
///
/// ```
/// use onecopy_mysql_proto::value::{Param, ToParam};
///
/// fn all(values: &[impl ToParam]) -> Vec<Param<'_>> {
///     values.iter().map(ToParam::to_param).collect()
/// }
///
/// assert_eq!(all(&["a", "b"]), [Param::Str("a"), Param::Str("b")]);
/// assert_eq!(all(&[Some(1), None]), [Param::Int(1), Param::Null]);
/// ```
#[diagnostic::on_unimplemented(
    message = "no parameter can be made of `{Self}`",
    note = "`Param` lists the types that it implements `From` for; a newtype or an enum can derive it: \
            #[derive(onecopy_mysql::ToParam)]"
)]
pub trait ToParam {
    /// Returns the parameter, which may borrow from the value.
    fn to_param(&self) -> Param<'_>;
}

macro_rules! to_param {
    ($($ty:ty)*) => {$(
        impl ToParam for $ty {
            #[inline]
            fn to_param(&self) -> Param<'_> {
                self.into()
            }
        }
    )*};
}

to_param! {
    bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64
    Date DateTime Time OwnedDecimal
    str String [u8] Vec<u8>
}

impl ToParam for Decimal<'_> {
    #[inline]
    fn to_param(&self) -> Param<'_> {
        Param::Decimal(*self)
    }
}

impl ToParam for Value<'_> {
    #[inline]
    fn to_param(&self) -> Param<'_> {
        (*self).into()
    }
}

impl ToParam for Param<'_> {
    #[inline]
    fn to_param(&self) -> Param<'_> {
        *self
    }
}

impl<const N: usize> ToParam for [u8; N] {
    #[inline]
    fn to_param(&self) -> Param<'_> {
        Param::Bytes(self)
    }
}

impl<T: ToParam> ToParam for Option<T> {
    #[inline]
    fn to_param(&self) -> Param<'_> {
        self.as_ref().map_or(Param::Null, T::to_param)
    }
}

macro_rules! by_reference {
    ($($ty:ty)*) => {$(
        impl<T: ToParam + ?Sized> ToParam for $ty {
            #[inline]
            fn to_param(&self) -> Param<'_> {
                (**self).to_param()
            }
        }
    )*};
}

by_reference! { &T &mut T Box<T> Rc<T> Arc<T> }

impl<T: ToParam + ToOwned + ?Sized> ToParam for Cow<'_, T> {
    #[inline]
    fn to_param(&self) -> Param<'_> {
        (**self).to_param()
    }
}
