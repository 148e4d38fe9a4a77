use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::*;

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("onecopy-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

fn read_new(path: &Path) -> Result<Config, Error> {
    let mut config = Config::default();
    read(&mut config, path).map(|()| config)
}

#[test]
fn the_clients_groups_are_read_and_others_are_not() {
    let folder = Folder::new("groups");
    let path = folder.write(
        "my.cnf",
        "user=nobody\n[mysqld]\nport=1\nuser=mysql\n[client]\nuser = ada\npassword = 'p#w'\nport=3307\nhost=db.example\n\
         default-character-set=utf8mb4\n[mysqldump]\nuser=dump\n[client-mariadb]\nconnect_timeout=3\n[onecopy]\ndatabase=shop\n\
         loose-nothing=1\n",
    );
    let config = read_new(&path).unwrap();
    assert_eq!(config.user, "ada");
    assert_eq!(config.password.secret().unwrap().expose(), b"p#w");
    assert_eq!(config.endpoint.to_string(), "db.example:3307");
    assert_eq!(config.connect_timeout, Some(Duration::from_secs(3)));
    assert_eq!(config.database.as_deref(), Some("shop"));
}

#[test]
fn a_url_overrides_its_option_file() {
    let folder = Folder::new("url");
    let path = folder.write(
        "my.cnf",
        "[client]\nuser=ada\npassword=secret\nhost=file\nport=7\ndatabase=one\n",
    );
    let at = |url: &str| Config::from_url(&format!("{url}defaults-file={}", path.display()));
    let config = at("mysql://?").unwrap();
    assert_eq!(config.endpoint.to_string(), "file:7");
    assert_eq!(
        (config.user.as_str(), config.database.as_deref()),
        ("ada", Some("one"))
    );
    let config = at("mysql://bob:other@db:8/two?connect-timeout=5&").unwrap();
    assert_eq!(config.endpoint.to_string(), "db:8");
    assert_eq!(
        (config.user.as_str(), config.database.as_deref()),
        ("bob", Some("two"))
    );
    assert_eq!(config.password.secret().unwrap().expose(), b"other");
    // Another user has another password.
    let config = at("mysql://bob@/?").unwrap();
    assert!(!config.password.is_some());
    assert_eq!(config.endpoint.to_string(), "file:7");
}

#[test]
fn the_modes_of_tls_have_the_names_of_both_servers() {
    let folder = Folder::new("tls");
    for (options, expected) in [
        ("ssl-mode=VERIFY_IDENTITY", SslMode::VerifyFull),
        ("ssl-mode=required", SslMode::Required),
        ("ssl_mode=DISABLED", SslMode::Disabled),
        ("skip-ssl", SslMode::Disabled),
        ("ssl=0", SslMode::Disabled),
        ("ssl", SslMode::Required),
        ("ssl-verify-server-cert", SslMode::VerifyFull),
        ("ssl-verify-server-cert=off", SslMode::Preferred),
        ("ssl\nssl-verify-server-cert=0", SslMode::Required),
    ] {
        let path = folder.write("my.cnf", &format!("[client]\n{options}\n"));
        let mode = read_new(&path).unwrap().ssl_mode;
        assert_eq!(mode, Some(expected), "{options}");
    }
}

#[test]
fn included_files_are_read_in_their_place_and_relative_to_the_file() {
    let folder = Folder::new("include");
    folder.write("more.d/b.cnf", "[client]\nuser=b\n");
    folder.write("more.d/a.cnf", "[client]\nuser=a\n");
    folder.write("more.d/c.txt", "[client]\nuser=c\n");
    folder.write("one.cnf", "[client]\ndatabase=one\nuser=one\n");
    let path = folder.write("my.cnf", "!include one.cnf\n!includedir more.d\n");
    let config = read_new(&path).unwrap();
    assert_eq!(
        (config.user.as_str(), config.database.as_deref()),
        ("b", Some("one"))
    );
    let path = folder.write("self.cnf", "!include self.cnf\n");
    let text = read_new(&path).unwrap_err().to_string();
    assert!(text.contains("is included by itself"), "{text}");
}

#[test]
fn errors_name_the_file_and_the_line_and_show_no_value() {
    let folder = Folder::new("errors");
    for (text, problem) in [
        (
            "[client]\nport=s3cret\n",
            "line 2: the value of 'port' is not a number",
        ),
        ("[client]\nssl-mode=s3cret\n", "line 2: ssl-mode is none of"),
        ("[client]\nuser\n", "line 2: 'user' has no value"),
        (
            "[client]\npassword='s3cret\n",
            "line 2: the value's closing quote is missing",
        ),
        (
            "[onecopy]\npasword=s3cret\n",
            "line 2: unknown option 'pasword'",
        ),
    ] {
        let path = folder.write("my.cnf", text);
        let error = read_new(&path).unwrap_err();
        let shown = format!("{error} {error:?}");
        assert!(shown.contains(problem), "{shown}");
        assert!(!shown.contains("s3cret"), "{shown}");
    }
    let text = read_new(Path::new("/no/such.cnf")).unwrap_err().to_string();
    assert!(
        text.contains("'/no/such.cnf' can't be read: No such file"),
        "{text}"
    );
    let text = read_new(Path::new("/dev/zero")).unwrap_err().to_string();
    assert!(text.contains("is longer than 1 MiB"), "{text}");
}

#[test]
fn a_file_that_everybody_can_write_is_refused() {
    let folder = Folder::new("writable");
    let path = folder.write("my.cnf", "[client]\nuser=ada\n");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    let text = read_new(&path).unwrap_err().to_string();
    assert!(text.contains("chmod o-w"), "{text}");
}
