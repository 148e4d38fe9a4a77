//! A file of declarations as code.

use crate::code::Code;
use crate::declaration::family;
use crate::row::row;
use crate::token::{Error, Kind};

/// Code, and the tokens of the declaration that it is made of; none if it is made of all.
#[derive(Debug)]
pub(crate) struct Piece {
    pub(crate) code: String,
    /// The index of the first token, and of the one behind the last.
    pub(crate) tokens: (usize, usize),
}

/// The code of all commands without an error, and the errors of the others.
pub(crate) fn expand(tokens: &[Kind]) -> (Vec<Piece>, Vec<Error>) {
    let (family, mut errors) = family(tokens);
    let all = (0, 0);
    let mut pieces = vec![Piece {
        code: IMPORTS.to_owned(),
        tokens: all,
    }];
    let (mut rows, mut tests) = (String::new(), String::new());
    for declaration in &family.commands {
        rows += &row(&family.name, declaration);
        if declaration.output.is_empty() {
            continue;
        }
        match Code::new(declaration) {
            Ok(code) => {
                tests += &code.test();
                let tokens = declaration.tokens;
                pieces.push(Piece {
                    code: code.all(),
                    tokens,
                });
            }
            Err(error) => errors.push(error),
        }
    }
    let code = format!(
        "pub(in crate::command) const ENTRIES: &[(u128, crate::command::table::Entry)] = {{ \
         use crate::command::table::Entry; &[{rows}] }};\n\
         #[cfg(test)] pub(in crate::command) fn minimal(check: &mut crate::command::minimal::Check) {{ {tests} }}"
    );
    pieces.push(Piece { code, tokens: all });
    (pieces, errors)
}

/// What the code names, and what declarations may name as the types of replies.
const IMPORTS: &str = "
#[allow(unused_imports)]
use {
    std::marker::PhantomData,
    onecopy_resp_proto::Reply,
    crate::arg::Arg,
    crate::args::Args,
    crate::command::{Array, Blocking, Command, Entry, Flags, Map, Scanned},
    crate::command::shape::{self, Shape},
    crate::command::word::*,
    crate::part::{Choice, Part, Token, tagged},
    crate::request::Request,
    crate::tuples::{Pairs, Triples},
};
";
