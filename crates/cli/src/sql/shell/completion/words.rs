//! Keywords and functions, those that people type. Each list is sorted.

/// What statements start with.
#[rustfmt::skip]
const STARTS: &[&str] = &[
    "ALTER", "ANALYZE", "BEGIN", "CALL", "CHANGE", "CHECK", "CHECKSUM", "COMMIT", "CREATE", "DEALLOCATE", "DELETE",
    "DESC", "DESCRIBE", "DO", "DROP", "EXECUTE", "EXPLAIN", "FLUSH", "GRANT", "HANDLER", "HELP", "INSERT", "INSTALL",
    "KILL", "LOAD", "LOCK", "OPTIMIZE", "PREPARE", "PURGE", "RELEASE", "RENAME", "REPAIR", "REPLACE", "RESET",
    "REVOKE", "ROLLBACK", "SAVEPOINT", "SELECT", "SET", "SHOW", "SIGNAL", "START", "STOP", "TABLE", "TRUNCATE",
    "UNINSTALL", "UNLOCK", "UPDATE", "USE", "VALUES", "WITH", "XA",
];

/// Words of the grammars of MySQL and MariaDB.
#[rustfmt::skip]
const KEYWORDS: &[&str] = &[
    "ADD", "AFTER", "ALGORITHM", "ALL", "ALTER", "ANALYZE", "AND", "AS", "ASC", "AUTO_INCREMENT", "BEFORE", "BEGIN",
    "BETWEEN", "BIGINT", "BINARY", "BIT", "BLOB", "BOOLEAN", "BOTH", "BY", "CALL", "CASCADE", "CASE", "CHANGE",
    "CHAR", "CHARACTER", "CHARSET", "CHECK", "CHECKSUM", "COLLATE", "COLUMN", "COLUMNS", "COMMENT", "COMMIT",
    "COMMITTED", "CONSTRAINT", "CREATE", "CROSS", "CURRENT", "CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP",
    "CURRENT_USER", "DATABASE", "DATABASES", "DATE", "DATETIME", "DEALLOCATE", "DECIMAL", "DECLARE", "DEFAULT",
    "DEFINER", "DELETE", "DESC", "DESCRIBE", "DISTINCT", "DIV", "DO", "DOUBLE", "DROP", "DUPLICATE", "EACH", "ELSE",
    "ELSEIF", "END", "ENGINE", "ENGINES", "ENUM", "ERRORS", "ESCAPE", "EVENT", "EVENTS", "EXCEPT", "EXECUTE",
    "EXISTS", "EXPLAIN", "FALSE", "FIELDS", "FIRST", "FLOAT", "FLUSH", "FOLLOWING", "FOR", "FORCE", "FOREIGN", "FROM",
    "FULL", "FULLTEXT", "FUNCTION", "GLOBAL", "GRANT", "GRANTS", "GROUP", "HANDLER", "HAVING", "HELP", "HOUR",
    "IDENTIFIED", "IF", "IGNORE", "IN", "INDEX", "INDEXES", "INFILE", "INNER", "INSERT", "INSTALL", "INT", "INTEGER",
    "INTERSECT", "INTERVAL", "INTO", "IS", "ISOLATION", "ITERATE", "JOIN", "JSON", "KEY", "KEYS", "KILL", "LAST",
    "LATERAL", "LEADING", "LEAVE", "LEFT", "LEVEL", "LIKE", "LIMIT", "LINES", "LOAD", "LOCAL", "LOCK", "LONGBLOB",
    "LONGTEXT", "LOOP", "MATCH", "MEDIUMBLOB", "MEDIUMINT", "MEDIUMTEXT", "MINUTE", "MOD", "MODE", "MODIFY", "MONTH",
    "NATURAL", "NEXT", "NO", "NOT", "NULL", "NUMERIC", "OFFSET", "ON", "ONLY", "OPTIMIZE", "OPTION", "OR", "ORDER",
    "OUT", "OUTER", "OUTFILE", "OVER", "PARTITION", "PARTITIONS", "PRECEDING", "PREPARE", "PRIMARY", "PRIVILEGES",
    "PROCEDURE", "PROCESSLIST", "PURGE", "QUARTER", "QUERY", "RANGE", "READ", "RECURSIVE", "REFERENCES", "REGEXP",
    "RELEASE", "RENAME", "REPAIR", "REPEAT", "REPEATABLE", "REPLACE", "RESET", "RESTRICT", "RETURN", "RETURNING",
    "RETURNS", "REVOKE", "RIGHT", "RLIKE", "ROLE", "ROLLBACK", "ROLLUP", "ROW", "ROWS", "SAVEPOINT", "SCHEMA",
    "SECOND", "SELECT", "SEPARATOR", "SEQUENCE", "SERIALIZABLE", "SESSION", "SET", "SHARE", "SHOW", "SIGNAL", "SLAVE",
    "SMALLINT", "SNAPSHOT", "SQL", "START", "STARTING", "STATUS", "STOP", "STRAIGHT_JOIN", "TABLE", "TABLES",
    "TEMPORARY", "TERMINATED", "TEXT", "THEN", "TIME", "TIMESTAMP", "TINYBLOB", "TINYINT", "TINYTEXT", "TO",
    "TRAILING", "TRANSACTION", "TRIGGER", "TRIGGERS", "TRUE", "TRUNCATE", "UNBOUNDED", "UNCOMMITTED", "UNINSTALL",
    "UNION", "UNIQUE", "UNLOCK", "UNSIGNED", "UNTIL", "UPDATE", "USAGE", "USE", "USER", "USING", "VALUES",
    "VARBINARY", "VARCHAR", "VARIABLES", "VIEW", "WAIT", "WARNINGS", "WEEK", "WHEN", "WHERE", "WHILE", "WINDOW",
    "WITH", "WORK", "WRITE", "XA", "XOR", "YEAR", "ZEROFILL",
];

