//! Commands of JSON and of vector sets, with each of their options.

use super::{keys, text};
use crate::command::word::FloatType;
use crate::command::{Command, Flags, json, vector_set};
use crate::{Query, Vector};

#[test]
fn json_documents_are_set_and_read() {
    for (command, expected) in [
        (
            text(&json::json_set("k", "$", "1")),
            "*4 $8 JSON.SET $1 k $1 $ $1 1",
        ),
        (
            text(&json::json_set("k", "$", "1").nx()),
            "*5 $8 JSON.SET $1 k $1 $ $1 1 $2 NX",
        ),
        (
            text(&json::json_set("k", "$", "[0.5]").fpha(FloatType::Bf16).xx()),
            "*7 $8 JSON.SET $1 k $1 $ $5 [0.5] $2 XX $4 FPHA $4 BF16",
        ),
        (text(&json::json_get("k")), "*2 $8 JSON.GET $1 k"),
        (
            text(&json::json_get("k").paths(["$.a", "$.b"])),
            "*4 $8 JSON.GET $1 k $3 $.a $3 $.b",
        ),
        (
            text(
                &json::json_get("k")
                    .paths("$.a")
                    .noescape()
                    .space(" ")
                    .newline("\n")
                    .indent("\t"),
            ),
            "*10 $8 JSON.GET $1 k $6 INDENT $1 \t $7 NEWLINE $1 \n $5 SPACE $1   $8 NOESCAPE $3 $.a",
        ),
        (
            text(&json::json_mget(["a", "b"], "$.x")),
            "*4 $9 JSON.MGET $1 a $1 b $3 $.x",
        ),
        (
            text(&json::json_mset([("a", "$", "1"), ("b", "$.x", "2")])),
            "*7 $9 JSON.MSET $1 a $1 $ $1 1 $1 b $3 $.x $1 2",
        ),
        (
            text(&json::json_merge("k", "$", "{}")),
            "*4 $10 JSON.MERGE $1 k $1 $ $2 {}",
        ),
        (text(&json::json_del("k")), "*2 $8 JSON.DEL $1 k"),
        (
            text(&json::json_del("k").path("$.a")),
            "*3 $8 JSON.DEL $1 k $3 $.a",
        ),
        (
            text(&json::json_forget("k").path("$.a")),
            "*3 $11 JSON.FORGET $1 k $3 $.a",
        ),
        (
            text(&json::json_clear("k").path("$.a")),
            "*3 $10 JSON.CLEAR $1 k $3 $.a",
        ),
        (
            text(&json::json_type("k").path("$.a")),
            "*3 $9 JSON.TYPE $1 k $3 $.a",
        ),
        (
            text(&json::json_resp("k").path("$.a")),
            "*3 $9 JSON.RESP $1 k $3 $.a",
        ),
    ] {
        assert_eq!(command, expected);
    }
}

