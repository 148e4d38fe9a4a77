use onecopy_valkey::command::vector_set;
use onecopy_valkey::{Query, Vector};

use super::session::{Session, text, texts};

pub(crate) fn run(s: &mut Session) {
    if !s.has("VADD") {
        return;
    }
    elements(s);
    similarity(s);
    let wide = vector_set::vadd("r", [1.0, 0.0, 0.0, 0.0], "a").reduce(2);
    assert!(s.run(&wide.ef(100).m(8).cas().bin()));
    assert_eq!(s.run(&vector_set::vdim("r")), 2);
    assert!(s.run(&vector_set::vrem("v", "b")));
    assert!(!s.run(&vector_set::vrem("v", "b")));
    assert_eq!(s.run(&vector_set::vcard("v")), 2);
}

/// Leaves three elements, `a` in the direction of `c`, and `b` across.
fn elements(s: &mut Session) {
    assert!(s.run(&vector_set::vadd("v", [1.0, 0.0], "a").noquant()));
    assert!(s.run(&vector_set::vadd("v", Vector::values([0.0, 2.0]), "b").noquant()));
    let add = vector_set::vadd("v", Vector::values(["3", "0.5"]), "c").noquant();
    assert!(s.run(&add.clone().setattr(r#"{"n":3}"#)));
    assert!(!s.run(&add));
    assert!(s.run(&vector_set::vadd("q", [1.0, 0.0], "a").q8()));
    assert_eq!(s.run(&vector_set::vcard("v")), 3);
    assert_eq!(s.run(&vector_set::vdim("v")), 2);
    let vector = s.run(&vector_set::vemb("v", "b")).unwrap();
    assert_eq!(vector.iter().collect::<Vec<_>>(), [0.0, 2.0]);
    assert!(s.run(&vector_set::vemb("v", "none")).is_none());
    let raw = s.run(&vector_set::vemb("q", "a").raw()).unwrap();
    assert_eq!(
        (raw.len(), text(raw.iter().next().unwrap().bytes())),
        (4, "int8".to_owned())
    );
    assert!(s.run(&vector_set::vsetattr("v", "a", r#"{"n":1}"#)));
    assert!(!s.run(&vector_set::vsetattr("v", "none", "{}")));
    let attributes = s.run(&vector_set::vgetattr("v", "a")).map(text);
    assert_eq!(attributes.as_deref(), Some(r#"{"n":1}"#));
    assert_eq!(s.run(&vector_set::vgetattr("v", "b")), None);
    let info = s.run(&vector_set::vinfo("v")).unwrap();
    assert_eq!(info.get("vector-dim").and_then(|dim| dim.as_i64()), Some(2));
    assert!(s.run(&vector_set::vinfo("none")).is_none());
    assert!(s.run(&vector_set::vrandmember("v")).is_some());
    assert_eq!(s.run(&vector_set::vrandmember("none")), None);
    assert_eq!(
        texts(s.run(&vector_set::vrandmember("v").count(9))).len(),
        3
    );
    if s.has("VISMEMBER") {
        assert!(s.run(&vector_set::vismember("v", "a")));
        assert!(!s.run(&vector_set::vismember("v", "none")));
    }
    if s.has("VRANGE") {
        let range = vector_set::vrange("v", "[b", "+");
        assert_eq!(texts(s.run(&range)), ["b", "c"]);
        assert_eq!(texts(s.run(&range.count(1))), ["b"]);
    }
}

fn similarity(s: &mut Session) {
    let near = vector_set::vsim("v", Query::element("a")).truth();
    assert_eq!(texts(s.run(&near)), ["a", "c", "b"]);
    let scores: Vec<_> = s
        .run(&near.clone().withscores())
        .iter()
        .map(|(name, score)| (text(name), (score * 10.0).round()))
        .collect();
    let expected = [("a", 10.0), ("c", 10.0), ("b", 5.0)];
    assert_eq!(
        scores,
        expected.map(|(name, score)| (name.to_owned(), score))
    );
    let few = near.clone().count(1).epsilon(0.2).ef(50).nothread();
    assert_eq!(texts(s.run(&few)), ["a"]);
    let filtered = vector_set::vsim("v", [1.0, 0.0])
        .filter(".n > 1")
        .filter_ef(10);
    assert_eq!(texts(s.run(&filtered)), ["c"]);
    assert_eq!(texts(s.run(&vector_set::vsim("none", [1.0]))), [""; 0]);
    let attributes = s.run(&near.clone().withattribs());
    let attributes: Vec<_> = attributes.iter().map(|(_, one)| one.map(text)).collect();
    let expected = [Some(r#"{"n":1}"#), Some(r#"{"n":3}"#), None];
    assert_eq!(attributes, expected.map(|one| one.map(str::to_owned)));
    for both in [
        near.clone().withscores().withattribs(),
        near.withattribs().withscores(),
    ] {
        let found = s.run(&both);
        let found: Vec<_> = found
            .iter()
            .map(|(name, score, one)| (text(name), (score * 10.0).round(), one.map(text)))
            .collect();
        assert_eq!(found.len(), 3);
        assert_eq!(
            found[1],
            ("c".to_owned(), 10.0, Some(r#"{"n":3}"#.to_owned()))
        );
        assert_eq!(found[2], ("b".to_owned(), 5.0, None));
    }
    let links = s.run(&vector_set::vlinks("v", "a")).unwrap();
    assert!(links.iter().map(|layer| layer.len()).sum::<usize>() > 0);
    let links = s.run(&vector_set::vlinks("v", "a").withscores()).unwrap();
    assert!(
        links
            .iter()
            .flatten()
            .all(|(_, score)| (0.0..=1.0).contains(&score))
    );
    assert!(s.run(&vector_set::vlinks("v", "none")).is_none());
}
