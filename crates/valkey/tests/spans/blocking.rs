//! The blocking API.

use onecopy_testkit::valkey::test_server;
use onecopy_valkey::blocking::{Connection, Pool};
use onecopy_valkey::command::{Command, connection, list, string};
use onecopy_valkey::{Config, Endpoint, Script, raw};

use crate::collect::{KEY, VALUE, collect};

macro_rules! wait {
    ($call:expr) => {
        $call
    };
}

include!("face.rs");
