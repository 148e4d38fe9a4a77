//! The cases of both APIs, one concern a file.

mod abandoned;
mod auth;
mod bulk;
mod bulk_prepared;
mod cancels;
mod compression;
mod conversions;
mod copied_values;
mod cursors;
mod definitions;
mod dropped;
mod dropped_statements;
mod exec;
mod factors;
mod failures;
mod foreign;
mod formatted;
mod gtids;
mod large_read;
mod large_write;
mod local_infile;
mod mapped;
mod memory;
mod observed;
mod outcome;
mod pipelines;
mod pool;
mod progress;
mod proof;
mod query_attributes;
mod results;
mod round_trips;
mod session;
mod statement_timeouts;
mod statements;
mod tls;
mod topology;
mod transactions;
mod value_types;

/// The connection of this API.
type Connection = face!(Connection);
