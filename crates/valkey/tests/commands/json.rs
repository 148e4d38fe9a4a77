use onecopy_valkey::command::{Command as _, json};

use super::session::{Session, text, texts};

pub(crate) fn run(s: &mut Session) {
    if !s.has("JSON.SET") {
        return;
    }
    documents(s);
    arrays(s);
    objects_and_texts(s);
    if s.has("JSON.MERGE") {
        s.run(&json::json_set("m", "$", r#"{"a":1,"b":2}"#));
        s.run(&json::json_merge("m", "$", r#"{"a":null,"c":3}"#));
        assert_eq!(get(s, "m", "$.c"), "[3]");
        assert_eq!(get(s, "m", "$.a"), "[]");
    }
    debug(s);
}

fn documents(s: &mut Session) {
    let set = json::json_set("j", "$", r#"{"a":1,"b":{"a":2.5},"t":true}"#);
    assert_eq!(s.run(&set), Some(()));
    assert_eq!(s.run(&set.clone().nx()), None);
    assert_eq!(s.run(&json::json_set("none", "$", "1").xx()), None);
    assert_eq!(s.run(&set.xx()), Some(()));
    assert_eq!(get(s, "j", "$..a"), "[1,2.5]");
    assert_eq!(get(s, "j", ".b"), r#"{"a":2.5}"#);
    let pretty = json::json_get("j").indent(" ").newline("\n").space(" ");
    let pretty = s.run(&pretty.noescape().paths("$.b")).map(text).unwrap();
    assert_eq!(pretty, "[\n {\n  \"a\": 2.5\n }\n]");
    assert_eq!(s.run(&json::json_get("none").paths("$")), None);
    s.run(&json::json_mset([("{j}1", "$", "1"), ("{j}2", "$", "[2]")]));
    let all = s.run(&json::json_mget(["{j}1", "none", "{j}2"], "$"));
    let all: Vec<_> = all.iter().map(|one| one.map(text)).collect();
    assert_eq!(
        all,
        [Some("[1]".to_owned()), None, Some("[[2]]".to_owned())]
    );
    let types = s.run(&json::json_type("j").path("$.t"));
    assert!(format!("{types:?}").contains("boolean"), "{types:?}");
    s.run(&json::json_toggle("j").path("$.t"));
    assert_eq!(get(s, "j", "$.t"), "[false]");
    s.run(&json::json_numincrby("j", "$.a", 1.0));
    s.run(&json::json_nummultby("j", "$.a", 5.0));
    assert_eq!(get(s, "j", "$.a"), "[10]");
    let by_text = json::json_numincrby("j", ".a", 1.0).typed::<String>();
    assert_eq!(s.run(&by_text), "11");
    assert!(!s.run(&json::json_resp("j").path("$")).is_empty());
    assert_eq!(s.run(&json::json_clear("j").path("$.b")), 1);
    assert_eq!(s.run(&json::json_del("j").path("$.a")), 1);
    assert_eq!(s.run(&json::json_forget("j")), 1);
    assert_eq!(s.run(&json::json_del("j")), 0);
}

fn arrays(s: &mut Session) {
    s.run(&json::json_set("j", "$", r#"{"l":[1],"n":0}"#));
    let lengths = s.run(&json::json_arrappend("j", "$.*", ["2", "3"]));
    assert_eq!(lengths.iter().collect::<Vec<_>>(), [Some(3), None]);
    let insert = json::json_arrinsert("j", "$.l", 0, ["0", "\"x\""]);
    assert_eq!(s.run(&insert).first(), Some(Some(5)));
    let index = json::json_arrindex("j", "$.l", "3");
    assert_eq!(s.run(&index).first(), Some(Some(4)));
    assert_eq!(s.run(&index.range(0, 2)).first(), Some(Some(-1)));
    let length = json::json_arrlen("j").path("$.l");
    assert_eq!(s.run(&length).first(), Some(Some(5)));
    // The older syntax of paths has one value.
    let length = s.run(&json::json_arrlen("j").path(".l"));
    assert_eq!((length.len(), length.first()), (1, Some(Some(5))));
    let popped = s.run(&json::json_arrpop("j").path("$.l").index(1));
    assert_eq!(popped.first().flatten(), Some(&b"\"x\""[..]));
    let popped = s.run(&json::json_arrpop("j").path("$.*"));
    let popped: Vec<_> = popped.iter().map(|one| one.map(text)).collect();
    assert_eq!(popped, [Some("3".to_owned()), None]);
    let trim = json::json_arrtrim("j", "$.l", 0, 0);
    assert_eq!(s.run(&trim).first(), Some(Some(1)));
    assert_eq!(get(s, "j", "$.l"), "[[0]]");
}

fn objects_and_texts(s: &mut Session) {
    s.run(&json::json_set("j", "$", r#"{"o":{"a":1,"b":2},"s":"x"}"#));
    let keys = s.run(&json::json_objkeys("j").path(".o").typed::<Vec<String>>());
    assert_eq!(keys, ["a", "b"]);
    let keys = json::json_objkeys("j").path("$.*");
    let keys = s.run(&keys.typed::<Vec<Option<Vec<String>>>>());
    assert_eq!(
        keys[0].as_deref(),
        Some(&["a".to_owned(), "b".to_owned()][..])
    );
    // What is no object has nil or an empty array.
    assert!(keys[1].iter().flatten().next().is_none(), "{keys:?}");
    let sizes = s.run(&json::json_objlen("j").path("$.*"));
    assert_eq!(sizes.iter().collect::<Vec<_>>(), [Some(2), None]);
    let append = json::json_strappend("j", "\"yz\"").path("$.s");
    assert_eq!(s.run(&append).first(), Some(Some(3)));
    let length = json::json_strlen("j").path("$.s");
    assert_eq!(s.run(&length).first(), Some(Some(3)));
}

fn debug(s: &mut Session) {
    assert!(!texts(s.run(&json::json_debug_help())).is_empty());
    let size = s.run(&json::json_debug_memory("j").path("$")).first();
    assert!(size.flatten().is_some_and(|size| size > 0), "{size:?}");
    if s.has("JSON.DEBUG DEPTH") {
        assert_eq!(s.run(&json::json_debug_depth("j")).first(), Some(Some(2)));
    }
    if s.has("JSON.DEBUG FIELDS") {
        let fields = json::json_debug_fields("j").path("$.o");
        assert_eq!(s.run(&fields).first(), Some(Some(2)));
    }
}

fn get(s: &mut Session, key: &str, path: &str) -> String {
    s.run(&json::json_get(key).paths(path)).map(text).unwrap()
}
