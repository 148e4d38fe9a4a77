use super::*;

#[test]
fn the_unversioned_package_is_preferred() {
    let list = "mariadb-server-core-10.6 - MariaDB core\nmariadb-server-core - MariaDB database core server files\n";
    assert_eq!(
        preferred(list, &["mariadb-server-core"]),
        Some("mariadb-server-core")
    );
}

#[test]
fn where_only_versioned_packages_exist_the_last_is_taken() {
    let list = "mariadb-server-core-10.5 - MariaDB core\nmariadb-server-core-10.6 - MariaDB core\n";
    assert_eq!(
        preferred(list, &["mariadb-server-core"]),
        Some("mariadb-server-core-10.6")
    );
    assert_eq!(preferred("", &["mariadb-server-core"]), None);
}

#[test]
fn apt_may_never_remove_a_package() {
    assert!(
        Manager::Apt
            .install("mariadb-server-core")
            .contains(&"--no-remove")
    );
}

#[test]
fn the_first_package_that_the_release_has_is_taken() {
    let names = ["valkey-tools", "redis-tools"];
    let debian_12 = "redis-tools - Persistent key-value database (client)\n";
    assert_eq!(preferred(debian_12, &names), Some("redis-tools"));
    let debian_13 = "redis-tools - a\nvalkey-tools-doc - b\nvalkey-tools - c\n";
    assert_eq!(preferred(debian_13, &names), Some("valkey-tools"));
}

#[test]
fn a_package_that_only_starts_alike_is_another() {
    let list = "mariadb-server-core-dbgsym - debug symbols\n";
    assert_eq!(preferred(list, &["mariadb-server-core"]), None);
}
