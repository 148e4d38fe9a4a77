//! A client for Valkey and Redis that copies each byte once, and can show it.
#![forbid(unsafe_code)]
