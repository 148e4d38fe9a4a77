use super::*;
use crate::params;

fn bound<'a>(sql: &str, params: &[NamedParam<'a>]) -> (String, Vec<Param<'a>>) {
    let bound = NamedSql::new(sql).bind(params).unwrap();
    (String::from_utf8(bound.sql).unwrap(), bound.params)
}

fn problem(sql: &str, params: &[NamedParam<'_>]) -> String {
    NamedSql::new(sql).bind(params).unwrap_err().to_string()
}

#[test]
fn names_are_put_in_order_and_may_come_twice() {
    let name = String::from("cup");
    let (sql, params) = bound("SELECT ':b', :b, :a, :b", &params! { a: &name, b: 7u8 });
    assert_eq!(sql, "SELECT ':b', ?, ?, ?");
    assert_eq!(params, [Param::UInt(7), Param::Str("cup"), Param::UInt(7)]);
    assert_eq!(bound("SELECT 1", &[]).0, "SELECT 1");
}

#[test]
fn missing_and_unused_names_are_all_listed() {
    assert_eq!(
        problem("SELECT :a, :b, :c", &params! { b: 1, d: 2, e: 3 }),
        "no value is given for :a :c, and the statement does not have d e"
    );
    assert_eq!(
        problem("SELECT 1", &params! { d: 2 }),
        "the statement does not have d"
    );
    assert_eq!(
        problem("SELECT :A", &params! { A: 1, a: 2 }),
        "the statement does not have a"
    );
    assert!(problem("SELECT ?, :a", &params! { a: 1 }).contains("which has no name"));
}

#[test]
fn an_unused_name_is_found_among_more_than_sixty_four() {
    let names: Vec<String> = (0..70).map(|number| format!("n{number}")).collect();
    let mut params: Vec<NamedParam<'_>> = names
        .iter()
        .map(|name| NamedParam {
            name,
            value: 1.into(),
        })
        .collect();
    let sql = names
        .iter()
        .map(|name| format!(":{name}"))
        .collect::<Vec<_>>()
        .join(",");
    assert_eq!(bound(&sql, &params).1.len(), 70);
    params.push(NamedParam {
        name: "other",
        value: 1.into(),
    });
    assert_eq!(problem(&sql, &params), "the statement does not have other");
    params.truncate(64);
    assert_eq!(
        problem(&sql, &params),
        "no value is given for :n64 :n65 :n66 :n67 :n68 :n69"
    );
}

#[test]
fn a_list_is_filled_to_a_power_of_two_where_it_is_all_of_an_in_and_nowhere_else() {
    let three = ["a", "b", "c"];
    let (sql, params) = bound("x IN (:l) AND y IN (:l, 1)", &params! { l: list(&three) });
    assert_eq!(sql, "x IN (?,?,?,?) AND y IN (?,?,?, 1)");
    assert_eq!(params, ["a", "b", "c", "c", "a", "b", "c"].map(Param::Str));
    let one = vec![Some(1u64)];
    assert_eq!(bound("x IN (:l)", &params! { l: list(&one) }).0, "x IN (?)");
}

#[test]
fn an_empty_list_is_the_empty_set_or_an_error() {
    let none: [i64; 0] = [];
    assert_eq!(
        bound("x NOT IN ( :l )", &params! { l: list(&none) }).0,
        "x NOT IN ( SELECT NULL FROM DUAL WHERE 1 = 0 )"
    );
    assert!(
        problem("x IN (1, :l)", &params! { l: list(&none) }).starts_with("the list l is empty")
    );
}

#[test]
fn more_parameters_than_the_protocol_counts_are_an_error() {
    let many = vec![1u8; 40_000];
    // Filled only as far as the limit.
    assert_eq!(
        bound("x IN (:l)", &params! { l: list(&many) }).1.len(),
        MOST_PARAMS
    );
    assert_eq!(
        bound(
            "x IN (:l) OR :a",
            &params! { l: list(&many[1..32_768]), a: 1 }
        )
        .1
        .len(),
        32_769
    );
    assert!(
        problem("x IN (:l) OR y IN (:l)", &params! { l: list(&many) }).contains("more than 65535")
    );
}
