//! The drivers, with connections that count themselves and do as they are told.

mod aio;
mod blocking;
mod connection;
