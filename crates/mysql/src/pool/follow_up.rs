//! What COM_RESET_CONNECTION leaves, and what puts it right.
//!
//! Seen on MariaDB 10.11 and 11.8 and MySQL 9.7, compared with a new login:
//!
//! | state                      | after COM_RESET_CONNECTION                              | put right by          |
//! |----------------------------|---------------------------------------------------------|-----------------------|
//! | character set, collation   | MariaDB: the login's. MySQL: the server's global values | SET NAMES on MySQL    |
//! | default database           | the last one                                            | COM_INIT_DB           |
//! | roles                      | the last ones; on MariaDB also after COM_CHANGE_USER    | SET ROLE              |
//! | what `init_connect` did    | gone                                                    | `Config::pool_setup`  |
//! | user                       | the last one                                            | COM_CHANGE_USER       |
//!
//! Nothing can select no database but COM_CHANGE_USER. Whether one is selected is asked in the same write, because a session may
//! switch the tracking of it off.

use crate::{Config, Error};

/// One command behind COM_RESET_CONNECTION.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FollowUp {
    /// The login's character set.
    CharacterSet,
    /// `SET ROLE` to what the login had.
    Role(String),
    /// The login's database.
    Database(String),
    /// Asks for the database, where the login had none.
    AskDatabase,
    /// The caller's own.
    Setup(String),
}

impl FollowUp {
    /// All that follow a reset, in their order: rights first, as the rest may need them.
    pub(crate) fn all(config: &Config, is_mariadb: bool, role: Option<String>) -> Vec<Self> {
        let character_set = (!is_mariadb).then_some(Self::CharacterSet);
        let database = match &config.database {
            Some(name) => Self::Database(name.clone()),
            None => Self::AskDatabase,
        };
        let setup = config.pool_setup.clone().map(Self::Setup);
        let role = role.map(Self::Role);
        let all = [character_set, role, Some(database), setup];
        all.into_iter().flatten().collect()
    }

    /// The text of those that are SQL.
    pub(crate) fn sql(&self) -> &str {
        match self {
            // The collation that the login asks for.
            Self::CharacterSet => "SET NAMES utf8mb4 COLLATE utf8mb4_general_ci",
            Self::AskDatabase => "SELECT DATABASE()",
            Self::Role(sql) | Self::Setup(sql) => sql,
            Self::Database(_) => "",
        }
    }
}

/// Asks for the roles of a new session.
pub(crate) const ASK_ROLE: &str = "SELECT CURRENT_ROLE()";

/// The statement that restores these roles: MySQL lists them as SET ROLE takes them, or says NONE; MariaDB gives the name of one,
/// or NULL.
pub(crate) fn set_role(is_mariadb: bool, role: Option<&str>) -> String {
    match role {
        None => "SET ROLE NONE".to_owned(),
        Some(role) if is_mariadb => format!("SET ROLE `{}`", role.replace('`', "``")),
        Some(roles) => format!("SET ROLE {roles}"),
    }
}

/// Whether a server that has no roles says so: a syntax error, or no such function.
pub(crate) fn lacks_roles(error: &Error) -> bool {
    const PARSE_ERROR: u16 = 1064;
    const NO_SUCH_FUNCTION: u16 = 1305;
    error
        .server()
        .is_some_and(|server| matches!(server.code, PARSE_ERROR | NO_SUCH_FUNCTION))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_set_as_each_server_names_them() {
        assert_eq!(set_role(true, None), "SET ROLE NONE");
        assert_eq!(set_role(true, Some("a`b")), "SET ROLE `a``b`");
        assert_eq!(set_role(false, Some("NONE")), "SET ROLE NONE");
        assert_eq!(
            set_role(false, Some("`a`@`%`,`b`@`%`")),
            "SET ROLE `a`@`%`,`b`@`%`"
        );
    }

    #[test]
    fn rights_come_first_and_the_callers_own_last() {
        let mut config = Config {
            pool_setup: Some("SET @a = 1".into()),
            ..Config::default()
        };
        let all = FollowUp::all(&config, false, Some("SET ROLE NONE".into()));
        assert_eq!(
            all,
            [
                FollowUp::CharacterSet,
                FollowUp::Role("SET ROLE NONE".into()),
                FollowUp::AskDatabase,
                FollowUp::Setup("SET @a = 1".into()),
            ]
        );
        config.database = Some("shop".into());
        config.pool_setup = None;
        let all = FollowUp::all(&config, true, None);
        assert_eq!(all, [FollowUp::Database("shop".into())]);
    }
}
