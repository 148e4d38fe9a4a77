pub(crate) mod text;

use crate::builder::items;
use crate::code::Code;
use crate::declaration::{Declaration, Family, family};
use crate::expand::expand;
use crate::name::{camel, plural, snake};
use crate::row::row;
use crate::token::Error;

/// Commands of no family in particular.
fn declared(text: &str) -> (Family, Vec<Error>) {
    family(&text::tokens(&format!("family string; {text}")))
}

fn one(text: &str) -> Declaration {
    let (mut family, errors) = declared(text);
    assert_eq!(errors, [], "{text}");
    assert_eq!(family.commands.len(), 1, "{text}");
    family.commands.remove(0)
}

/// A command with these arguments, `X`.
fn with(arguments: &str) -> Declaration {
    one(&format!("X {arguments} -> (), since 1.0.0;"))
}

fn code(arguments: &str) -> String {
    Code::new(&with(arguments)).unwrap().all()
}

/// The message, and the text from the token on that it is about.
fn error(text: &str) -> (String, String) {
    let text = format!("family string; {text}");
    let tokens = text::tokens(&text);
    let (_, errors) = expand(&tokens);
    assert_eq!(errors.len(), 1, "{text}: {errors:?}");
    let token = format!("{:?}", tokens[errors[0].at]);
    (errors[0].message.clone(), token)
}

#[test]
fn help_shows_arguments_as_they_are_declared_without_types_and_names() {
    for (arguments, usage) in [
        ("key seconds: int value", "key seconds value"),
        ("numkeys keys: key...", "numkeys keys [keys ...]"),
        (
            "data: (score: double member)...",
            "score member [score member ...]",
        ),
        ("where: Side<LEFT | RIGHT>", "<LEFT | RIGHT>"),
        ("[unit: Unit<m | km>]", "[m | km]"),
        (
            "[AGGREGATE by: Aggregate<SUM | MIN>]",
            "[AGGREGATE <SUM | MIN>]",
        ),
        ("condition: [NX @2.6.12 | XX]", "[NX | XX]"),
        ("from: <FROM a | TO b: int c>", "<FROM a | TO b c>"),
        ("[COUNT count: int [ANY @6.2.0]]", "[COUNT count [ANY]]"),
        ("[PREFIX prefix]...", "[PREFIX prefix [PREFIX prefix ...]]"),
        (
            "mode: [<ON | \"off\">]...!",
            "[<ON | off> [<ON | off> ...]]",
        ),
        ("<key | \"\"> [arg...]!", "<key | \"\"> [arg [arg ...]]"),
        ("min-idle-time: int <* | id>", "min-idle-time <* | id>"),
    ] {
        assert_eq!(with(arguments).usage(), format!("X {usage}"));
    }
}

#[test]
fn the_arity_counts_what_is_always_there() {
    for (arguments, arity) in [
        ("", 1),
        ("key value", 3),
        ("key...", -2),
        ("key [count: int]", -2),
        ("data: (field value)...", -3),
        ("STREAMS key... id...", -4),
        ("numkeys key... where: Side<LEFT | RIGHT>", -4),
        ("attr: <NAME name | VERSION version>", 3),
        ("by: <RADIUS radius | BOX width height>", -3),
    ] {
        assert_eq!(with(arguments).arity(), arity, "{arguments}");
    }
    let (family, errors) = declared("container ACL, since 6.0.0; ACL CAT -> (), since 6.0.0;");
    assert_eq!(errors, []);
    assert_eq!(
        family
            .commands
            .iter()
            .map(Declaration::arity)
            .collect::<Vec<_>>(),
        [-2, 2]
    );
    assert_eq!(one("QUIT -> (), since 1.0.0, arity -1;").arity(), -1);
}

