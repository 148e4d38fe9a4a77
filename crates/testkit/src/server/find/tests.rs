use super::*;

#[test]
fn the_share_folder_is_read_from_the_defaults_not_from_the_explanations() {
    let help = "\
  --character-sets-dir=name 
                      Directory where character sets are
Variables (--variable-name=value)
basedir                                                      /usr/
character-sets-dir                                           /usr/share/mysql/charsets/
";
    assert_eq!(share_folder(help), Some(PathBuf::from("/usr/share/mysql")));
}

#[test]
fn a_server_without_a_charset_folder_has_no_share_folder() {
    assert_eq!(
        share_folder("character-sets-dir    (No default value)\n"),
        None
    );
    assert_eq!(share_folder(""), None);
}

#[test]
fn something_that_is_no_server_is_named_as_such() {
    let why = probe(Path::new("/bin/echo")).unwrap_err();
    assert_eq!(why, "/bin/echo is not a MariaDB or MySQL server");
}

#[test]
fn the_kind_is_read_from_the_version() {
    let mariadb =
        "mariadbd  Ver 11.8.6-MariaDB-0+deb13u1 from Debian for debian-linux-gnu on x86_64";
    assert_eq!(kind(mariadb), Some(ServerKind::MariaDb));
    let renamed = "/usr/sbin/mysqld  Ver 10.5.23-MariaDB for Linux on x86_64\nCopyright";
    assert_eq!(kind(renamed), Some(ServerKind::MariaDb));
    let mysql = "/usr/sbin/mysqld  Ver 9.7.4-2 for Linux on x86_64 ((Debian))\nBuildID";
    assert_eq!(kind(mysql), Some(ServerKind::MySql));
    assert_eq!(kind("mysqld_safe: no such option"), None);
    assert_eq!(kind(""), None);
}
