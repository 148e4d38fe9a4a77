//! Collation ids: the two bytes with which both servers identify a character set and its sort order.
//!
//! Specification: `SELECT id, collation_name, character_set_name FROM information_schema.collations` on the server
//! itself; compared with MariaDB 10.11, and for MySQL with
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_character_set.html>.

use std::fmt;

/// The id of a collation, which also determines the character set.
///
/// Every id is valid: an unknown one has no [`charset_name`](Self::charset_name), and its text is treated as bytes.
///
/// ```
/// use onecopy_mysql_proto::charset::CollationId;
///
/// assert_eq!(CollationId::UTF8MB4_GENERAL_CI.charset_name(), Some("utf8mb4"));
/// assert!(CollationId(63).is_binary());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct CollationId(pub u16);

/// MariaDB gives the variants of a collation that do not pad with spaces its id plus this.
const NO_PAD_OFFSET: u16 = 1024;

impl CollationId {
    /// `latin1_swedish_ci`, the default of old servers.
    pub const LATIN1_SWEDISH_CI: Self = Self(8);
    /// `ascii_general_ci`.
    pub const ASCII_GENERAL_CI: Self = Self(11);
    /// `utf8mb3_general_ci`, formerly `utf8_general_ci`: at most three bytes a character.
    pub const UTF8MB3_GENERAL_CI: Self = Self(33);
    /// `utf8mb4_general_ci`, supported by every server since 5.5.
    pub const UTF8MB4_GENERAL_CI: Self = Self(45);
    /// `utf8mb4_bin`.
    pub const UTF8MB4_BIN: Self = Self(46);
    /// `binary`: bytes, not text. Numbers, dates and times have it too.
    pub const BINARY: Self = Self(63);
    /// `utf8mb4_unicode_ci`.
    pub const UTF8MB4_UNICODE_CI: Self = Self(224);
    /// `utf8mb4_0900_ai_ci`, the default of MySQL since 8.0; MariaDB 10.11 has no such id.
    pub const UTF8MB4_0900_AI_CI: Self = Self(255);
    /// `utf8mb4_uca1400_ai_ci`, the default of MariaDB since 11.5; MySQL has no such id.
    pub const UTF8MB4_UCA1400_AI_CI: Self = Self(2304);

    /// Returns whether the column contains bytes and not text.
    #[inline]
    pub const fn is_binary(self) -> bool {
        self.0 == Self::BINARY.0
    }

    /// Returns whether text in this collation is UTF-8: utf8mb4, or utf8mb3 with at most three bytes per character.
    pub const fn is_utf8(self) -> bool {
        matches!(
            self.without_no_pad(),
            33 | 45 | 46 | 76 | 83 | 192..=215 | 223..=247 | 255..=323 | 576..=578 | 608..=610 | 2048..=2559
        )
    }

    /// Whether text in this collation is UTF-8 as far as is known: utf8mb4, utf8mb3, or a collation that is not known here,
    /// for servers add collations to utf8mb4 alone.
    pub(crate) const fn may_be_utf8(self) -> bool {
        self.is_utf8() || self.charset_name().is_none()
    }

    /// Whether the character set has ASCII's characters as ASCII's bytes.
    pub(crate) fn extends_ascii(self) -> bool {
        self.charset_name().is_none_or(extends_ascii)
    }

    /// Returns the name of the character set, as in MySQL 8 and MariaDB 10.11, or `None` if the id is unknown.
    pub const fn charset_name(self) -> Option<&'static str> {
        Some(match self.without_no_pad() {
            1 | 84 => "big5",
            2 | 9 | 21 | 27 | 77 => "latin2",
            3 | 69 => "dec8",
            4 | 80 => "cp850",
            5 | 8 | 15 | 31 | 47..=49 | 94 => "latin1",
            6 | 72 => "hp8",
            7 | 74 => "koi8r",
            10 | 82 => "swe7",
            11 | 65 => "ascii",
            12 | 91 => "ujis",
            13 | 88 => "sjis",
            14 | 23 | 50..=52 => "cp1251",
            16 | 71 => "hebrew",
            18 | 89 => "tis620",
            19 | 85 => "euckr",
            20 | 41 | 42 | 79 => "latin7",
            22 | 75 => "koi8u",
            24 | 86 => "gb2312",
            25 | 70 => "greek",
            26 | 34 | 44 | 66 | 99 => "cp1250",
            28 | 87 => "gbk",
            29 | 58 | 59 => "cp1257",
            30 | 78 => "latin5",
            32 | 64 => "armscii8",
            33 | 76 | 83 | 192..=215 | 223 | 576..=578 | 2048..=2303 => "utf8mb3",
            35 | 90 | 128..=151 | 159 | 640..=642 | 2560..=2815 => "ucs2",
            36 | 68 => "cp866",
            37 | 73 => "keybcs2",
            38 | 43 => "macce",
            39 | 53 => "macroman",
            40 | 81 => "cp852",
            45 | 46 | 224..=247 | 255..=323 | 608..=610 | 2304..=2559 => "utf8mb4",
            54 | 55 | 101..=124 | 672..=674 | 2816..=3071 => "utf16",
            56 | 62 => "utf16le",
            57 | 67 => "cp1256",
            60 | 61 | 160..=183 | 736..=738 | 3072..=3327 => "utf32",
            63 => "binary",
            92 | 93 => "geostd8",
            95 | 96 => "cp932",
            97 | 98 => "eucjpms",
            248..=250 => "gb18030",
            _ => return None,
        })
    }

    /// The id of the padding variant: only ids of MySQL's common range (below 248) have one that does not pad.
    const fn without_no_pad(self) -> u16 {
        match self.0 {
            // 63 plus the offset is nobody's: bytes are never padded.
            1087 => 1087,
            1025..1272 => self.0 - NO_PAD_OFFSET,
            id => id,
        }
    }
}

/// Whether the character set of this name has ASCII's characters as ASCII's bytes.
pub(crate) fn extends_ascii(charset: &str) -> bool {
    // swe7 has letters where ASCII has brackets; the others have at least two bytes per character.
    !matches!(charset, "ucs2" | "utf16" | "utf16le" | "utf32" | "swe7")
}

impl fmt::Display for CollationId {
    /// Shows the character set with the id, as in `utf8mb4 (45)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} ({})",
            self.charset_name().unwrap_or("unknown"),
            self.0
        )
    }
}

impl fmt::Debug for CollationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests;
