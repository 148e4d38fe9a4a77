//! Places on the globe.

use onecopy_valkey_macros::commands;

commands! {
    family geo;

    GEOADD key condition: [NX | XX] [CH @6.2.0] data: (longitude: double latitude: double member)... -> i64, O(log(N)),
        since 3.2.0, WRITE;
    GEODIST key member1 member2 [unit: Unit<m | km | ft | mi>] -> Option<f64>, O(1), since 3.2.0, READONLY;
    GEOHASH key [member...]! -> Array<'r, Option<&'r [u8]>>, O(1), since 3.2.0, READONLY;
    GEOPOS key [member...]! -> Array<'r, Option<(f64, f64)>>, O(1), since 3.2.0, READONLY;
    GEORADIUS key longitude: double latitude: double radius: double unit: Unit<m | km | ft | mi> [WITHCOORD -> Replies]
        [WITHDIST -> Replies] [WITHHASH -> Replies] [COUNT count: int [ANY @6.2.0]] order: [ASC | DESC]
        store: [STORE storekey: key -> Integer | STOREDIST storedistkey: key -> Integer] -> Bulks, O(N+log(M)),
        since 3.2.0, deprecated 6.2.0, WRITE;
    GEORADIUSBYMEMBER key member radius: double unit: Unit<m | km | ft | mi> [WITHCOORD -> Replies]
        [WITHDIST -> Replies] [WITHHASH -> Replies] [COUNT count: int [ANY]] order: [ASC | DESC]
        store: [STORE storekey: key -> Integer | STOREDIST storedistkey: key -> Integer] -> Bulks, O(N+log(M)),
        since 3.2.0, deprecated 6.2.0, WRITE;
    GEORADIUSBYMEMBER_RO key member radius: double unit: Unit<m | km | ft | mi> [WITHCOORD -> Replies]
        [WITHDIST -> Replies] [WITHHASH -> Replies] [COUNT count: int [ANY]] order: [ASC | DESC] -> Bulks,
        O(N+log(M)), since 3.2.10, deprecated 6.2.0, READONLY;
    GEORADIUS_RO key longitude: double latitude: double radius: double unit: Unit<m | km | ft | mi>
        [WITHCOORD -> Replies] [WITHDIST -> Replies] [WITHHASH -> Replies] [COUNT count: int [ANY @6.2.0]]
        order: [ASC | DESC] -> Bulks, O(N+log(M)), since 3.2.10, deprecated 6.2.0, READONLY;
    GEOSEARCH key from: <FROMMEMBER member | FROMLONLAT longitude: double latitude: double>
        by: <BYRADIUS radius: double unit: Unit<m | km | ft | mi> |
        BYBOX width: double height: double unit: Unit<m | km | ft | mi>> order: [ASC | DESC]
        [COUNT count: int [ANY]] [WITHCOORD -> Replies] [WITHDIST -> Replies] [WITHHASH -> Replies] -> Bulks,
        O(N+log(M)), since 6.2.0, READONLY;
    GEOSEARCHSTORE destination: key source: key
        from: <FROMMEMBER member | FROMLONLAT longitude: double latitude: double>
        by: <BYRADIUS radius: double unit: Unit<m | km | ft | mi> |
        BYBOX width: double height: double unit: Unit<m | km | ft | mi>> order: [ASC | DESC]
        [COUNT count: int [ANY]] [STOREDIST] -> i64, O(N+log(M)), since 6.2.0, WRITE;
}