#[test]
fn values_inside_of_json_documents_are_changed() {
    for (command, expected) in [
        (
            text(&json::json_numincrby("k", "$.n", 1.5)),
            "*4 $14 JSON.NUMINCRBY $1 k $3 $.n $3 1.5",
        ),
        (
            text(&json::json_nummultby("k", "$.n", -2.0)),
            "*4 $14 JSON.NUMMULTBY $1 k $3 $.n $2 -2",
        ),
        (
            text(&json::json_strappend("k", "\"x\"")),
            "*3 $14 JSON.STRAPPEND $1 k $3 \"x\"",
        ),
        (
            text(&json::json_strappend("k", "\"x\"").path("$.s")),
            "*4 $14 JSON.STRAPPEND $1 k $3 $.s $3 \"x\"",
        ),
        (
            text(&json::json_strlen("k").path("$.s")),
            "*3 $11 JSON.STRLEN $1 k $3 $.s",
        ),
        (
            text(&json::json_toggle("k").path("$.b")),
            "*3 $11 JSON.TOGGLE $1 k $3 $.b",
        ),
        (
            text(&json::json_arrappend("k", "$.l", ["1", "2"])),
            "*5 $14 JSON.ARRAPPEND $1 k $3 $.l $1 1 $1 2",
        ),
        (
            text(&json::json_arrindex("k", "$.l", "1")),
            "*4 $13 JSON.ARRINDEX $1 k $3 $.l $1 1",
        ),
        (
            text(&json::json_arrindex("k", "$.l", "1").range(2, -1)),
            "*6 $13 JSON.ARRINDEX $1 k $3 $.l $1 1 $1 2 $2 -1",
        ),
        (
            text(&json::json_arrinsert("k", "$.l", 0, ["1", "2"])),
            "*6 $14 JSON.ARRINSERT $1 k $3 $.l $1 0 $1 1 $1 2",
        ),
        (
            text(&json::json_arrlen("k").path("$.l")),
            "*3 $11 JSON.ARRLEN $1 k $3 $.l",
        ),
        (text(&json::json_arrpop("k")), "*2 $11 JSON.ARRPOP $1 k"),
        (
            text(&json::json_arrpop("k").path("$.l").index(0)),
            "*4 $11 JSON.ARRPOP $1 k $3 $.l $1 0",
        ),
        (
            text(&json::json_arrtrim("k", "$.l", 0, 1)),
            "*5 $12 JSON.ARRTRIM $1 k $3 $.l $1 0 $1 1",
        ),
        (
            text(&json::json_objkeys("k").path("$.o")),
            "*3 $12 JSON.OBJKEYS $1 k $3 $.o",
        ),
        (
            text(&json::json_objlen("k").path("$.o")),
            "*3 $11 JSON.OBJLEN $1 k $3 $.o",
        ),
        (
            text(&json::json_debug_memory("k").path("$.o")),
            "*4 $10 JSON.DEBUG $6 MEMORY $1 k $3 $.o",
        ),
        (
            text(&json::json_debug_depth("k")),
            "*3 $10 JSON.DEBUG $5 DEPTH $1 k",
        ),
        (
            text(&json::json_debug_fields("k").path("$.o")),
            "*4 $10 JSON.DEBUG $6 FIELDS $1 k $3 $.o",
        ),
        (text(&json::json_debug_help()), "*2 $10 JSON.DEBUG $4 HELP"),
    ] {
        assert_eq!(command, expected);
    }
}

#[test]
fn vectors_are_sent_in_binary_or_as_text() {
    // 1.0 and 2.0 as IEEE 754 in little-endian order.
    let bytes = b"\x00\x00\x80\x3f\x00\x00\x00\x40";
    let expected = [
        b"*5\r\n$4\r\nVADD\r\n$1\r\nk\r\n$4\r\nFP32\r\n$8\r\n",
        &bytes[..],
        b"\r\n$1\r\ne\r\n",
    ]
    .concat();
    let vector = vec![1.0_f32, 2.0];
    for command in [
        vector_set::vadd("k", &vector, "e"),
        vector_set::vadd("k", vector.as_slice(), "e"),
        vector_set::vadd("k", vector.clone(), "e"),
        vector_set::vadd("k", [1.0, 2.0], "e"),
        vector_set::vadd("k", vector.first_chunk::<2>().unwrap(), "e"),
        vector_set::vadd("k", Vector::fp32(bytes), "e"),
    ] {
        assert_eq!(crate::testing::bytes(&command), expected);
    }
    for (command, expected) in [
        (
            text(&vector_set::vadd("k", Vector::values([0.5, -1.0]), "e")),
            "*7 $4 VADD $1 k $6 VALUES $1 2 $3 0.5 $2 -1 $1 e",
        ),
        (
            text(
                &vector_set::vadd("k", Vector::values(["0.5"]), "e")
                    .m(16)
                    .setattr("{}")
                    .ef(200)
                    .q8()
                    .cas()
                    .reduce(3),
            ),
            "*16 $4 VADD $1 k $6 REDUCE $1 3 $6 VALUES $1 1 $3 0.5 $1 e $3 CAS $2 Q8 $2 EF $3 200 $7 SETATTR $2 {} $1 M $2 16",
        ),
        (
            text(&vector_set::vadd("k", Vector::values(1), "e").noquant()),
            "*7 $4 VADD $1 k $6 VALUES $1 1 $1 1 $1 e $7 NOQUANT",
        ),
        (
            text(&vector_set::vadd("k", Vector::values(1), "e").bin()),
            "*7 $4 VADD $1 k $6 VALUES $1 1 $1 1 $1 e $3 BIN",
        ),
    ] {
        assert_eq!(command, expected);
    }
}

