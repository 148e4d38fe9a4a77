//! The cases of both faces, one concern a file.

mod commands;
mod pipelines;
mod pipes;
mod session;
mod streams;
mod transactions;

/// The connection of this face.
type Connection = face!(Connection);
