use std::os::unix::fs::PermissionsExt;

use super::*;

/// A folder of the test's own.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("onecopy-log-file-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        Self(folder)
    }

    fn path(&self) -> PathBuf {
        self.0.join("log.json")
    }

    /// What is in the file with this ending, if it is there.
    fn text(&self, ending: &str) -> Option<String> {
        fs::read_to_string(self.0.join(format!("log.json{ending}"))).ok()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn open(folder: &Folder, max_size: u64, keep: u32) -> LogFile {
    LogFile::open(&folder.path(), Some(max_size), keep).unwrap()
}

#[test]
fn it_is_renamed_before_it_is_too_large_and_so_many_are_kept() {
    let folder = Folder::new("rotates");
    let mut file = open(&folder, 10, 2);
    for line in ["1-34567\n", "2-34567\n", "3\n", "4-34567\n", "5-34567\n"] {
        file.append(line.as_bytes()).unwrap();
    }
    assert_eq!(folder.text("").as_deref(), Some("5-34567\n"));
    assert_eq!(folder.text(".1").as_deref(), Some("4-34567\n"));
    assert_eq!(folder.text(".2").as_deref(), Some("2-34567\n3\n"));
    assert_eq!(folder.text(".3"), None);
}

#[test]
fn one_of_which_none_are_kept_begins_anew() {
    let folder = Folder::new("keeps-none");
    let mut file = open(&folder, 10, 0);
    file.append(b"1-34567\n").unwrap();
    file.append(b"2-34567\n").unwrap();
    assert_eq!(folder.text("").as_deref(), Some("2-34567\n"));
    assert_eq!(folder.text(".1"), None);
}

#[test]
fn it_goes_on_where_it_was_and_others_cannot_read_it() {
    let folder = Folder::new("goes-on");
    open(&folder, 100, 1).append(b"before\n").unwrap();
    open(&folder, 100, 1).append(b"after\n").unwrap();
    assert_eq!(folder.text("").as_deref(), Some("before\nafter\n"));
    let mode = fs::metadata(folder.path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o037, 0, "{mode:o}");
}

#[test]
fn one_that_cannot_be_renamed_grows_and_says_why() {
    let folder = Folder::new("grows");
    let mut file = open(&folder, 10, 1);
    // A folder that is not empty is in the way.
    fs::create_dir_all(folder.0.join("log.json.1/in-the-way")).unwrap();
    file.append(b"1-34567\n").unwrap();
    file.append(b"2-34567\n").unwrap();
    assert!(file.not_rotated.is_some());
    file.append(b"3-34567\n").unwrap();
    assert_eq!(
        folder.text("").as_deref(),
        Some("1-34567\n2-34567\n3-34567\n")
    );
}

#[test]
fn a_folder_that_goes_and_comes_back_costs_only_what_was_written_meanwhile() {
    let folder = Folder::new("comes-back");
    let inner = folder.0.join("inner");
    fs::create_dir(&inner).unwrap();
    let path = inner.join("log.json");
    let mut file = LogFile::open(&path, Some(10), 1).unwrap();
    file.append(b"1-34567\n").unwrap();
    fs::remove_dir_all(&inner).unwrap();
    // It is renamed, which finds nothing, and cannot be made anew.
    assert!(file.append(b"2-34567\n").is_err());
    assert!(file.append(b"3-34567\n").is_err());
    fs::create_dir(&inner).unwrap();
    file.append(b"4-34567\n").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "4-34567\n");
}

#[test]
fn a_full_device_is_an_error_and_is_not_renamed() {
    let mut file = LogFile::open(Path::new("/dev/full"), Some(1), 1).unwrap();
    for _ in 0..2 {
        let error = file.append(b"a line\n").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }
}

#[test]
fn a_pipe_that_nobody_reads_from_does_not_hold_it_up() {
    let folder = Folder::new("pipe");
    let made = std::process::Command::new("mkfifo")
        .arg(folder.path())
        .status();
    assert!(made.unwrap().success());
    assert!(LogFile::open(&folder.path(), None, 1).is_err());
}
