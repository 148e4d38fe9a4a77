//! A MySQL and MariaDB client that copies each byte once; blocking and tokio.
#![forbid(unsafe_code)]
