//! Consumer groups against real servers, and against peers that send anything. As in `server`, each case is written once and compiled
//! for both APIs. `ONECOPY_SOAK=1` runs the large counts.
#![allow(clippy::unwrap_used, clippy::duplicate_mod)]

#[path = "../server/common.rs"]
#[allow(dead_code)]
mod common;
mod drops;
mod hostile;
mod workers;

#[macro_use]
#[path = "../pool/blocking_face.rs"]
#[allow(unused_macros)]
mod blocking_face;
#[path = "cases.rs"]
mod blocking;

#[macro_use]
#[path = "../pool/tokio_face.rs"]
#[allow(unused_macros)]
mod tokio_face;
#[path = "cases.rs"]
mod tokio;
