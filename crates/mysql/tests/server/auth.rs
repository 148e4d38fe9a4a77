//! Logins by every plugin that the server has, with every password, over every channel, cold and warm; and changes of user.

use onecopy_mysql::{
    Config, Endpoint, Error, Plugin, PluginSet, ProtocolError, PublicKey, SslMode, Verify, blocking,
};
use onecopy_mysql_proto::auth::AuthError;
use onecopy_testkit::server::{Server, TestServer, test_server};

use super::Connection;
use crate::common::{Users, lacks, url};

/// Passwords of the lengths at which hashes, nonces, length prefixes and RSA keys end, and outside ASCII.
fn passwords() -> Vec<String> {
    let mut passwords: Vec<String> = [0, 1, 19, 20, 21, 255, 300]
        .map(|length| "correct horse ".chars().cycle().take(length).collect())
        .into();
    passwords.push("ключ🔑 'ä\\".into());
    passwords
}

/// What a channel protects a password from.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Safety {
    Plain,
    Socket,
    Verified,
    Unverified,
}

/// One way to the server, as its administrator.
#[derive(Debug, Clone)]
struct Channel {
    name: &'static str,
    safety: Safety,
    config: Config,
}

/// Every way to the server. What it lacks is said.
fn channels() -> Vec<Channel> {
    let server = test_server();
    let config = |url: &str| Config::from_url(url).unwrap();
    if let TestServer::Given(url) = &server {
        lacks("other channels", "ONECOPY_TEST_MYSQL_URL names one way");
        let config = config(url);
        // Whether it is TLS at all, the server may decide.
        let conn = blocking::Connection::connect_with(&config).unwrap();
        let safety = match (conn.tls().map(|tls| tls.verify), &config.endpoint) {
            (None | Some(Verify::None), Endpoint::Unix(_)) => Safety::Socket,
            (None, _) => Safety::Plain,
            (Some(Verify::None), _) => Safety::Unverified,
            (Some(_), _) => Safety::Verified,
        };
        let name = "as given";
        return vec![Channel {
            name,
            safety,
            config,
        }];
    }
    let mut ways = Vec::new();
    let mut way = |name, safety, url: Option<String>, mode: Option<SslMode>| match url {
        Some(url) => {
            let mut config = config(&url);
            if let Some(mode) = mode {
                config.ssl_mode = Some(mode);
                config.ssl_ca = None;
            }
            ways.push(Channel {
                name,
                safety,
                config,
            });
        }
        None => lacks(name, "the server does not offer it"),
    };
    let tcp = Some(server.url());
    way("tcp", Safety::Plain, tcp, Some(SslMode::Disabled));
    way("unix socket", Safety::Socket, server.socket_url(), None);
    way("verified tls", Safety::Verified, server.tls_url(), None);
    let required = Some(SslMode::Required);
    way(
        "unverified tls",
        Safety::Unverified,
        server.tls_url(),
        required,
    );
    ways
}

/// What the caller lets the server have.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Leave {
    None,
    AskedKey,
    PinnedKey,
    OverUnverifiedTls,
}

/// How a login ends.
#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    In,
    Insecure,
    TooLong,
}

/// The server's side: its accounts.
struct Accounts {
    admin: Connection,
    is_mariadb: bool,
    users: Users,
}

/// A plugin of the server's.
#[derive(Debug, Clone)]
struct Installed {
    /// Its name at the client.
    plugin: Plugin,
    /// Its name in SQL.
    name: &'static str,
    /// Whether one login makes the next one need less.
    has_cache: bool,
    /// The key that it decrypts with, where it has one.
    key: Option<PublicKey>,
}

impl Accounts {
    /// `None` where there can be none, which is said.
    async fn open() -> Option<Self> {
        let users = Users::open()?;
        let admin = wait!(Connection::connect(&url())).unwrap();
        let is_mariadb = admin.server_version().contains("MariaDB");
        Some(Self {
            admin,
            is_mariadb,
            users,
        })
    }

