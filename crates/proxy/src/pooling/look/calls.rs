//! Whether a query may call a function that is stored on the server. Such a function can set variables, of which MySQL tells in an OK packet
//! only: clients without `DEPRECATE_EOF` get none behind rows.

use super::words::{Reading, Token, Words};

/// What may stand before `(` in a query of MySQL and is its own: functions, and words that are reserved. A stored function can have the
/// name of a function too, but is called with its schema then. A name that is missing here costs a question.
#[rustfmt::skip]
const OWN: &[&[u8]] = &[
    b"ABS", b"ACOS", b"ADDDATE", b"ADDTIME", b"AES_DECRYPT", b"AES_ENCRYPT", b"ALL", b"AND",
    b"ANY_VALUE", b"AS", b"ASC", b"ASCII", b"ASIN", b"ATAN", b"ATAN2", b"AVG", b"BETWEEN",
    b"BIGINT", b"BIN", b"BINARY", b"BIN_TO_UUID", b"BIT_AND", b"BIT_COUNT", b"BIT_LENGTH",
    b"BIT_OR", b"BIT_XOR", b"BY", b"CASE", b"CAST", b"CEIL", b"CEILING", b"CHAR",
    b"CHARACTER_LENGTH", b"CHARSET", b"CHAR_LENGTH", b"COALESCE", b"COERCIBILITY", b"COLLATION",
    b"COMPRESS", b"CONCAT", b"CONCAT_WS", b"CONNECTION_ID", b"CONV", b"CONVERT", b"CONVERT_TZ",
    b"COS", b"COT", b"COUNT", b"CRC32", b"CROSS", b"CUME_DIST", b"CURDATE", b"CURRENT_DATE",
    b"CURRENT_TIME", b"CURRENT_TIMESTAMP", b"CURRENT_USER", b"CURTIME", b"DATABASE", b"DATE",
    b"DATEDIFF", b"DATE_ADD", b"DATE_FORMAT", b"DATE_SUB", b"DAY", b"DAYNAME",
    b"DAYOFMONTH", b"DAYOFWEEK", b"DAYOFYEAR", b"DECIMAL", b"DEFAULT", b"DEGREES", b"DENSE_RANK",
    b"DESC", b"DISTINCT", b"DIV", b"DOUBLE", b"ELSE", b"ELT", b"EXCEPT", b"EXISTS", b"EXP",
    b"EXPORT_SET", b"EXTRACT", b"EXTRACTVALUE", b"FIELD", b"FIND_IN_SET", b"FIRST_VALUE", b"FLOAT",
    b"FLOOR", b"FORCE", b"FORMAT", b"FORMAT_BYTES", b"FOUND_ROWS", b"FROM", b"FROM_BASE64",
    b"FROM_DAYS", b"FROM_UNIXTIME", b"FULLTEXT", b"GET_FORMAT", b"GET_LOCK", b"GREATEST",
    b"GROUPING", b"GROUP_CONCAT", b"HAVING", b"HEX", b"HOUR", b"IF", b"IFNULL", b"IGNORE", b"IN",
    b"INDEX", b"INET6_ATON", b"INET6_NTOA", b"INET_ATON", b"INET_NTOA", b"INNER", b"INSERT",
    b"INSTR", b"INT", b"INTEGER", b"INTERSECT", b"INTERVAL", b"IS_FREE_LOCK", b"IS_IPV4",
    b"IS_IPV6", b"IS_USED_LOCK", b"IS_UUID", b"JOIN", b"JSON_ARRAY", b"JSON_ARRAYAGG",
    b"JSON_ARRAY_APPEND", b"JSON_ARRAY_INSERT", b"JSON_CONTAINS", b"JSON_CONTAINS_PATH",
    b"JSON_DEPTH", b"JSON_EXTRACT", b"JSON_INSERT", b"JSON_KEYS", b"JSON_LENGTH",
    b"JSON_MERGE_PATCH", b"JSON_MERGE_PRESERVE", b"JSON_OBJECT", b"JSON_OBJECTAGG",
    b"JSON_OVERLAPS", b"JSON_PRETTY", b"JSON_QUOTE", b"JSON_REMOVE", b"JSON_REPLACE",
    b"JSON_SCHEMA_VALID", b"JSON_SEARCH", b"JSON_SET", b"JSON_STORAGE_SIZE", b"JSON_TABLE",
    b"JSON_TYPE", b"JSON_UNQUOTE", b"JSON_VALID", b"JSON_VALUE", b"KEY", b"LAG", b"LAST_DAY",
    b"LAST_INSERT_ID", b"LAST_VALUE", b"LATERAL", b"LCASE", b"LEAD", b"LEAST", b"LEFT", b"LENGTH",
    b"LIKE", b"LIMIT", b"LN", b"LOCALTIME", b"LOCALTIMESTAMP", b"LOCATE", b"LOG", b"LOG10", b"LOG2",
    b"LOWER", b"LPAD", b"LTRIM", b"MAKEDATE", b"MAKETIME", b"MAKE_SET", b"MATCH", b"MAX", b"MD5",
    b"MICROSECOND", b"MID", b"MIN", b"MINUTE", b"MOD", b"MONTH", b"MONTHNAME",
    b"NAME_CONST", b"NOT", b"NOW", b"NTH_VALUE", b"NTILE", b"NULLIF", b"NUMERIC", b"OCT",
    b"OCTET_LENGTH", b"OF", b"ON", b"OR", b"ORD", b"ORDER", b"OVER", b"PARTITION",
    b"PERCENT_RANK", b"PERIOD_ADD", b"PERIOD_DIFF", b"PI", b"POSITION", b"POW", b"POWER",
    b"PRIMARY", b"QUARTER", b"QUOTE", b"RADIANS", b"RAND", b"RANDOM_BYTES", b"RANK", b"REAL",
    b"REGEXP", b"REGEXP_INSTR", b"REGEXP_LIKE", b"REGEXP_REPLACE", b"REGEXP_SUBSTR",
    b"RELEASE_ALL_LOCKS", b"RELEASE_LOCK", b"REPEAT", b"REPLACE", b"REVERSE", b"RIGHT", b"RLIKE",
    b"ROUND", b"ROW", b"ROW_COUNT", b"ROW_NUMBER", b"RPAD", b"RTRIM", b"SCHEMA", b"SECOND",
    b"SEC_TO_TIME", b"SELECT", b"SESSION_USER", b"SHA", b"SHA1", b"SHA2", b"SIGN",
    b"SIN", b"SLEEP", b"SOUNDEX", b"SPACE", b"SQRT", b"STATEMENT_DIGEST", b"STD",
    b"STDDEV", b"STDDEV_POP", b"STDDEV_SAMP", b"STRAIGHT_JOIN", b"STRCMP", b"STR_TO_DATE",
    b"SUBDATE", b"SUBSTR", b"SUBSTRING", b"SUBSTRING_INDEX", b"SUBTIME", b"SUM", b"SYSDATE",
    b"SYSTEM_USER", b"TABLE", b"TAN", b"THEN", b"TIME", b"TIMEDIFF", b"TIMESTAMP", b"TIMESTAMPADD",
    b"TIMESTAMPDIFF", b"TIME_FORMAT", b"TIME_TO_SEC", b"TO_BASE64", b"TO_DAYS", b"TO_SECONDS",
    b"TRIM", b"TRUNCATE", b"UCASE", b"UNCOMPRESS", b"UNHEX", b"UNION", b"UNIX_TIMESTAMP",
    b"UNSIGNED", b"UPDATEXML", b"UPPER", b"USE", b"USER", b"USING", b"UTC_DATE", b"UTC_TIME",
    b"UTC_TIMESTAMP", b"UUID", b"UUID_SHORT", b"UUID_TO_BIN", b"VALUES", b"VARBINARY", b"VARCHAR",
    b"VARIANCE", b"VAR_POP", b"VAR_SAMP", b"VERSION", b"WEEK", b"WEEKDAY", b"WEEKOFYEAR",
    b"WEIGHT_STRING", b"WHEN", b"WHERE", b"WINDOW", b"XOR", b"YEAR", b"YEARWEEK",
];

