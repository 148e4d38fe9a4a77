use super::*;

#[test]
fn the_unversioned_package_is_preferred() {
    let list = "mariadb-server-core-10.6 - MariaDB core\nmariadb-server-core - MariaDB database core server files\n";
    assert_eq!(newest_core_package(list), Some("mariadb-server-core"));
}

#[test]
fn where_only_versioned_packages_exist_the_last_is_taken() {
    let list = "mariadb-server-core-10.5 - MariaDB core\nmariadb-server-core-10.6 - MariaDB core\n";
    assert_eq!(newest_core_package(list), Some("mariadb-server-core-10.6"));
    assert_eq!(newest_core_package(""), None);
}

#[test]
fn apt_may_never_remove_a_package() {
    assert!(
        Manager::Apt
            .install("mariadb-server-core")
            .contains(&"--no-remove")
    );
}