#[test]
fn similar_elements_are_asked_for_by_element_or_vector() {
    let by_element = vector_set::vsim("k", Query::element("e"));
    assert_eq!(text(&by_element), "*4 $4 VSIM $1 k $3 ELE $1 e");
    let by_values = vector_set::vsim("k", Vector::values([0.5, 1.0]));
    assert_eq!(
        text(&by_values),
        "*6 $4 VSIM $1 k $6 VALUES $1 2 $3 0.5 $1 1"
    );
    let by_zeros = vector_set::vsim("k", [0.0]).truth();
    assert_eq!(
        text(&by_zeros),
        "*5 $4 VSIM $1 k $4 FP32 $4 \0\0\0\0 $5 TRUTH"
    );
    let all = by_element
        .nothread()
        .truth()
        .filter_ef(500)
        .filter(".a > 1")
        .ef(100)
        .epsilon(0.25)
        .count(3)
        .withattribs()
        .withscores();
    assert_eq!(
        text(&all),
        "*18 $4 VSIM $1 k $3 ELE $1 e $10 WITHSCORES $11 WITHATTRIBS $5 COUNT $1 3 $7 EPSILON $4 0.25 $2 EF $3 100 \
         $6 FILTER $6 .a > 1 $9 FILTER-EF $3 500 $5 TRUTH $8 NOTHREAD"
    );
}

#[test]
fn the_other_commands_of_vector_sets() {
    for (command, expected) in [
        (text(&vector_set::vcard("k")), "*2 $5 VCARD $1 k"),
        (text(&vector_set::vdim("k")), "*2 $4 VDIM $1 k"),
        (text(&vector_set::vemb("k", "e")), "*3 $4 VEMB $1 k $1 e"),
        (
            text(&vector_set::vemb("k", "e").raw()),
            "*4 $4 VEMB $1 k $1 e $3 RAW",
        ),
        (
            text(&vector_set::vgetattr("k", "e")),
            "*3 $8 VGETATTR $1 k $1 e",
        ),
        (
            text(&vector_set::vsetattr("k", "e", "{}")),
            "*4 $8 VSETATTR $1 k $1 e $2 {}",
        ),
        (text(&vector_set::vinfo("k")), "*2 $5 VINFO $1 k"),
        (
            text(&vector_set::vismember("k", "e")),
            "*3 $9 VISMEMBER $1 k $1 e",
        ),
        (
            text(&vector_set::vlinks("k", "e").withscores()),
            "*4 $6 VLINKS $1 k $1 e $10 WITHSCORES",
        ),
        (
            text(&vector_set::vrandmember("k")),
            "*2 $11 VRANDMEMBER $1 k",
        ),
        (
            text(&vector_set::vrandmember("k").count(-2)),
            "*3 $11 VRANDMEMBER $1 k $2 -2",
        ),
        (
            text(&vector_set::vrange("k", "[a", "+").count(10)),
            "*5 $6 VRANGE $1 k $2 [a $1 + $2 10",
        ),
        (text(&vector_set::vrem("k", "e")), "*3 $4 VREM $1 k $1 e"),
    ] {
        assert_eq!(command, expected);
    }
}

#[test]
fn keys_are_shown_for_a_cluster() {
    assert_eq!(keys(&json::json_mget(["a", "b"], "$")), ["a", "b"]);
    let set = json::json_mset([("a", "$", "1"), ("b", "$", "2")]);
    assert_eq!(keys(&set), ["a", "b"]);
    assert_eq!(keys(&json::json_debug_memory("a")), ["a"]);
    assert_eq!(keys(&json::json_debug_help()), [""; 0]);
    assert_eq!(keys(&vector_set::vsim("a", Query::element("e"))), ["a"]);
    assert!(json::json_debug_help().flags().contains(Flags::KEYLESS));
    assert!(json::json_get("a").flags().contains(Flags::READONLY));
    assert!(json::json_toggle("a").flags().contains(Flags::WRITE));
    assert!(
        vector_set::vsim("a", [0.0])
            .flags()
            .contains(Flags::READONLY)
    );
}

#[test]
fn debug_shows_how_vectors_are_sent_and_nothing_else() {
    for (vector, shown) in [
        (Query::element("secret"), "ELE"),
        ([0.5].into(), "FP32"),
        (Vector::values([0.5, 0.25]).into(), "VALUES 2"),
    ] {
        assert_eq!(format!("{vector:?}"), shown);
    }
}
