//! The server: a Unix socket, as `with-server` hands it out.

/// What each client's own options are made from.
pub(crate) struct Target {
    pub(crate) user: String,
    pub(crate) password: String,
    pub(crate) database: String,
    pub(crate) socket: String,
}

impl Target {
    /// Reads `mysql://user:password@localhost/database?socket=/path`.
    pub(crate) fn from_url(url: &str) -> Self {
        let rest = url.strip_prefix("mysql://").expect("a mysql:// url");
        let (login, rest) = rest.split_once('@').expect("a user and a password");
        let (user, password) = login.split_once(':').expect("a password");
        let (place, options) = rest.split_once('?').expect("a socket option");
        let (_, database) = place.split_once('/').expect("a database");
        let socket = options.strip_prefix("socket=").expect("the socket as the only option");
        Self {
            user: user.into(),
            password: password.into(),
            database: database.into(),
            socket: socket.replace("%2F", "/").replace("%2f", "/"),
        }
    }
}
