use onecopy_valkey::command::geo;
use onecopy_valkey::command::word::Unit;

use super::session::{Session, text, texts};

pub(crate) fn run(s: &mut Session) {
    let places = [
        (13.361389, 38.115556, "Palermo"),
        (15.087269, 37.502669, "Catania"),
    ];
    assert_eq!(s.run(&geo::geoadd("g", places)), 2);
    assert_eq!(s.run(&geo::geoadd("g", places[0]).nx().ch()), 0);
    assert_eq!(
        s.run(&geo::geoadd("g", (13.0, 38.0, "Palermo")).xx().ch()),
        1
    );
    s.run(&geo::geoadd("g", places[0]));
    let distance = s
        .run(&geo::geodist("g", "Palermo", "Catania").unit(Unit::Km))
        .unwrap();
    assert!((distance - 166.27).abs() < 0.1, "{distance}");
    assert_eq!(s.run(&geo::geodist("g", "Palermo", "nothing")), None);
    let hashes = s.run(&geo::geohash("g", ["Palermo", "nothing"]));
    let hashes: Vec<_> = hashes.iter().map(|hash| hash.map(text)).collect();
    assert_eq!(hashes, [Some("sqc8b49rny0".to_owned()), None]);
    let found = s.run(&geo::geopos("g", ["Catania", "nothing"]));
    let found: Vec<_> = found.iter().collect();
    let (longitude, latitude) = found[0].unwrap();
    assert!((longitude - 15.087269).abs() < 1e-4 && (latitude - 37.502669).abs() < 1e-4);
    assert_eq!(found[1], None);
    searches(s);
    radiuses(s);
}

fn searches(s: &mut Session) {
    let near = geo::geosearch("g")
        .fromlonlat(15.0, 37.0)
        .byradius(200.0, Unit::Km);
    assert_eq!(texts(s.run(&near.clone().asc())), ["Catania", "Palermo"]);
    assert_eq!(texts(s.run(&near.clone().desc().count(1).any())).len(), 1);
    let rows = near.asc().withcoord().withdist().withhash();
    let rows = s.run(&rows);
    let row: Vec<_> = rows.iter().next().unwrap().children().collect();
    assert_eq!(
        (row.len(), row[0].bytes(), row[3].len()),
        (4, &b"Catania"[..], 2)
    );
    let member = geo::geosearch("g")
        .frommember("Palermo")
        .bybox(10.0, 10.0, Unit::Km);
    assert_eq!(texts(s.run(&member)), ["Palermo"]);
    let store = geo::geosearchstore("t", "g")
        .frommember("Palermo")
        .byradius(500.0, Unit::Km)
        .storedist();
    assert_eq!(s.run(&store), 2);
    let store = geo::geosearchstore("t", "g")
        .fromlonlat(15.0, 37.0)
        .bybox(400.0, 400.0, Unit::Km);
    assert_eq!(s.run(&store.asc().count(1)), 1);
}

fn radiuses(s: &mut Session) {
    let all = geo::georadius("g", 15.0, 37.0, 200.0, Unit::Km).asc();
    assert_eq!(texts(s.run(&all)), ["Catania", "Palermo"]);
    assert_eq!(s.run(&all.clone().withdist()).len(), 2);
    assert_eq!(s.run(&all.clone().store("t")), 2);
    assert_eq!(s.run(&all.count(1).storedist("t")), 1);
    let near = geo::georadiusbymember("g", "Palermo", 10.0, Unit::Mi);
    assert_eq!(texts(s.run(&near)), ["Palermo"]);
    assert_eq!(s.run(&near.store("t")), 1);
    let read = geo::georadius_ro("g", 15.0, 37.0, 200.0, Unit::Km)
        .desc()
        .count(1);
    assert_eq!(texts(s.run(&read)), ["Palermo"]);
    let read = geo::georadiusbymember_ro("g", "Palermo", 10_000.0, Unit::M)
        .withcoord()
        .withhash();
    assert_eq!(s.run(&read).len(), 1);
}