    /// The plugins that the server has; a private one is made to take what it has at hand.
    async fn plugins(&mut self) -> Vec<Installed> {
        let known: &[_] = if self.is_mariadb {
            &[
                (Plugin::NativePassword, "mysql_native_password", ""),
                (Plugin::ClientEd25519, "ed25519", "auth_ed25519"),
                (Plugin::Parsec, "parsec", "auth_parsec"),
                (
                    Plugin::CachingSha2Password,
                    "caching_sha2_password",
                    "auth_mysql_sha2",
                ),
            ]
        } else {
            &[
                (Plugin::CachingSha2Password, "caching_sha2_password", ""),
                (Plugin::Sha256Password, "sha256_password", ""),
                (Plugin::NativePassword, "mysql_native_password", ""),
            ]
        };
        lacks(
            "mysql_clear_password",
            "only plugins that ask PAM or LDAP ask for it, and none is set up",
        );
        let mut plugins = Vec::new();
        for &(plugin, name, library) in known {
            let active = format!(
                "SELECT COUNT(*) FROM information_schema.plugins WHERE plugin_name = '{name}' AND plugin_status = 'ACTIVE'"
            );
            let mut reason = "it is not among the server's plugins".to_owned();
            let is_private = matches!(test_server(), TestServer::Private(_));
            if self.text(&active).await != "1" && !library.is_empty() && is_private {
                // Another test may install it at the same time.
                if let Err(error) = wait!(self.admin.run(format!("INSTALL SONAME '{library}'"))) {
                    reason = error.to_string();
                }
            }
            if self.text(&active).await == "1" {
                let key = self.key(plugin).await;
                let has_cache = plugin == Plugin::CachingSha2Password && !self.is_mariadb;
                plugins.push(Installed {
                    plugin,
                    name,
                    has_cache,
                    key,
                });
            } else {
                lacks(name, &reason);
            }
        }
        plugins
    }

    async fn key(&mut self, plugin: Plugin) -> Option<PublicKey> {
        let variable = match plugin {
            Plugin::CachingSha2Password => "Caching_sha2_password_rsa_public_key",
            Plugin::Sha256Password => "Rsa_public_key",
            _ => return None,
        };
        let sql = format!("SHOW GLOBAL STATUS LIKE '{variable}'");
        let mut rows = wait!(self.admin.query(&sql)).unwrap();
        let row = wait!(rows.next()).unwrap();
        let key = row.and_then(|row| PublicKey::from_pem(row.bytes(1).unwrap()?).ok());
        wait!(rows.finish()).unwrap();
        if key.is_none() {
            lacks(&format!("{plugin} under a key"), "the server has no key");
        }
        key
    }

    /// A fresh account; `None` where the server has none with such a password, which is said.
    async fn create(&mut self, plugin: &Installed, password: &str) -> Option<String> {
        let quoted = password.replace('\\', "\\\\").replace('\'', "''");
        let name = plugin.name;
        let how = if self.is_mariadb {
            format!("VIA {name} USING PASSWORD('{quoted}')")
        } else {
            format!("WITH {name} BY '{quoted}'")
        };
        match self.users.make(&format!("IDENTIFIED {how}")) {
            // MariaDB 10.11 keeps nothing of an empty one, and lets nobody in, its own client neither.
            Ok(user) if plugin.plugin == Plugin::ClientEd25519 && password.is_empty() => {
                let kept = self.text(&format!("SHOW CREATE USER {user}")).await;
                if kept.contains(" USING ") {
                    return Some(user);
                }
                lacks(&format!("{name} with no password"), "nobody can log in");
                None
            }
            Ok(user) => Some(user),
            Err(error) => {
                // MySQL's own plugins have none longer than 256 bytes, and a given server may be choosy.
                let what = format!("{name} with a password of {} bytes", password.len());
                let code = error.server().expect(&what).code;
                let is_given = matches!(test_server(), TestServer::Given(_));
                assert!(password.len() > 255 || is_given, "{what}: {error}");
                lacks(&what, &format!("error {code} where the account is created"));
                None
            }
        }
    }

    async fn text(&mut self, sql: &str) -> String {
        text(&mut self.admin, sql).await
    }
}

