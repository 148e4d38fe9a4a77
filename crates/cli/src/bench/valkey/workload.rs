//! The requests: how each is made, and what its reply must be.

use bytes::Bytes;
use onecopy_valkey::command::{connection, hash, list, set, string};
use onecopy_valkey::{Arg, Command};

use super::plan::{Name, Plan, Test};
use crate::bench::failure::Failure;

/// Values from here on are handed over as shared memory, which the client sends without a copy: 16 KiB.
const SHARED: usize = 16 << 10;

/// The output of a command that lives as long as `'a`.
pub(super) type Output<'a, 'r, R> = <<R as Request>::Command<'a> as Command>::Output<'r>;

/// One kind of request.
pub(super) trait Request: Send + Sync + 'static {
    /// The command for a name, of a key or of the field or member of one.
    type Command<'a>: Command + Send + Sync
    where
        Self: 'a;

    fn command<'a>(&'a self, name: Name<'a>) -> Self::Command<'a>;

    /// Whether the reply has a value, or is one of writing; a wrong one is a failure.
    fn check(&self, output: Output<'_, '_, Self>) -> Result<bool, Failure>;
}

/// What is done with the kind of request that a plan names: a function that is made for each.
pub(super) trait Visitor {
    type Output;

    fn visit<R: Request>(self, request: R) -> Self::Output;
}

/// Calls the visitor with the plan's request.
pub(super) fn visit<V: Visitor>(plan: &Plan, visitor: V) -> V::Output {
    let value = Value::new(&plan.value);
    match plan.test {
        Test::Ping => visitor.visit(Ping),
        Test::Set => visitor.visit(Set(value)),
        Test::Get => visitor.visit(Get {
            expected: plan.keyspace.is_none().then_some(plan.value.len()),
        }),
        Test::Incr => visitor.visit(Incr),
        Test::Lpush => visitor.visit(Lpush(value)),
        Test::Lpop => visitor.visit(Lpop),
        Test::Sadd => visitor.visit(Sadd),
        Test::Hset => visitor.visit(Hset(value)),
    }
}

/// A value to be written.
struct Value {
    bytes: Bytes,
}

impl Value {
    fn new(bytes: &[u8]) -> Self {
        Self {
            bytes: Bytes::copy_from_slice(bytes),
        }
    }

    #[inline]
    fn arg(&self) -> Arg<'_> {
        if self.bytes.len() >= SHARED {
            self.bytes.clone().into()
        } else {
            (&self.bytes[..]).into()
        }
    }
}

struct Ping;

impl Request for Ping {
    type Command<'a> = connection::Ping<'a>;

    #[inline]
    fn command<'a>(&'a self, _: Name<'a>) -> Self::Command<'a> {
        connection::ping()
    }

    #[inline]
    fn check(&self, output: Output<'_, '_, Self>) -> Result<bool, Failure> {
        right(output == b"PONG")
    }
}

struct Set(Value);

impl Request for Set {
    type Command<'a> = string::Set<'a>;

    #[inline]
    fn command<'a>(&'a self, name: Name<'a>) -> Self::Command<'a> {
        string::set(name.own, self.0.arg())
    }

    #[inline]
    fn check(&self, output: Output<'_, '_, Self>) -> Result<bool, Failure> {
        right(output.is_some())
    }
}

struct Get {
    /// Bytes of the value, where it is surely ours.
    expected: Option<usize>,
}

impl Request for Get {
    type Command<'a> = string::Get<'a>;

    #[inline]
    fn command<'a>(&'a self, name: Name<'a>) -> Self::Command<'a> {
        string::get(name.own)
    }

    #[inline]
    fn check(&self, output: Output<'_, '_, Self>) -> Result<bool, Failure> {
        match (output, self.expected) {
            (Some(value), Some(len)) if value.len() == len => Ok(true),
            (value, None) => Ok(value.is_some()),
            (value, Some(len)) => Err(not_set(value, len)),
        }
    }
}

struct Incr;

impl Request for Incr {
    type Command<'a> = string::Incr<'a>;

    #[inline]
    fn command<'a>(&'a self, name: Name<'a>) -> Self::Command<'a> {
        string::incr(name.own)
    }

    #[inline]
    fn check(&self, _: Output<'_, '_, Self>) -> Result<bool, Failure> {
        Ok(true)
    }
}

struct Lpush(Value);

impl Request for Lpush {
    type Command<'a> = list::Lpush<'a>;

    #[inline]
    fn command<'a>(&'a self, name: Name<'a>) -> Self::Command<'a> {
        list::lpush(name.holder, self.0.arg())
    }

    #[inline]
    fn check(&self, output: Output<'_, '_, Self>) -> Result<bool, Failure> {
        right(output > 0)
    }
}

struct Lpop;

impl Request for Lpop {
    type Command<'a> = list::Lpop<'a>;

    #[inline]
    fn command<'a>(&'a self, name: Name<'a>) -> Self::Command<'a> {
        list::lpop(name.holder)
    }

    #[inline]
    fn check(&self, output: Output<'_, '_, Self>) -> Result<bool, Failure> {
        Ok(output.is_some())
    }
}

struct Sadd;

impl Request for Sadd {
    type Command<'a> = set::Sadd<'a>;

    #[inline]
    fn command<'a>(&'a self, name: Name<'a>) -> Self::Command<'a> {
        set::sadd(name.holder, name.own)
    }

    #[inline]
    fn check(&self, output: Output<'_, '_, Self>) -> Result<bool, Failure> {
        right(output == 0 || output == 1)
    }
}

struct Hset(Value);

impl Request for Hset {
    type Command<'a> = hash::Hset<'a>;

    #[inline]
    fn command<'a>(&'a self, name: Name<'a>) -> Self::Command<'a> {
        hash::hset(name.holder, (name.own, self.0.arg()))
    }

    #[inline]
    fn check(&self, output: Output<'_, '_, Self>) -> Result<bool, Failure> {
        right(output == 0 || output == 1)
    }
}

#[inline]
fn right(is_right: bool) -> Result<bool, Failure> {
    if is_right { Ok(true) } else { Err(wrong()) }
}

#[cold]
fn not_set(value: Option<&[u8]>, len: usize) -> Failure {
    let found = match value {
        Some(value) => format!("holds {} bytes and not {len}", value.len()),
        None => "does not exist".to_owned(),
    };
    Failure::said(format!(
        "get reads what set wrote, and its key {found}: write -t set,get, with the same -d"
    ))
}

#[cold]
fn wrong() -> Failure {
    Failure::said("a reply is not the one to its request; does anyone else write to the keys?")
}
