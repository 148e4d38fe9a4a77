//! One definition for the protocol's bit sets: a newtype, its named bits, and a `Debug` that lists them.

/// Defines a bit set over an unsigned integer. Bits without a name are kept, and shown as a number.
macro_rules! flag_set {
    (
        $(#[$set_doc:meta])*
        pub struct $set:ident($bits:ty);
        $( $(#[$flag_doc:meta])* const $flag:ident = $value:expr; )*
    ) => {
        $(#[$set_doc])*
        #[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
        pub struct $set(pub $bits);

        impl $set {
            $( $(#[$flag_doc])* pub const $flag: Self = Self($value); )*

            const NAMES: &'static [(Self, &'static str)] = &[$( (Self::$flag, stringify!($flag)) ),*];

            /// The empty set.
            pub const fn empty() -> Self {
                Self(0)
            }

            /// Returns whether no bit is set.
            pub const fn is_empty(self) -> bool {
                self.0 == 0
            }

            /// Returns whether every bit of `other` is set.
            pub const fn contains(self, other: Self) -> bool {
                self.0 & other.0 == other.0
            }

            /// Returns whether at least one bit of `other` is set.
            pub const fn intersects(self, other: Self) -> bool {
                self.0 & other.0 != 0
            }

            /// Returns the bits that are set in either.
            #[must_use]
            pub const fn union(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }

            /// Returns the bits that are set in both.
            #[must_use]
            pub const fn intersection(self, other: Self) -> Self {
                Self(self.0 & other.0)
            }

            /// Returns the bits that are not set in `other`.
            #[must_use]
            pub const fn difference(self, other: Self) -> Self {
                Self(self.0 & !other.0)
            }
        }

        impl core::ops::BitOr for $set {
            type Output = Self;

            fn bitor(self, other: Self) -> Self {
                self.union(other)
            }
        }

        impl core::ops::BitOrAssign for $set {
            fn bitor_assign(&mut self, other: Self) {
                *self = self.union(other);
            }
        }

        impl core::ops::BitAnd for $set {
            type Output = Self;

            fn bitand(self, other: Self) -> Self {
                self.intersection(other)
            }
        }

        impl core::fmt::Debug for $set {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                write!(f, "{}(", stringify!($set))?;
                let mut unnamed = *self;
                let mut separator = "";
                for &(flag, name) in Self::NAMES {
                    if self.contains(flag) {
                        write!(f, "{separator}{name}")?;
                        separator = " | ";
                        unnamed = unnamed.difference(flag);
                    }
                }
                if !unnamed.is_empty() {
                    write!(f, "{separator}{:#x}", unnamed.0)?;
                }
                f.write_str(")")
            }
        }
    };
}

pub(crate) use flag_set;