impl Installed {
    /// What callers may want to choose for it.
    fn leaves(&self) -> Vec<Leave> {
        let asks = matches!(
            self.plugin,
            Plugin::CachingSha2Password | Plugin::Sha256Password
        );
        match &self.key {
            _ if !asks => vec![Leave::None],
            None => vec![Leave::None, Leave::OverUnverifiedTls],
            Some(_) => vec![
                Leave::None,
                Leave::AskedKey,
                Leave::PinnedKey,
                Leave::OverUnverifiedTls,
            ],
        }
    }

    fn end(&self, password: &str, channel: &Channel, leave: Leave, is_warm: bool) -> End {
        let needs_password = match self.plugin {
            Plugin::CachingSha2Password => !(is_warm && self.has_cache),
            Plugin::Sha256Password => true,
            _ => false,
        };
        if !needs_password || password.is_empty() {
            return End::In;
        }
        match (channel.safety, leave) {
            (Safety::Socket, _) if self.plugin != Plugin::Sha256Password => End::In,
            (Safety::Verified, _) | (Safety::Unverified, Leave::OverUnverifiedTls) => End::In,
            (Safety::Socket, _) | (Safety::Plain, Leave::AskedKey | Leave::PinnedKey) => {
                let room = self.key.as_ref().unwrap().max_message_bytes();
                if password.len() < room {
                    End::In
                } else {
                    End::TooLong
                }
            }
            _ => End::Insecure,
        }
    }

    fn config(&self, channel: &Channel, leave: Leave) -> Config {
        let mut config = channel.config.clone();
        config.get_server_public_key = leave == Leave::AskedKey;
        config.password_over_unverified_tls = leave == Leave::OverUnverifiedTls;
        if leave == Leave::PinnedKey {
            config.server_public_key.clone_from(&self.key);
        }
        config
    }
}

/// A login of the account, and what it is in.
async fn log_in(config: &Config, user: &str, password: &str) -> Result<Connection, Error> {
    let mut config = config.clone();
    config.user = user.into();
    config.password = password.into();
    config.database = None;
    wait!(Connection::connect_with(&config))
}

async fn assert_is(conn: &mut Connection, user: &str, what: &str) {
    let found = text(conn, "SELECT CURRENT_USER()").await;
    assert_eq!(found, format!("{user}@%"), "{what}");
}

fn end_of(error: &Error, what: &str) -> End {
    assert!(error.is_closed(), "{what}: {error:?}");
    match error.protocol() {
        Some(ProtocolError::Auth(AuthError::InsecureChannel { .. })) => End::Insecure,
        Some(ProtocolError::Auth(AuthError::PasswordTooLong { .. })) => End::TooLong,
        _ => panic!("{what}: {error:?}"),
    }
}

async fn assert_login(config: &Config, user: &str, password: &str, end: End, what: &str) {
    match log_in(config, user, password).await {
        Ok(mut conn) => {
            assert_eq!(End::In, end, "{what}");
            assert_is(&mut conn, user, what).await;
            wait!(conn.close()).unwrap();
        }
        Err(error) => assert_eq!(end_of(&error, what), end, "{what}"),
    }
}

async fn assert_change(config: &Config, user: &str, password: &str, end: End, what: &str) {
    let mut conn = wait!(Connection::connect_with(config)).unwrap();
    let before = wait!(conn.prepare("SELECT 1")).unwrap();
    wait!(conn.run("SET @v = 5")).unwrap();
    let id = conn.connection_id();
    match wait!(conn.change_user(user, password, None)) {
        Ok(()) => {
            assert_eq!(End::In, end, "{what}");
            assert_is(&mut conn, user, what).await;
            let left = text(
                &mut conn,
                "SELECT CONCAT_WS(',', CONNECTION_ID(), @v, DATABASE())",
            );
            assert_eq!(left.await, id.to_string(), "{what}");
            assert_eq!(text(&mut conn, "SELECT 'ä€😀'").await, "ä€😀");
            let forgotten = wait!(conn.execute(&before, &[])).unwrap_err();
            let closed = Some(&ProtocolError::StatementClosed);
            assert_eq!(forgotten.protocol(), closed, "{what}");
            // And back, where the account has a password to come back with.
            let (root, password) = (&config.user, config.password.clone());
            let database = config.database.as_deref();
            if wait!(conn.change_user(root, password, database)).is_ok() {
                let user = text(&mut conn, "SELECT USER()").await;
                assert!(user.starts_with(&format!("{root}@")), "{user}");
            }
        }
        Err(error) => {
            assert_eq!(end_of(&error, what), end, "{what}");
            assert!(wait!(conn.ping()).unwrap_err().is_closed());
        }
    }
}

