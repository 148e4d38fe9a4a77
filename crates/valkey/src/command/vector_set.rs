//! Vector sets: elements with a vector each, found by similarity. Redis has them since version 8; Valkey doesn't have them. The feature `modules` adds this module.
//!
//! ```
//! use onecopy_valkey::command::vector_set::{vadd, vsim};
//! use onecopy_valkey::{Query, Vector};
//!
//! let embedding: Vec<f32> = vec![0.1, 0.7, -0.2];
//! let add = vadd("words", &embedding, "apple").setattr(r#"{"len":5}"#);
//! let as_text = vadd("words", Vector::values([0.1, 0.7, -0.2]), "apple");
//!
//! let near = vsim("words", &embedding).count(10).withscores();
//! let like_apple = vsim("words", Query::element("apple")).withscores().withattribs().filter(".len < 6");
//! ```

use onecopy_valkey_macros::commands;

use crate::vector::{Query, Vector};

commands! {
    family vector_set;

    VADD key [REDUCE dim: uint] vector: vector element [CAS] quantization: [NOQUANT | Q8 | BIN]
        [EF build-exploration-factor: uint] [SETATTR attributes] [M numlinks: uint] -> bool, O(log(N)), since 8.0.0, WRITE;
    VCARD key -> i64, O(1), since 8.0.0, READONLY;
    VDIM key -> i64, O(1), since 8.0.0, READONLY;
    VEMB key element [RAW -> RawVector] -> MaybeDoubles, O(1), since 8.0.0, READONLY;
    VGETATTR key element -> Option<&'r [u8]>, O(1), since 8.0.0, READONLY;
    VINFO key -> Option<Map<'r, &'r [u8], Reply<'r>>>, O(1), since 8.0.0, READONLY;
    VISMEMBER key element -> bool, O(1), since 8.0.0, READONLY;
    VLINKS key element [WITHSCORES -> ScoredLinks] -> Links, O(1), since 8.0.0, READONLY;
    VRANDMEMBER key [count: int -> Bulks] -> MaybeBulk, O(N), since 8.0.0, READONLY;
    VRANGE key start end [count: int] -> Array<'r, &'r [u8]>, "O(log(K)+M)", since 8.4.0, READONLY;
    VREM key element -> bool, O(log(N)), since 8.0.0, WRITE;
    VSETATTR key element attributes -> bool, O(1), since 8.0.0, WRITE;
    VSIM key vector: query [WITHSCORES -> Similarity::Scored] [WITHATTRIBS @8.2.0 -> Similarity::Attributed]
        [COUNT count: uint] [EPSILON distance: double @8.2.0] [EF search-exploration-factor: uint] [FILTER expression]
        [FILTER-EF max-filtering-effort: uint] [TRUTH] [NOTHREAD] -> Bulks, O(log(N)), since 8.0.0, READONLY;
}
