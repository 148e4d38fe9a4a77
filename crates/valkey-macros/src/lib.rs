//! The macro of `onecopy-valkey` that makes Rust of declared commands. It has no other use.
//!
//! [`commands!`](commands!) documents the language of declarations.
#![forbid(unsafe_code)]

mod argument;
mod builder;
mod code;
mod declaration;
mod expand;
mod item;
mod name;
mod row;
mod token;
mod usage;

#[cfg(test)]
mod tests;

use argument::is_capital;
use expand::{Piece, expand};
use proc_macro::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};
use token::{Error, Kind};

/// Declares the commands of a family, sorted by name.
///
/// ```text
/// commands! {
///     family string;
///
///     SETEX key seconds: int value -> (), O(1), since 2.0.0, deprecated 2.6.12, WRITE;
/// }
/// ```
///
/// makes `fn setex(key, seconds, value) -> Setex`, `struct Setex` with its `impl Command`, a row of the table of all commands, and a test.
/// A declaration has the command's name, its arguments, `->` and the type of the reply, and facts. The name of a subcommand follows
/// `container CLIENT, ...;`, which declares its container.
///
/// Arguments are written nearly as the server's help shows them:
///
/// | argument | meaning |
/// |----------|---------|
/// | `value`, `seconds: int` | a value, and the parameter of the function. Its type is `text`, `key`, `int`, `uint`, `double`, `vector` or `query`. Without a type it is a key if its name is `key`, and a text otherwise |
/// | `member...`, `keys: key...` | one or more values, with one parameter |
/// | `data: (field value)...` | one or more pairs, or triples; the type `key` of the first value makes keys of them |
/// | `numkeys key...` | the number of keys, which has no parameter, and the keys |
/// | `STREAMS`, `"lib-name"` | a word that is sent as it is; one in small letters is in quotes |
/// | `where: Side<LEFT \| RIGHT>` | one of several words, as a value of the enum `command::word::Side` |
/// | `<* \| id>` | a value that may be such a word; the caller passes the word as a text |
/// | `[NOACK]` | an option, and a method without parameters |
/// | `[COUNT count: int]`, `[message]` | an option with a value, and a method with a parameter |
/// | `[LIMIT offset: int count: int]` | an option with several values, and a method with several parameters. Without a word it needs a name: `range: [start end]` |
/// | `[COUNT count: int [ANY]]` | an option behind another one; both have a method |
/// | `condition: [NX \| XX]`, `by: <BYRADIUS radius: double \| BYLEX>` | one of several options, a method for each. With `<>` one of them has to be called |
/// | `[GET pattern]...`, `mode: <ON \| OFF>...` | an option that may be given several times; each call of a method adds one |
/// | `[member...]!` | optional for the server, but the command is of no use without it: a parameter of the function |
///
/// The end of an option can have two marks: `[GET @6.2.0]` is the first version that has it, and `[WITHSCORES -> Scores]` is the shape of the
/// reply with it, a type of `command::shape`, or `[WITHSCORES -> Similarity::Scored]` if it depends
/// on the shape before, whose trait `Similarity` says which one follows. A command with such an option has a shape as its own reply, too.
///
/// Facts are separated by commas, and only `since` is mandatory:
///
/// | fact | meaning |
/// |------|---------|
/// | `O(N)`, `"O(L + (N-K)log(N))"` | the time complexity; one with spaces is in quotes |
/// | `since 2.0.0`, `deprecated 2.6.12` | versions |
/// | `only RedisJSON` | the module that alone has the command, where several have its family |
/// | `READONLY`, `KEYLESS`, ... | `Flags` of the command |
/// | `BLOCKING(timeout seconds)` | the argument that says how long the server may wait, and its unit. If it is an option, the command blocks only with it |
/// | `arity -3` | the number of words, for a command that takes another number than its arguments say |
/// | `usage "<host port \| NO ONE>"` | the arguments as help shows them, for a command that is declared in a simpler form |
///
/// A wrong declaration is an error at the word that is wrong; the others still compile.
#[proc_macro]
pub fn commands(input: TokenStream) -> TokenStream {
    let (mut tokens, mut spans) = (Vec::new(), Vec::new());
    flatten(input, &mut tokens, &mut spans);
    let (pieces, errors) = expand(&tokens);
    let mut output = TokenStream::new();
    for piece in &pieces {
        output.extend(placed(piece, &tokens, &spans));
    }
    for error in &errors {
        output.extend(compile_error(error, &spans));
    }
    output
}

