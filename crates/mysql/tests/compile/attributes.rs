//! Errors of the derives themselves.

use onecopy_mysql::{FromRow, FromValue, ToParam};

#[derive(FromRow)]
enum NotAStruct {
    A,
}

#[derive(FromRow)]
struct Empty {
    #[onecopy(skip)]
    only: u8,
}

#[derive(FromRow)]
struct TwoLifetimes<'a, 'b> {
    a: &'a str,
    b: &'b str,
}

#[derive(FromRow)]
#[onecopy(rename_all = "Title Case")]
struct UnknownCase {
    a: u8,
}

#[derive(FromRow)]
struct UnknownAttribute {
    #[onecopy(column = "b")]
    a: u8,
}

#[derive(FromRow)]
struct SkippedColumn {
    a: u8,
    #[onecopy(skip, rename = "c")]
    b: u8,
}

#[derive(FromRow)]
struct FlattenedColumn {
    #[onecopy(flatten, json)]
    a: u8,
}

#[derive(FromRow)]
struct TwoConversions {
    #[onecopy(json, try_from = "u8")]
    a: u8,
}

#[derive(FromRow)]
struct PrefixOfAColumn {
    #[onecopy(prefix = "a_")]
    a: u8,
}

#[derive(FromValue)]
struct TwoFields {
    a: u8,
    b: u8,
}

#[derive(ToParam)]
enum Fields {
    A(u8),
}

fn main() {}