/// Keywords that are no names without quotes, on MySQL or on MariaDB.
#[rustfmt::skip]
const RESERVED: &[&str] = &[
    "ADD", "ALL", "ALTER", "ANALYZE", "AND", "AS", "ASC", "BEFORE", "BETWEEN", "BIGINT", "BINARY", "BLOB", "BOTH",
    "BY", "CALL", "CASCADE", "CASE", "CHANGE", "CHAR", "CHARACTER", "CHECK", "COLLATE", "COLUMN", "CONSTRAINT",
    "CREATE", "CROSS", "CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "CURRENT_USER", "DATABASE", "DATABASES",
    "DECIMAL", "DECLARE", "DEFAULT", "DELETE", "DESC", "DESCRIBE", "DISTINCT", "DIV", "DOUBLE", "DROP", "EACH",
    "ELSE", "ELSEIF", "ESCAPE", "EXCEPT", "EXISTS", "EXPLAIN", "FALSE", "FLOAT", "FOR", "FORCE", "FOREIGN", "FROM",
    "FULLTEXT", "FUNCTION", "GRANT", "GROUP", "HAVING", "IF", "IGNORE", "IN", "INDEX", "INFILE", "INNER", "INSERT",
    "INT", "INTEGER", "INTERSECT", "INTERVAL", "INTO", "IS", "ITERATE", "JOIN", "KEY", "KEYS", "KILL", "LATERAL",
    "LEADING", "LEAVE", "LEFT", "LIKE", "LIMIT", "LINES", "LOAD", "LOCK", "LONGBLOB", "LONGTEXT", "LOOP", "MATCH",
    "MEDIUMBLOB", "MEDIUMINT", "MEDIUMTEXT", "MOD", "NATURAL", "NOT", "NULL", "NUMERIC", "ON", "OPTIMIZE", "OPTION",
    "OR", "ORDER", "OUT", "OUTER", "OUTFILE", "OVER", "PARTITION", "PRIMARY", "PROCEDURE", "RANGE", "READ",
    "RECURSIVE", "REFERENCES", "REGEXP", "RELEASE", "RENAME", "REPEAT", "REPLACE", "RESTRICT", "RETURN", "RETURNING",
    "REVOKE", "RIGHT", "RLIKE", "ROW", "ROWS", "SCHEMA", "SELECT", "SET", "SHOW", "SIGNAL", "SMALLINT", "SQL",
    "STARTING", "STRAIGHT_JOIN", "TABLE", "TERMINATED", "THEN", "TINYBLOB", "TINYINT", "TINYTEXT", "TO", "TRAILING",
    "TRIGGER", "TRUE", "UNION", "UNIQUE", "UNLOCK", "UNSIGNED", "UPDATE", "USAGE", "USE", "USING", "VALUES",
    "VARBINARY", "VARCHAR", "WHEN", "WHERE", "WHILE", "WINDOW", "WITH", "WRITE", "XOR", "ZEROFILL",
];