/// Writes all tokens one after the other, with brackets as tokens of their own.
fn flatten(stream: TokenStream, tokens: &mut Vec<Kind>, spans: &mut Vec<Span>) {
    for tree in stream {
        let span = tree.span();
        let kind = match tree {
            TokenTree::Ident(ident) => Kind::Word(ident.to_string()),
            TokenTree::Literal(literal) => Kind::Literal(literal.to_string()),
            TokenTree::Punct(punct) => Kind::Punct(punct.as_char()),
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ('(', ')'),
                    Delimiter::Brace => ('{', '}'),
                    Delimiter::Bracket => ('[', ']'),
                    Delimiter::None => {
                        flatten(group.stream(), tokens, spans);
                        continue;
                    }
                };
                tokens.push(Kind::Open(open));
                spans.push(group.span_open());
                flatten(group.stream(), tokens, spans);
                spans.push(group.span_close());
                tokens.push(Kind::Close(close));
                continue;
            }
        };
        tokens.push(kind);
        spans.push(span);
    }
}

/// The code of a piece, as if it stood where its declaration does: an error about a type points at the type, any other at the command's
/// name, and documentation links to the declaration.
fn placed(piece: &Piece, tokens: &[Kind], spans: &[Span]) -> TokenStream {
    let (start, end) = piece.tokens;
    let mut types = Vec::new();
    for (kind, span) in tokens.iter().zip(spans).take(end).skip(start) {
        match kind {
            Kind::Word(word) if is_capital(word) => types.push((word.as_str(), *span)),
            _ => {}
        }
    }
    let place = spans.get(start).copied().unwrap_or_else(Span::call_site);
    match piece.code.parse::<TokenStream>() {
        Ok(stream) if end > start => relocated(stream, &types, place),
        Ok(stream) => stream,
        // Nothing that the parser accepts should get here.
        Err(error) => compile_error(
            &Error {
                at: start,
                message: format!("this declaration makes no Rust: {error}"),
            },
            spans,
        ),
    }
}

/// Leaves out the bodies of functions, which name no types of the declaration: they are most of the tokens, and the code of a macro is
/// not optimised, not even in release builds.
fn relocated(stream: TokenStream, types: &[(&str, Span)], place: Span) -> TokenStream {
    let (mut trees, mut is_function) = (Vec::new(), false);
    for mut tree in stream {
        match &mut tree {
            TokenTree::Group(group) => {
                let is_body = is_function && group.delimiter() == Delimiter::Brace;
                if !is_body {
                    let inner = relocated(group.stream(), types, place);
                    *group = Group::new(group.delimiter(), inner);
                }
                group.set_span(place);
                is_function &= !is_body;
            }
            TokenTree::Ident(ident) => {
                let name = ident.to_string();
                is_function |= name == "fn";
                ident.set_span(place_of(&name, types, place));
            }
            other => other.set_span(place),
        }
        trees.push(tree);
    }
    TokenStream::from_iter(trees)
}

fn place_of(name: &str, types: &[(&str, Span)], place: Span) -> Span {
    if is_capital(name) {
        for (of, span) in types {
            if *of == name {
                return *span;
            }
        }
    }
    place
}

fn compile_error(error: &Error, spans: &[Span]) -> TokenStream {
    let span = spans.get(error.at).copied().unwrap_or_else(Span::call_site);
    let mut message = Literal::string(&error.message);
    message.set_span(span);
    let inner = TokenStream::from(TokenTree::Literal(message));
    let mut group = Group::new(Delimiter::Brace, inner);
    group.set_span(span);
    let mut bang = Punct::new('!', Spacing::Alone);
    bang.set_span(span);
    [
        TokenTree::Ident(Ident::new("compile_error", span)),
        TokenTree::Punct(bang),
        TokenTree::Group(group),
    ]
    .into_iter()
    .collect()
}
