use super::*;

/// `customer (id, name, order)`, `cup (id)` in `shop`, and `page (title)` in `site`.
fn names() -> Names {
    let mut known = Known::default();
    known.set_current(Some("shop"));
    known.add_databases(["shop", "site"].map(str::to_owned).to_vec());
    let columns = |table: &str, names: &[&str]| {
        let names = names.iter().map(|&name| name.to_owned()).collect();
        (table.to_owned(), names)
    };
    let shop = [
        columns("customer", &["id", "name", "order"]),
        columns("cup", &["id"]),
    ];
    known.add_relations("shop", shop.to_vec(), vec!["count_cups".into()]);
    known.add_relations("site", vec![columns("page", &["title"])], Vec::new());
    Names::fixed(known)
}

/// What the text may continue with at the `|`.
fn found(text: &str) -> Vec<String> {
    let at = text.find('|').unwrap();
    complete(&text.replacen('|', "", 1), at, &names()).1
}

#[test]
fn tables_stand_behind_from_and_their_columns_in_expressions() {
    assert_eq!(found("SELECT * FROM cu|"), ["customer", "cup"]);
    assert_eq!(found("DROP TABLE EXI|"), ["EXISTS"]);
    assert_eq!(
        found("SELECT * FROM |"),
        ["customer", "cup", "shop", "site"]
    );
    assert_eq!(found("SELECT * FROM site.|"), ["page"]);
    assert_eq!(found("SELECT n| FROM customer")[0], "name");
    assert_eq!(
        found("SELECT | FROM customer"),
        ["id", "name", "`order`", "customer"]
    );
    assert_eq!(
        found("SELECT * FROM customer WHERE na|"),
        ["name", "NATURAL"]
    );
    assert_eq!(found("INSERT INTO customer (|"), ["id", "name", "`order`"]);
    assert_eq!(found("SELECT t| FROM site.page")[0], "title");
}

#[test]
fn an_alias_a_table_or_a_database_has_its_own_behind_a_dot() {
    assert_eq!(
        found("SELECT c.| FROM customer c"),
        ["id", "name", "`order`"]
    );
    assert_eq!(found("SELECT customer.n| FROM customer"), ["name"]);
    assert_eq!(found("SELECT site.page.| FROM site.page"), ["title"]);
    assert_eq!(found("SELECT c.`o| FROM customer c"), ["`order`"]);
    assert_eq!(found("SELECT x.| FROM customer c"), [""; 0]);
}

#[test]
fn keywords_functions_and_commands_are_completed_in_the_case_that_is_typed() {
    assert_eq!(found("sele|"), ["select"]);
    assert_eq!(found("SELE|"), ["SELECT"]);
    assert_eq!(found("select group_c|"), ["group_concat("]);
    assert_eq!(found("SELECT count_|"), ["count_cups"]);
    assert_eq!(found("SELECT * FROM cup WHE|"), ["WHEN", "WHERE"]);
    assert_eq!(found("use si|"), ["site"]);
    assert_eq!(found("\\u si|"), ["site"]);
    assert_eq!(found("\\d cus|"), ["customer"]);
    assert_eq!(found("\\wat|"), ["\\watch"]);
    assert_eq!(found("SELECT 'cu|"), [""; 0]);
}

#[test]
fn names_that_need_quotes_get_them() {
    for (name, is_quoted, text) in [
        ("id", false, "id"),
        ("id", true, "`id`"),
        ("order", false, "`order`"),
        ("a b", false, "`a b`"),
        ("a`b", false, "`a``b`"),
        ("1st", false, "`1st`"),
        ("été", false, "été"),
    ] {
        assert_eq!(written(name, is_quoted), text);
    }
}

#[test]
fn columns_of_any_table_are_there_before_a_table_is_named() {
    assert_eq!(found("SELECT nam|"), ["name"]);
}

#[test]
fn a_name_that_is_not_there_may_be_another_one() {
    let meant = |name, kind, sql| meant(name, kind, sql, &names());
    let sql = "SELECT c.nmae FROM customer c";
    assert_eq!(meant("c.nmae", Name::Column, sql).as_deref(), Some("name"));
    assert_eq!(
        meant("ordre", Name::Column, sql).as_deref(),
        Some("`order`")
    );
    assert_eq!(meant("title", Name::Column, sql), None);
    let sql = "SELECT * FROM custmer";
    assert_eq!(
        meant("shop.custmer", Name::Relation, sql).as_deref(),
        Some("customer")
    );
    assert_eq!(
        meant("shp", Name::Database, "USE shp").as_deref(),
        Some("shop")
    );
}

#[test]
fn any_text_can_be_completed_at_any_place() {
    let text = "SELECT c.`o x`, 'é\\'', @@a, 1.5e3 /* ; */ FROM shop.customer AS c, (SELECT 1) -- d\n\
                WHERE `日本` IN (SELECT (('x; INSERT INTO t (a) VALUES (\"b\"); \\d `x";
    let names = names();
    let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    for &from in &ends {
        let part = &text[from..];
        for (at, _) in part.char_indices().chain([(part.len(), ' ')]) {
            let (start, _) = complete(part, at, &names);
            assert!(start <= at && part.is_char_boundary(start), "{part} {at}");
        }
    }
}
