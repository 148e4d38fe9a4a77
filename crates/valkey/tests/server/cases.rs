//! The cases of both faces, one concern a file.

mod commands;
mod pipelines;
mod session;

/// The connection of this face.
type Connection = face!(Connection);
