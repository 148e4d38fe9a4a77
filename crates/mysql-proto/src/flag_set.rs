//! One definition for the protocol's bit sets: a newtype with the methods of `bitflags`, and a `Debug` that lists the named bits.

/// Defines a bit set over an unsigned integer. Bits without a name are kept, and shown as a number.
macro_rules! flag_set {
    (
        $(#[$set_doc:meta])*
        pub struct $set:ident($bits:ty);
        $( $(#[$flag_doc:ident $($flag_text:tt)*])* const $flag:ident = $value:expr; )*
    ) => {
        $(#[$set_doc])*
        #[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
        pub struct $set(pub $bits);

        bitflags::bitflags! {
            impl $set: $bits {
                $( $(#[$flag_doc $($flag_text)*])* const $flag = $value; )*
                // What a server sends and nobody knows is a part of it.
                const _ = !0;
            }
        }

        impl core::fmt::Debug for $set {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                write!(f, "{}(", stringify!($set))?;
                bitflags::parser::to_writer(self, &mut *f)?;
                f.write_str(")")
            }
        }
    };
}

pub(crate) use flag_set;
