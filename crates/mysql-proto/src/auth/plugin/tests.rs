use super::*;

#[test]
fn each_plugin_is_found_by_its_name_and_in_its_set() {
    for plugin in Plugin::ALL {
        assert_eq!(Plugin::from_name(plugin.name().as_bytes()), Some(plugin));
        let safe = !matches!(plugin, Plugin::ClearPassword | Plugin::Dialog);
        assert_eq!(PluginSet::SAFE.contains(plugin.into()), safe);
    }
}

#[test]
fn other_names_are_no_plugin() {
    for name in [
        &b""[..],
        b"mysql_old_password",
        b"MYSQL_NATIVE_PASSWORD",
        b"mysql_native_password\0",
    ] {
        assert_eq!(Plugin::from_name(name), None);
    }
}
