//! Tuples, by position.

use onecopy_mysql_proto::value::FromValue;

use super::{FromRow, PlannedRow, Planner};
use crate::Error;

/// A tuple of values from the first columns, in order; further columns are ignored.
macro_rules! tuples {
    ($($count:literal: $($ty:ident $slot:ident)*;)*) => {$(
        impl<'r, $($ty: FromValue<'r>),*> FromRow<'r> for ($($ty,)*) {
            const COLUMNS: usize = $count;

            fn plan(planner: &mut Planner<'_>) -> Result<(), Error> {
                $(planner.next_column::<$ty>()?;)*
                Ok(())
            }

            #[inline]
            fn from_row(row: &PlannedRow<'r>) -> Result<Self, Error> {
                let ([$($slot),*], _) = row.take()?;
                Ok(($(row.get($slot)?,)*))
            }
        }
    )*};
}

tuples! {
    1: A a;
    2: A a B b;
    3: A a B b C c;
    4: A a B b C c D d;
    5: A a B b C c D d E e;
    6: A a B b C c D d E e F f;
    7: A a B b C c D d E e F f G g;
    8: A a B b C c D d E e F f G g H h;
    9: A a B b C c D d E e F f G g H h I i;
    10: A a B b C c D d E e F f G g H h I i J j;
    11: A a B b C c D d E e F f G g H h I i J j K k;
    12: A a B b C c D d E e F f G g H h I i J j K k L l;
    13: A a B b C c D d E e F f G g H h I i J j K k L l M m;
    14: A a B b C c D d E e F f G g H h I i J j K k L l M m N n;
    15: A a B b C c D d E e F f G g H h I i J j K k L l M m N n O o;
    16: A a B b C c D d E e F f G g H h I i J j K k L l M m N n O o P p;
}