/// Functions of both.
#[rustfmt::skip]
const FUNCTIONS: &[&str] = &[
    "ABS", "ADDDATE", "ADDTIME", "AVG", "BIN", "BIT_AND", "BIT_COUNT", "BIT_LENGTH", "BIT_OR", "BIT_XOR", "CAST",
    "CEIL", "CEILING", "CHAR_LENGTH", "COALESCE", "COLLATION", "CONCAT", "CONCAT_WS", "CONNECTION_ID", "CONV",
    "CONVERT", "CONVERT_TZ", "COUNT", "CRC32", "CUME_DIST", "CURDATE", "CURTIME", "DATEDIFF", "DATE_ADD",
    "DATE_FORMAT", "DATE_SUB", "DAY", "DAYNAME", "DAYOFMONTH", "DAYOFWEEK", "DAYOFYEAR", "DENSE_RANK", "ELT", "EXP",
    "EXTRACT", "FIELD", "FIND_IN_SET", "FIRST_VALUE", "FLOOR", "FORMAT", "FOUND_ROWS", "FROM_BASE64", "FROM_DAYS",
    "FROM_UNIXTIME", "GET_LOCK", "GREATEST", "GROUP_CONCAT", "HEX", "IFNULL", "INET6_ATON", "INET6_NTOA", "INET_ATON",
    "INET_NTOA", "INSTR", "JSON_ARRAY", "JSON_ARRAYAGG", "JSON_CONTAINS", "JSON_EXTRACT", "JSON_KEYS", "JSON_LENGTH",
    "JSON_OBJECT", "JSON_OBJECTAGG", "JSON_QUOTE", "JSON_SEARCH", "JSON_SET", "JSON_TABLE", "JSON_TYPE",
    "JSON_UNQUOTE", "JSON_VALID", "JSON_VALUE", "LAG", "LAST_DAY", "LAST_INSERT_ID", "LAST_VALUE", "LCASE", "LEAD",
    "LEAST", "LENGTH", "LN", "LOCATE", "LOG", "LOG10", "LOG2", "LOWER", "LPAD", "LTRIM", "MAKEDATE", "MAKETIME",
    "MAX", "MD5", "MICROSECOND", "MIN", "MONTHNAME", "NOW", "NTH_VALUE", "NTILE", "NULLIF", "OCT", "OCTET_LENGTH",
    "ORD", "PERCENT_RANK", "PERIOD_ADD", "PI", "POSITION", "POW", "POWER", "QUOTE", "RADIANS", "RAND", "RANK",
    "REGEXP_INSTR", "REGEXP_REPLACE", "REGEXP_SUBSTR", "RELEASE_LOCK", "REVERSE", "ROUND", "ROW_COUNT", "ROW_NUMBER",
    "RPAD", "RTRIM", "SEC_TO_TIME", "SHA1", "SHA2", "SIGN", "SLEEP", "SOUNDEX", "SPACE", "SQRT", "STD", "STDDEV",
    "STRCMP", "STR_TO_DATE", "SUBDATE", "SUBSTR", "SUBSTRING", "SUBSTRING_INDEX", "SUBTIME", "SUM", "SYSDATE",
    "TIMEDIFF", "TIMESTAMPADD", "TIMESTAMPDIFF", "TIME_FORMAT", "TIME_TO_SEC", "TO_BASE64", "TO_DAYS", "TO_SECONDS",
    "TRIM", "UCASE", "UNHEX", "UNIX_TIMESTAMP", "UPPER", "UTC_DATE", "UTC_TIME", "UTC_TIMESTAMP", "UUID", "VARIANCE",
    "VAR_POP", "VAR_SAMP", "VERSION", "WEEKDAY", "WEEKOFYEAR", "YEARWEEK",
];

/// Whether a word is a keyword, in letters of any case.
pub(in crate::sql::shell) fn is_keyword(word: &str) -> bool {
    is_in(KEYWORDS, word)
}

/// Whether a word is a name only in quotes.
pub(super) fn is_reserved(word: &str) -> bool {
    is_in(RESERVED, word)
}

pub(super) fn starts() -> &'static [&'static str] {
    STARTS
}

pub(super) fn keywords() -> &'static [&'static str] {
    KEYWORDS
}

pub(super) fn functions() -> &'static [&'static str] {
    FUNCTIONS
}

/// No keyword is longer.
const LONGEST: usize = 20;

fn is_in(words: &[&str], word: &str) -> bool {
    word.len() <= LONGEST
        && words
            .binary_search(&word.to_ascii_uppercase().as_str())
            .is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_sorted_and_no_keyword_is_too_long() {
        for words in [STARTS, KEYWORDS, RESERVED, FUNCTIONS] {
            assert!(words.is_sorted());
            assert!(words.iter().all(|word| word.len() <= LONGEST));
        }
        assert!(is_keyword("select") && !is_keyword("customer"));
    }
}
