//! Fuzz targets of onecopy: each is a function over bytes, called by libFuzzer, by the tests of the stable toolchain, and
//! by hand with a finding in a file.
//!
//! None of them only waits for a panic: they say what must hold whatever a peer sends, see each module's first lines.
#![forbid(unsafe_code)]

pub mod auth;
pub mod binary_rows;
pub mod compression;
pub mod conversation;
pub mod corpus;
pub mod crypto;
pub mod delivery;
pub mod greeting;
pub mod honest;
pub mod input;
pub mod messages;
pub mod ok;
pub mod packets;
pub mod peer;
pub mod proxy_protocol;
pub mod pump;
pub mod relay;
#[cfg(test)]
mod replay;
pub mod resp;
pub mod resp_conversation;
pub mod resp_replies;
pub mod resp_requests;
pub mod round_trip;
pub mod rows;
pub mod server;
pub mod session;
pub mod stream;
pub mod text_rows;
pub mod topology;
pub mod values;

/// A target's function over one input. It panics where something does not hold.
pub type Target = fn(&[u8]);

/// All targets by name, in the order in which they are run.
pub const TARGETS: [(&str, Target); 17] = [
    ("packets", packets::run),
    ("greeting", greeting::run),
    ("ok", ok::run),
    ("text_rows", text_rows::run),
    ("binary_rows", binary_rows::run),
    ("auth", auth::run),
    ("round_trip", round_trip::run),
    ("server", server::run),
    ("relay", relay::run),
    ("compression", compression::run),
    ("conversation", conversation::run),
    ("resp_replies", resp_replies::run),
    ("resp_conversation", resp_conversation::run),
    ("resp_requests", resp_requests::run),
    ("proxy_protocol", proxy_protocol::run),
    ("topology", topology::run),
    ("messages", messages::run),
];

/// The program of one target. Under libFuzzer its entry; in an ordinary build it runs the files that it is given.
#[macro_export]
macro_rules! target {
    ($name:ident) => {
        #[cfg(fuzzing)]
        libfuzzer_sys::fuzz_target!(|data: &[u8]| $crate::$name::run(data));

        #[cfg(not(fuzzing))]
        fn main() -> std::io::Result<()> {
            for path in std::env::args_os().skip(1) {
                $crate::$name::run(&std::fs::read(path)?);
            }
            Ok(())
        }
    };
}
