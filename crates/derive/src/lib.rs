//! The derive macros of `onecopy-mysql` and `onecopy-valkey`. Use them from there, with their feature `derive`.
#![forbid(unsafe_code)]

mod attribute;
mod case;
mod from_row;
mod generics;
mod reply;
mod value;

use proc_macro::TokenStream;

/// Where the MySQL client is, if nothing else is said.
const MYSQL: &str = "::onecopy_mysql";

/// Maps a row to a struct: see `onecopy_mysql::FromRow`.
///
/// The fields of a struct are columns by name, without regard to ASCII case; those of a tuple struct are columns by position. The
/// struct may have type parameters, and one lifetime, which is that of the row that its fields borrow from.
///
/// | attribute of a field | meaning |
/// |----------------------|---------|
/// | `#[onecopy(rename = "name")]` | the column's name |
/// | `#[onecopy(flatten)]` | the field's type is made from the same row; as an `Option`, it is `None` if all of its columns are NULL |
/// | `#[onecopy(flatten, prefix = "maker_")]` | the same, from columns whose names start with this |
/// | `#[onecopy(json)]` | the column is JSON, deserialised by serde; needs the feature `with-serde_json-1` |
/// | `#[onecopy(try_from = "T")]` | the value is read as a `T`, and converted by `TryFrom<T>` |
/// | `#[onecopy(default)]` | `Default::default()` if the result has no such column; NULL is still an error |
/// | `#[onecopy(skip)]` | no column: `Default::default()` |
///
/// With `json` or `try_from` on an `Option` field, NULL is `None`.
///
/// | attribute of the struct | meaning |
/// |-------------------------|---------|
/// | `#[onecopy(rename_all = "camelCase")]` | the columns' names: `lowercase`, `UPPERCASE`, `PascalCase`, `camelCase`, `snake_case`, `SCREAMING_SNAKE_CASE`, `kebab-case` |
/// | `#[onecopy(crate = "path")]` | where `onecopy_mysql` is, if it is not at the crate's root |
#[proc_macro_derive(FromRow, attributes(onecopy))]
pub fn from_row(input: TokenStream) -> TokenStream {
    expand(input, from_row::expand)
}

/// Converts a column's value to a newtype (a struct of one field), like its field, or to an enum without data, by its variants' names.
///
/// | attribute | meaning |
/// |-----------|---------|
/// | `#[onecopy(rename_all = "snake_case")]` on an enum | the variants' texts, as for `FromRow`; without it, their names as written |
/// | `#[onecopy(rename = "text")]` on a variant | the variant's text |
/// | `#[onecopy(repr = "u8")]` on an enum | an integer instead: the variants' discriminants |
/// | `#[onecopy(crate = "path")]` | where `onecopy_mysql` is, if it is not at the crate's root |
///
/// Texts are compared exactly.
#[proc_macro_derive(FromValue, attributes(onecopy))]
pub fn from_value(input: TokenStream) -> TokenStream {
    expand(input, value::expand_from_value)
}

/// Converts a newtype (a struct of one field) or an enum without data to a parameter. The attributes are those of `FromValue`.
#[proc_macro_derive(ToParam, attributes(onecopy))]
pub fn to_param(input: TokenStream) -> TokenStream {
    expand(input, value::expand_to_param)
}

/// Reads a reply of Valkey or Redis as a struct, a newtype or an enum: see `onecopy_valkey::FromReply`.
///
/// | type | read from |
/// |------|-----------|
/// | a struct with named fields | a map, such as the reply to HGETALL, or the fields of a stream's entry; other fields are ignored |
/// | a struct with one unnamed field | what its field is read from |
/// | a struct with more unnamed fields | an array of that length |
/// | an enum without data | a string, the name of a variant |
///
/// A struct may have one lifetime, which is that of the reply that its fields borrow from. A field that is an `Option` may be
/// missing. `Option` of the struct is `None` for null and for an empty map: HGETALL of a key that does not exist.
///
/// | attribute | meaning |
/// |-----------|---------|
/// | `#[onecopy(rename = "name")]` on a field or a variant | its name in the reply |
/// | `#[onecopy(default)]` on a field | `Default::default()` if it is missing |
/// | `#[onecopy(skip)]` on a field | not read: `Default::default()` |
/// | `#[onecopy(rename_all = "camelCase")]` on the type | the names of all fields or variants, as for `FromRow` |
/// | `#[onecopy(crate = "path")]` on the type | where `onecopy_valkey` is, if it is not at the crate's root |
#[proc_macro_derive(FromReply, attributes(onecopy))]
pub fn from_reply(input: TokenStream) -> TokenStream {
    expand(input, reply::expand_from_reply)
}

/// Makes a reference to a struct with named fields usable as the fields and values of HSET, XADD and similar commands. Fields
/// without a value, `None`, are left out. The attributes are those of `FromReply`.
#[proc_macro_derive(ToPairs, attributes(onecopy))]
pub fn to_pairs(input: TokenStream) -> TokenStream {
    expand(input, reply::expand_to_pairs)
}

/// Makes a newtype, or an enum without data, usable as an argument: see `onecopy_valkey::ToArg`. The attributes are those of
/// `FromReply`.
#[proc_macro_derive(ToArg, attributes(onecopy))]
pub fn to_arg(input: TokenStream) -> TokenStream {
    expand(input, reply::expand_to_arg)
}

fn expand(
    input: TokenStream,
    with: fn(&syn::DeriveInput) -> syn::Result<proc_macro2::TokenStream>,
) -> TokenStream {
    let expanded = syn::parse(input).and_then(|input| with(&input));
    expanded
        .unwrap_or_else(|error| error.into_compile_error())
        .into()
}
