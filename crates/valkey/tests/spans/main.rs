//! Calls are spans of `tracing`, with OpenTelemetry's attributes, and without keys and values.
#![allow(clippy::unwrap_used)]

mod blocking;
mod collect;
mod several;
mod shared;
mod tokio_face;
