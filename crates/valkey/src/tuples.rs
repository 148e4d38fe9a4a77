//! Arguments in pairs and triples: keys and values, scores and members; longitudes, latitudes and members.

use std::fmt;
use std::sync::Arc;

use crate::arg::Arg;
use crate::part::Part;
use crate::request::Request;

/// One or more pairs of arguments. It implements `From` for a single pair, slices, arrays and vectors.
///
/// References to arrays and vectors are borrowed. A slice costs one small allocation, and so do values that are passed by value,
/// except a single pair.
///
/// ```
/// use onecopy_valkey::command::{sorted_set::zadd, string::mset};
///
/// let one = mset(("key", "value"));
/// let two = mset(&[("a", "1"), ("b", "2")]);
/// let scores: Vec<(f64, String)> = vec![(1.5, "member".to_owned())];
/// let many = zadd("zset", &scores);
/// ```
#[derive(Clone)]
pub struct Pairs<'a>(Form<'a, (Arg<'a>, Arg<'a>)>);

/// One or more triples of arguments. It is created in the same way as [`Pairs`].
///
/// ```
/// use onecopy_valkey::command::geo::geoadd;
///
/// let one = geoadd("places", (13.361389, 38.115556, "Palermo"));
/// ```
#[derive(Clone)]
pub struct Triples<'a>(Form<'a, (Arg<'a>, Arg<'a>, Arg<'a>)>);

/// `T` is one tuple of arguments.
#[derive(Clone)]
enum Form<'a, T> {
    One(T),
    Borrowed(&'a (dyn List + 'a)),
    Owned(Arc<dyn List + 'a>),
}

/// Tuples, whatever their types.
trait List: Send + Sync {
    fn len(&self) -> usize;
    fn write<'a>(&'a self, request: &mut Request<'_, 'a>);
    /// Shows the bytes of the first of each.
    fn each_first(&self, visit: &mut dyn FnMut(&[u8]));
}

macro_rules! tuples {
    ($name:ident, $count:literal, $first:ident $(, $field:ident: $type:ident)+) => {
        impl<'a> $name<'a> {
            /// Creates an empty list.
            pub const fn none() -> Self {
                const NONE: &[(Arg<'static>, $(tuples!(@arg $field)),+); 0] = &[];
                Self(Form::Borrowed(NONE))
            }

            /// Returns the number of tuples.
            pub fn len(&self) -> usize {
                match &self.0 {
                    Form::One(_) => 1,
                    Form::Borrowed(list) => list.len(),
                    Form::Owned(list) => list.len(),
                }
            }

            /// Returns whether there are no tuples.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// Shows the bytes of the first of each.
            #[allow(dead_code)] // of threes none begins with a key
            pub(crate) fn each_first(&self, visit: &mut dyn FnMut(&[u8])) {
                match &self.0 {
                    Form::One((first, ..)) => first.each(visit),
                    Form::Borrowed(list) => list.each_first(visit),
                    Form::Owned(list) => list.each_first(visit),
                }
            }
        }

        impl Part for $name<'_> {
            fn count(&self) -> usize {
                $count * self.len()
            }

            fn write<'a>(&'a self, request: &mut Request<'_, 'a>) {
                match &self.0 {
                    Form::One(($first, $($field),+)) => {
                        request.part($first);
                        $(request.part($field);)+
                    }
                    Form::Borrowed(list) => list.write(request),
                    Form::Owned(list) => list.write(request),
                }
            }
        }

        /// Shows only how many there are: they are keys and values.
        impl fmt::Debug for $name<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{} times {} arguments", self.len(), $count)
            }
        }

        impl<'a, First: Into<Arg<'a>>, $($type: Into<Arg<'a>>),+> From<(First, $($type),+)> for $name<'a> {
            #[inline]
            fn from(($first, $($field),+): (First, $($type),+)) -> Self {
                Self(Form::One(($first.into(), $($field.into()),+)))
            }
        }

        impl<'a, First: Part + Send + Sync + 'a, $($type: Part + Send + Sync + 'a),+>
            From<&'a Vec<(First, $($type),+)>> for $name<'a>
        {
            #[inline]
            fn from(list: &'a Vec<(First, $($type),+)>) -> Self {
                Self(Form::Borrowed(list))
            }
        }

        impl<'a, First: Part + Send + Sync + 'a, $($type: Part + Send + Sync + 'a,)+ const N: usize>
            From<&'a [(First, $($type),+); N]> for $name<'a>
        {
            #[inline]
            fn from(list: &'a [(First, $($type),+); N]) -> Self {
                Self(Form::Borrowed(list))
            }
        }

        impl<'a, First: Part + Send + Sync + 'a, $($type: Part + Send + Sync + 'a),+>
            From<&'a [(First, $($type),+)]> for $name<'a>
        {
            fn from(list: &'a [(First, $($type),+)]) -> Self {
                Self(Form::Owned(Arc::new(list)))
            }
        }

        impl<'a, First: Part + Send + Sync + 'a, $($type: Part + Send + Sync + 'a),+>
            From<Vec<(First, $($type),+)>> for $name<'a>
        {
            fn from(list: Vec<(First, $($type),+)>) -> Self {
                Self(Form::Owned(Arc::new(list)))
            }
        }

        impl<'a, First: Part + Send + Sync + 'a, $($type: Part + Send + Sync + 'a,)+ const N: usize>
            From<[(First, $($type),+); N]> for $name<'a>
        {
            fn from(list: [(First, $($type),+); N]) -> Self {
                Self(Form::Owned(Arc::new(list)))
            }
        }

        tuples!(@list $first [First], $($field: $type),+; [] Vec<(First, $($type),+)>);
        tuples!(@list $first [First], $($field: $type),+; [] &[(First, $($type),+)]);
        tuples!(@list $first [First], $($field: $type),+; [const N: usize] [(First, $($type),+); N]);
    };
    (@arg $field:ident) => { Arg<'static> };
    (@list $first:ident [$first_type:ident], $($field:ident: $type:ident),+; [$($const:tt)*] $list:ty) => {
        impl<$first_type: Part + Send + Sync, $($type: Part + Send + Sync,)+ $($const)*> List for $list {
            fn len(&self) -> usize {
                self[..].len()
            }

            fn write<'a>(&'a self, request: &mut Request<'_, 'a>) {
                for ($first, $($field),+) in &self[..] {
                    request.part($first);
                    $(request.part($field);)+
                }
            }

            fn each_first(&self, visit: &mut dyn FnMut(&[u8])) {
                for ($first, ..) in &self[..] {
                    $first.each(visit);
                }
            }
        }
    };
}

tuples!(Pairs, 2, first, second: Second);
tuples!(Triples, 3, first, second: Second, third: Third);

#[cfg(test)]
mod tests;
