use super::*;

/// The parts as one text: `[?]`, `[name]`, `[name in]`.
fn shown(sql: &str, mode: SqlMode) -> String {
    let parts = parts(sql.as_bytes(), mode);
    parts
        .map(|part| match part {
            Part::Text(text) => String::from_utf8(text.to_vec()).unwrap(),
            Part::Question => "[?]".to_owned(),
            Part::Name {
                name,
                is_in_list: false,
            } => format!("[{name}]"),
            Part::Name { name, .. } => format!("[{name} in]"),
        })
        .collect()
}

const NO_BACKSLASH: SqlMode = SqlMode {
    no_backslash_escapes: true,
    ansi_quotes: false,
};
const ANSI: SqlMode = SqlMode {
    no_backslash_escapes: false,
    ansi_quotes: true,
};

#[test]
fn names_and_question_marks_are_found_in_code_only() {
    for (sql, expected) in [
        ("", ""),
        ("?", "[?]"),
        (":a", "[a]"),
        (":a:b", "[a]:b"),
        ("SELECT :a, :b_2,?", "SELECT [a], [b_2],[?]"),
        ("':a ? '':b' = :c", "':a ? '':b' = [c]"),
        (r"'\':a' = :b", r"'\':a' = [b]"),
        (r#""\":a" = :b"#, r#""\":a" = [b]"#),
        ("`:a``:b` = :c", "`:a``:b` = [c]"),
        (r"`\`:a", r"`\`[a]"),
        ("-- :a ?\n:b", "-- :a ?\n[b]"),
        ("1--:a", "1--[a]"),
        ("--", "--"),
        ("--\t:a", "--\t:a"),
        ("# :a\n?", "# :a\n[?]"),
        ("/* :a */ :b /*:c", "/* :a */ [b] /*:c"),
        ("/*/ :a */ :b", "/*/ :a */ [b]"),
        ("/*! :a */ /*M!100100 ? */", "/*! [a] */ /*M!100100 [?] */"),
        (
            "/*+ hint(:a) */ 1 / :b * :c",
            "/*+ hint(:a) */ 1 / [b] * [c]",
        ),
        ("SET @x:=:a, @y := :b", "SET @x:=[a], @y := [b]"),
        ("a::b, 12:30, lbl:LOOP", "a::b, 12:30, lbl:LOOP"),
        (":1 : x", ":1 : x"),
        ("é:a, (:b)", "é:a, ([b])"),
        ("'open :a", "'open :a"),
        (r"'open\", r"'open\"),
    ] {
        assert_eq!(shown(sql, SqlMode::default()), expected, "{sql}");
    }
}

#[test]
fn the_mode_says_what_a_backslash_is() {
    assert_eq!(shown(r"'\' = :a", NO_BACKSLASH), r"'\' = [a]");
    assert_eq!(shown(r#""\" = :a"#, NO_BACKSLASH), r#""\" = [a]"#);
    assert_eq!(shown(r#""\" = :a"#, ANSI), r#""\" = [a]"#);
    assert_eq!(shown(r"'\' = :a'", ANSI), r"'\' = :a'");
}

#[test]
fn a_name_that_is_all_of_an_in_list_is_known_as_such() {
    for (sql, expected) in [
        ("x IN (:a)", "x IN ([a in])"),
        ("x not in\n(\t:a\n) AND y", "x not in\n(\t[a in]\n) AND y"),
        ("x IN (:a, :b)", "x IN ([a], [b])"),
        ("x IN (1, :a)", "x IN (1, [a])"),
        ("MIN(:a) + f_in(:b)", "MIN([a]) + f_in([b])"),
        ("(x)IN(:a)", "(x)IN([a in])"),
        ("'IN ('(:a)", "'IN ('([a])"),
        ("-- IN (\n:a)", "-- IN (\n[a])"),
        ("IN (:a", "IN ([a]"),
    ] {
        assert_eq!(shown(sql, SqlMode::default()), expected, "{sql}");
    }
}

#[test]
fn all_bytes_of_the_sql_are_in_the_parts_wherever_it_is_cut() {
    let sql = "SELECT ':a', \"?\", `?`, :b, ?, /* ? */ -- :c\n :d # ?\n x IN (:e) /*! :f */";
    for end in 0..=sql.len() {
        let whole = &sql.as_bytes()[..end];
        let mut bytes = Vec::new();
        for part in parts(whole, SqlMode::default()) {
            match part {
                Part::Text(text) => bytes.extend_from_slice(text),
                Part::Question => bytes.push(b'?'),
                Part::Name { name, .. } => {
                    bytes.push(b':');
                    bytes.extend_from_slice(name.as_bytes());
                }
            }
        }
        assert_eq!(bytes, whole);
    }
}