#[test]
fn a_row_has_every_fact() {
    let declaration = one(
        "SETEX key seconds: int value -> (), O(log(N)*M), since 2.0.0, deprecated 2.6.12, WRITE, ADMIN;",
    );
    assert_eq!(
        row("string", &declaration),
        "(0x53455445580000000000000000000000, Entry { name: \"SETEX\", usage: \"SETEX key seconds value\", \
         family: \"string\", since: \"2.0.0\", complexity: \"O(log(N)*M)\", arity: 4, \
         flags: Flags::WRITE.with(Flags::ADMIN), deprecated_since: Some(\"2.6.12\") }),"
    );
    let declaration = one("X -> (), \"O(L + (N-K)log(N))\", since 1.0.0;");
    assert_eq!(declaration.complexity, "O(L + (N-K)log(N))");
    assert_eq!(
        one("X -> (), O(log N), since 1.0.0;").complexity,
        "O(log N)"
    );
}

#[test]
fn a_usage_in_quotes_can_go_over_several_lines() {
    let declaration =
        one("X host -> (), since 1.0.0, usage \"<host \\\n        port | \\\"\\\">\";");
    assert_eq!(declaration.usage(), "X <host port | \"\">");
}

#[test]
fn a_command_is_written_with_its_words_and_lengths() {
    let code = code("key [EX seconds: int]");
    // Without the option, the number of words is known; with it, it is counted.
    assert!(code.contains(r#"request.fixed(b"*2\r\n$1\r\nX\r\n"); request.borrowed(key);"#));
    assert!(code.contains(r#"request.begin(2 + tagged(1, &self.ex), b"*0\r\n$1\r\nX\r\n");"#));
    assert!(code.contains(r#"request.tagged(b"$2\r\nEX\r\n", &self.ex);"#));
    assert!(
        code.contains(
            "pub fn ex(mut self, seconds: i64) -> Self { self.ex = Some(seconds); self }"
        )
    );
    assert!(
        code.contains("fn each_key(&self, visit: &mut dyn FnMut(&[u8])) { self.key.each(visit); }")
    );
}

#[test]
fn an_option_that_changes_the_reply_changes_the_type_of_the_command() {
    let declaration = one("X key [WITHSCORES -> Scores] -> Bulks, since 1.0.0;");
    let code = Code::new(&declaration).unwrap().all();
    assert!(
        code.contains("pub struct X<'a, S = shape::Bulks>"),
        "{code}"
    );
    assert!(code.contains("-> X<'a, shape::Scores> { self.withscores = true; self.reshape() }"));
    assert!(code.contains("type Output<'r> = S::Output<'r>;"));
    let declaration = one("X key [WITHSCORES -> Similarity::Scored] -> Bulks, since 1.0.0;");
    let code = Code::new(&declaration).unwrap().all();
    assert!(
        code.contains(
            "-> X<'a, <S as shape::Similarity>::Scored> where S: shape::Similarity { self.withscores = true; \
             self.reshape() }"
        ),
        "{code}"
    );
}

#[test]
fn a_vector_is_two_words_or_more() {
    for (kind, usage) in [
        ("vector", "X <FP32 v | VALUES num v [v ...]> element"),
        (
            "query",
            "X <ELE element | FP32 v | VALUES num v [v ...]> element",
        ),
    ] {
        let declaration = with(&format!("v: {kind} element"));
        assert_eq!(
            (declaration.usage().as_str(), declaration.arity()),
            (usage, -4)
        );
        let code = Code::new(&declaration).unwrap().all();
        assert!(
            code.contains("request.begin(2 + self.v.count(), "),
            "{code}"
        );
    }
}

#[test]
fn a_command_of_one_module_says_so() {
    let declaration = one("JSON.MERGE key -> (), since 1.0.0, only valkey-json;");
    assert_eq!(declaration.name, "JSON.MERGE");
    let code = Code::new(&declaration).unwrap().all();
    assert!(code.contains("Only valkey-json has it."), "{code}");
    assert!(code.contains("pub fn json_merge"), "{code}");
    assert!(code.contains("pub struct JsonMerge"), "{code}");
}

#[test]
fn a_command_that_blocks_only_with_an_option_has_the_flag_only_then() {
    let always = one("X timeout: double -> (), since 1.0.0, BLOCKING(timeout seconds);");
    let code = Code::new(&always).unwrap().all();
    assert!(code.contains("fn blocking(&self) -> Blocking { Blocking::seconds(self.timeout) }"));
    let option = one("X [BLOCK ms: int] -> (), since 1.0.0, BLOCKING(block milliseconds);");
    let code = Code::new(&option).unwrap().all();
    assert!(
        code.contains("Some(_) => flags.with(Flags::BLOCKING)"),
        "{code}"
    );
    assert!(code.contains("self.block.map_or(Blocking::No, Blocking::milliseconds)"));
}

#[test]
fn several_values_of_an_option_are_parameters_of_one_method() {
    let items = items(&with("[LIMIT offset: int count: int]").arguments).unwrap();
    let methods: Vec<_> = items.iter().flat_map(|item| &item.methods).collect();
    assert_eq!(methods.len(), 1);
    assert_eq!(
        (methods[0].name.as_str(), methods[0].parameters.len()),
        ("limit", 2)
    );
    assert_eq!(methods[0].doc, "`LIMIT offset count`.");
}

#[test]
fn a_wrong_declaration_is_an_error_at_the_word_that_is_wrong() {
    for (text, message, at) in [
        (
            "GET key -> (), since 1.0.0, READ;",
            "`READ` is not a fact",
            "READ",
        ),
        (
            "GET key -> (), READONLY;",
            "GET: `since` and a version is missing",
            "GET",
        ),
        (
            "GET key seconds: real -> (), since 1.0.0;",
            "`real` is not a type of arguments",
            "real",
        ),
        (
            "GET key (), since 1.0.0;",
            "expected an argument, or `->`",
            "(",
        ),
        (
            "GET key [NX | ] -> (), since 1.0.0;",
            "this group, or an alternative of it, is empty",
            "[",
        ),
        (
            "GET key [NX | XX] -> (), since 1.0.0;",
            "this group needs a name",
            "[",
        ),
        (
            "GET a: <NX | XX> -> (), since 1.0.0;",
            "one of these words is always there",
            "a",
        ),
        (
            "GET key -> , since 1.0.0;",
            "expected the type of the reply",
            ",",
        ),
        ("GET key -> (), since soon;", "expected a version", "soon"),
        (
            "GET key -> (), since 1.0.0, KEYLESS;",
            "GET is KEYLESS, but has an argument that is a key",
            "GET",
        ),
        (
            "get key -> (), since 1.0.0;",
            "expected a command's name, in capitals",
            "get",
        ),
        (
            "GET t: int -> (), since 1.0.0, BLOCKING(t hours);",
            "expected `seconds` or",
            "hours",
        ),
        (
            "GET -> (), since 1.0.0; DEL -> (), since 1.0.0;",
            "DEL comes before GET",
            "DEL",
        ),
        (
            "GET data: (key)... -> (), since 1.0.0;",
            "expected two or three values",
            "(",
        ),
    ] {
        let (found, token) = error(text);
        assert!(found.starts_with(message), "{text}: {found}");
        assert!(token.contains(at), "{text}: at {token}");
    }
}

#[test]
fn after_an_error_the_other_declarations_are_still_read() {
    let (family, errors) = declared("A -> ; B -> (), since 1.0.0; C key (); D -> (), since 1.0.0;");
    let names: Vec<&str> = family
        .commands
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    assert_eq!(names, ["B", "D"]);
    assert_eq!(errors.len(), 2);
}

#[test]
fn names_of_the_protocol_are_names_in_rust() {
    assert_eq!(snake("CLIENT NO-EVICT"), "client_no_evict");
    assert_eq!(
        (snake("TYPE"), snake("=")),
        ("type_".to_owned(), "equal".to_owned())
    );
    assert_eq!(camel("CLIENT NO-EVICT"), "ClientNoEvict");
    assert_eq!(camel("crash-after-election"), "CrashAfterElection");
    assert_eq!(
        (plural("key"), plural("keys")),
        ("keys".to_owned(), "keys".to_owned())
    );
}