#[tokio::test]
async fn every_plugin_with_every_password_over_every_channel() {
    let Some(mut accounts) = Accounts::open().await else {
        return;
    };
    let channels = channels();
    for plugin in accounts.plugins().await {
        for password in passwords() {
            for channel in &channels {
                for leave in plugin.leaves() {
                    let Some(user) = accounts.create(&plugin, &password).await else {
                        continue;
                    };
                    let config = plugin.config(channel, leave);
                    let what = |state| {
                        let (name, bytes) = (channel.name, password.len());
                        format!("{state} {}, {bytes} bytes, {name}, {leave:?}", plugin.name)
                    };
                    let cold = plugin.end(&password, channel, leave, false);
                    assert_login(&config, &user, &password, cold, &what("cold")).await;
                    if cold == End::In {
                        let default = plugin.config(channel, Leave::None);
                        let warm = plugin.end(&password, channel, Leave::None, true);
                        assert_login(&default, &user, &password, warm, &what("warm")).await;
                    }
                }
            }
        }
    }
}

#[tokio::test]
async fn the_user_is_changed_to_one_of_every_plugin() {
    let Some(mut accounts) = Accounts::open().await else {
        return;
    };
    let channels = channels();
    for plugin in accounts.plugins().await {
        for password in passwords() {
            for channel in &channels {
                for leave in plugin.leaves() {
                    let Some(user) = accounts.create(&plugin, &password).await else {
                        continue;
                    };
                    let config = plugin.config(channel, leave);
                    let what = |state| {
                        let (name, bytes) = (channel.name, password.len());
                        format!("{state} {}, {bytes} bytes, {name}, {leave:?}", plugin.name)
                    };
                    for is_warm in [false, true] {
                        let end = plugin.end(&password, channel, leave, is_warm);
                        let state = if is_warm { "warm" } else { "cold" };
                        assert_change(&config, &user, &password, end, &what(state)).await;
                        if end != End::In {
                            break;
                        }
                    }
                }
            }
        }
    }
}

#[tokio::test]
async fn a_wrong_password_is_refused_and_a_refused_change_of_user_closes() {
    const ACCESS_DENIED: u16 = 1045;
    let Some(mut accounts) = Accounts::open().await else {
        return;
    };
    let channels = channels();
    for plugin in accounts.plugins().await {
        for channel in &channels {
            let Some(user) = accounts.create(&plugin, "right").await else {
                continue;
            };
            let leave = plugin.leaves().pop().unwrap();
            let config = plugin.config(channel, leave);
            if plugin.end("wrong", channel, leave, false) != End::In {
                continue;
            }
            for password in ["wrong", ""] {
                let what = format!("{}, {}, '{password}'", plugin.name, channel.name);
                let Err(error) = log_in(&config, &user, password).await else {
                    panic!("{what} is let in")
                };
                assert_eq!(error.server().expect(&what).code, ACCESS_DENIED, "{what}");
                let mut conn = wait!(Connection::connect_with(&config)).unwrap();
                let error = wait!(conn.change_user(&user, password, None)).unwrap_err();
                assert_eq!(error.server().expect(&what).code, ACCESS_DENIED, "{what}");
                assert!(error.is_closed() && conn.is_closed(), "{what}");
                let again = wait!(conn.query("SELECT 1")).unwrap_err();
                assert!(again.to_string().contains("change of user"), "{again}");
            }
        }
    }
}

