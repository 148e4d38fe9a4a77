//! Bitmaps.

use onecopy_valkey_macros::commands;

commands! {
    family bitmap;

    BITCOUNT key [start: int [end: int unit: [BYTE | BIT]]] -> i64, O(N), since 2.6.0, READONLY;
    BITFIELD key operation: [<GET encoding offset | [OVERFLOW overflow-block: Overflow<WRAP | SAT | FAIL>]
        <SET encoding offset value: int | INCRBY encoding offset increment: int>>]...
        -> Array<'r, Option<i64>>, O(1), since 3.2.0, WRITE;
    BITFIELD_RO key get-block: [GET encoding offset]... -> Array<'r, i64>, O(1), since 6.0.0, READONLY;
    BITOP operation: BitOperation<AND | OR | XOR | NOT> destkey: key key... -> i64, O(N), since 2.6.0, WRITE;
    BITPOS key bit: int [start: int [end: int unit: [BYTE | BIT]]] -> i64, O(N), since 2.8.7, READONLY;
    GETBIT key offset: int -> bool, O(1), since 2.2.0, READONLY;
    SETBIT key offset: int value: int -> bool, O(1), since 2.2.0, WRITE;
}