const LONGEST: usize = 32;

/// Whether one of the names before a parenthesis is not the server's own.
#[cold]
pub(crate) fn may_call_stored(text: &[u8], reading: Reading) -> bool {
    let mut words = Words::new(text, reading);
    while let Some(token) = words.next() {
        let is_stored = match token {
            Token::QuotedCall(_) => true,
            Token::Word(word) if words.is_call() => {
                words.is_behind_point(word.len()) || !is_own(word)
            }
            _ => false,
        };
        if is_stored {
            return true;
        }
    }
    false
}

fn is_own(word: &[u8]) -> bool {
    let mut upper = [0; LONGEST];
    let Some(upper) = upper.get_mut(..word.len()) else {
        return false;
    };
    upper.copy_from_slice(word);
    upper.make_ascii_uppercase();
    let upper = &*upper;
    OWN.binary_search(&upper).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_not_the_servers_own_may_be_stored_functions() {
        assert!(OWN.is_sorted() && OWN.iter().all(|name| name.len() <= LONGEST));
        let may = |sql: &str| may_call_stored(sql.as_bytes(), Reading::default());
        for sql in [
            "SELECT 1",
            "SELECT a, count(*) FROM t WHERE b IN (1, 2) AND (c OR d) GROUP BY a HAVING (SUM(e) > 1)",
            "SELECT CAST(a AS CHAR (5)), 'sets(1)', \"sets(1)\" /* sets(1) */ FROM (SELECT 1) AS t # sets(1)",
            "SELECT * FROM a JOIN b USING (id) WHERE EXISTS (SELECT 1)",
        ] {
            assert!(!may(sql), "{sql}");
        }
        for sql in [
            "SELECT sets(1)",
            "SELECT a FROM t WHERE b = sets (1)",
            "SELECT one.concat(1)",
            "SELECT `sets`(1)",
            "SELECT `one`.`sets`(1)",
            "SELECT /*!50000 sets(1) */",
            "SELECT a_name_that_is_longer_than_all_of_those_in_the_list(1)",
        ] {
            assert!(may(sql), "{sql}");
        }
    }
}
