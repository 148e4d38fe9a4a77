//! The cases of both faces, one concern a file.

mod abandoned;
mod commands;
mod memory;
mod pipelines;
mod pipes;
mod pushes;
mod session;
mod streams;
mod transactions;

/// The connection of this face.
type Connection = face!(Connection);
