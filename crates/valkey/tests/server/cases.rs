//! The cases of both APIs, one concern a file.

mod abandoned;
mod commands;
mod memory;
mod monitors;
mod pipelines;
mod pipes;
mod pushes;
mod scripts;
mod session;
mod streams;
mod subscriptions;
mod transactions;

/// The connection of this API.
type Connection = face!(Connection);
