//! JSON documents, on servers with the module valkey-json or RedisJSON. The feature `modules` adds this module.
//!
//! Versions are those of RedisJSON, and from 8.0.0 on those of Redis, which then contains it. valkey-json 1.0 has all commands but those of
//! which the description says otherwise. The option `FPHA` exists in RedisJSON only; `NOESCAPE` has no effect any more.
//!
//! A path that begins with `$` is a JSONPath and can match several values; the reply is then an array with one element for each. Any other
//! path is of the older syntax, and has a single value as its reply. [`Matches`] reads both. Where the type of the reply depends on the path or
//! the protocol in another way, the output is the [`Reply`]; [`typed`](Command::typed) reads it as what your path gives.
//!
//! ```
//! use onecopy_valkey::command::{Command as _, json};
//!
//! let set = json::json_set("user:7", "$", r#"{"name":"Ada","tags":[]}"#).nx();
//! let name = json::json_get("user:7").paths("$.name");
//! let tags = json::json_arrappend("user:7", "$.tags", [r#""admin""#, r#""staff""#]);
//! let age = json::json_numincrby("user:7", "$.age", 1.0).typed::<String>();
//! ```

use onecopy_valkey_macros::commands;

use super::Matches;

commands! {
    family json;

    JSON.ARRAPPEND key path value... -> Matches<'r, Option<i64>>, O(N), since 1.0.0, WRITE;
    JSON.ARRINDEX key path value range: [start: int stop: int] -> Matches<'r, Option<i64>>, O(N), since 1.0.0, READONLY;
    JSON.ARRINSERT key path index: int value... -> Matches<'r, Option<i64>>, O(N), since 1.0.0, WRITE;
    JSON.ARRLEN key [path] -> Matches<'r, Option<i64>>, O(N), since 1.0.0, READONLY;
    JSON.ARRPOP key [path [index: int]] -> Matches<'r, Option<&'r [u8]>>, O(N), since 1.0.0, WRITE;
    JSON.ARRTRIM key path start: int stop: int -> Matches<'r, Option<i64>>, O(N), since 1.0.0, WRITE;
    JSON.CLEAR key [path] -> i64, O(N), since 2.0.0, WRITE;
    container JSON.DEBUG, since 1.0.0, READONLY;
    JSON.DEBUG DEPTH key -> Matches<'r, Option<i64>>, O(N), since 1.0.0, only valkey-json, READONLY;
    JSON.DEBUG FIELDS key [path] -> Matches<'r, Option<i64>>, O(N), since 1.0.0, only valkey-json, READONLY;
    JSON.DEBUG HELP -> Array<'r, &'r [u8]>, O(1), since 1.0.0, KEYLESS;
    JSON.DEBUG MEMORY key [path] -> Matches<'r, Option<i64>>, O(N), since 1.0.0, READONLY;
    JSON.DEL key [path] -> i64, O(N), since 1.0.0, WRITE;
    JSON.FORGET key [path] -> i64, O(N), since 1.0.0, WRITE;
    JSON.GET key [INDENT indent] [NEWLINE newline] [SPACE space] [NOESCAPE] [path...] -> Option<&'r [u8]>, O(N),
        since 1.0.0, READONLY;
    JSON.MERGE key path value -> (), O(M+N), since 2.6.0, only RedisJSON, WRITE;
    JSON.MGET key... path -> Array<'r, Option<&'r [u8]>>, O(M*N), since 1.0.0, READONLY;
    JSON.MSET values: (key path value)... -> (), "O(K*(M+N))", since 2.6.0, WRITE;
    JSON.NUMINCRBY key path value: double -> Reply<'r>, O(N), since 1.0.0, WRITE;
    JSON.NUMMULTBY key path value: double -> Reply<'r>, O(N), since 1.0.0, WRITE;
    JSON.OBJKEYS key [path] -> Reply<'r>, O(N), since 1.0.0, READONLY;
    JSON.OBJLEN key [path] -> Matches<'r, Option<i64>>, O(N), since 1.0.0, READONLY;
    JSON.RESP key [path] -> Reply<'r>, O(N), since 1.0.0, READONLY;
    JSON.SET key path value condition: [NX | XX] [FPHA kind: FloatType<BF16 | FP16 | FP32 | FP64> @8.8.0]
        -> Option<()>, O(M+N), since 1.0.0, WRITE;
    JSON.STRAPPEND key [path] value -> Matches<'r, Option<i64>>, O(N), since 1.0.0, WRITE;
    JSON.STRLEN key [path] -> Matches<'r, Option<i64>>, O(N), since 1.0.0, READONLY;
    JSON.TOGGLE key [path] -> Reply<'r>, O(N), since 2.0.0, WRITE;
    JSON.TYPE key [path] -> Reply<'r>, O(N), since 1.0.0, READONLY;
}