#[tokio::test]
async fn only_the_plugins_that_are_allowed_are_used() {
    let Some(mut accounts) = Accounts::open().await else {
        return;
    };
    for plugin in accounts.plugins().await {
        let Some(user) = accounts.create(&plugin, "secret").await else {
            continue;
        };
        let is_safe = |way: &&Channel| matches!(way.safety, Safety::Socket | Safety::Verified);
        for channel in channels().iter().filter(is_safe) {
            let mut config = channel.config.clone();
            config.auth_plugins = plugin.plugin.into();
            log_in(&config, &user, "secret").await.unwrap();
            config.auth_plugins = PluginSet(PluginSet::SAFE.0 & !config.auth_plugins.0);
            let Err(error) = log_in(&config, &user, "secret").await else {
                panic!("{} is used", plugin.name)
            };
            let refused = AuthError::PluginNotAllowed {
                plugin: plugin.plugin,
            };
            let refused = ProtocolError::Auth(refused);
            assert_eq!(error.protocol(), Some(&refused), "{}", plugin.name);
        }
    }
}

#[tokio::test]
async fn as_many_attributes_as_servers_take_are_sent_and_not_one_byte_more() {
    const MAX_BYTES: usize = 0xFFFF;
    for channel in channels() {
        // The client's own are some hundred bytes, so the most that fits is looked for.
        let with = |bytes: usize| {
            let mut config = channel.config.clone();
            config.attributes = vec![("filler".into(), "x".repeat(bytes))];
            config
        };
        let (mut fits, mut too_many) = (60_000, MAX_BYTES);
        while too_many - fits > 1 {
            let middle = fits.midpoint(too_many);
            match wait!(Connection::connect_with(&with(middle))) {
                Ok(_) => fits = middle,
                Err(error) => {
                    let ours = matches!(error.protocol(), Some(ProtocolError::Encode(_)));
                    assert!(ours, "{}, {middle} bytes: {error:?}", channel.name);
                    too_many = middle;
                }
            }
        }
        assert!(fits > MAX_BYTES - 300, "{fits}");
    }
}

/// On either side of the lengths at which their prefix becomes longer, as far as the server keeps them.
#[tokio::test]
async fn long_attributes_come_to_the_server_as_they_are() {
    let server = test_server();
    let own = matches!(server, TestServer::Private(_)).then(|| {
        let server = Server::builder()
            .argument("--performance-schema=ON")
            .argument("--performance-schema-session-connect-attrs-size=4096");
        server.start().unwrap()
    });
    let url = own.as_ref().map_or_else(|| server.url(), Server::url);
    let mut conn = wait!(Connection::connect(&url)).unwrap();
    let room = "SELECT @@performance_schema * @@performance_schema_session_connect_attrs_size";
    let room: usize = text(&mut conn, room).await.parse().unwrap();
    // The table shows 1,024 characters of a value. The client's own attributes have to fit with these.
    for bytes in [1, 249, 250, 251, 252, 300, 1_000] {
        if room < bytes + 200 {
            let reason = format!("the performance schema keeps {room} bytes of them");
            lacks(
                &format!("attributes of {bytes} bytes to read back"),
                &reason,
            );
            continue;
        }
        let value: String = ('a'..='z').cycle().take(bytes).collect();
        let mut config = Config::from_url(&url).unwrap();
        config.attributes = vec![
            ("filler".into(), value.clone()),
            ("behind".into(), "it".into()),
        ];
        let mut conn = wait!(Connection::connect_with(&config)).unwrap();
        for (name, value) in &config.attributes {
            let sql = format!(
                "SELECT attr_value FROM performance_schema.session_account_connect_attrs \
                 WHERE processlist_id = CONNECTION_ID() AND attr_name = '{name}'"
            );
            assert_eq!(text(&mut conn, &sql).await, *value, "{bytes} bytes");
        }
        wait!(conn.close()).unwrap();
    }
}

async fn text(conn: &mut Connection, sql: &str) -> String {
    let mut rows = wait!(conn.query(sql)).unwrap();
    let row = wait!(rows.next()).unwrap().unwrap();
    let text = String::from_utf8(row.bytes(0).unwrap().unwrap().to_vec()).unwrap();
    wait!(rows.finish()).unwrap();
    text
}
