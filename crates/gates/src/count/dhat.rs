//! Allocations and copies, by dhat: each place in the program with its callers, among them the counted frame.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

use serde::Deserialize;

use super::callgrind::PEER;
use super::{CALLERS, frame, option, valgrind};
use crate::workload::Workload;

#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(super) struct Total {
    pub(super) bytes: u64,
    pub(super) blocks: u64,
}

/// dhat's file, as far as it is needed.
#[derive(Deserialize)]
struct Profile {
    pps: Vec<Place>,
    /// Frames, `0x109F2D: function (file.rs:12)`.
    ftbl: Vec<String>,
}

/// A place in the program: bytes, blocks, and its frames from the innermost on.
#[derive(Deserialize)]
struct Place {
    tb: u64,
    tbk: u64,
    fs: Vec<usize>,
}

pub(super) fn totals(
    folder: &Path,
    mode: &str,
    workloads: &[&Workload],
) -> Result<BTreeMap<&'static str, Total>, Box<dyn Error>> {
    let file = folder.join(mode);
    let options = [
        "--tool=dhat".to_owned(),
        format!("--mode={mode}"),
        option("dhat-out-file", &file),
        format!("--num-callers={CALLERS}"),
    ];
    valgrind(&options, workloads)?;
    let profile: Profile = serde_json::from_str(&std::fs::read_to_string(&file)?)?;
    let each = |workload: &&Workload| (workload.name, total(&profile, &frame(workload)));
    Ok(workloads.iter().map(each).collect())
}

/// What happened inside of the frame, but not in the peer.
fn total(profile: &Profile, frame: &str) -> Total {
    let function = |index: &usize| profile.ftbl.get(*index).map_or("", String::as_str);
    // A longer name may begin with this one.
    let is_frame = |function: &str| {
        let found = function.split_once(frame);
        found.is_some_and(|(_, behind)| {
            !behind.starts_with(|next: char| next.is_alphanumeric() || next == '_')
        })
    };
    let mut total = Total::default();
    for place in &profile.pps {
        let is_inside = place.fs.iter().any(|index| is_frame(function(index)));
        let is_peers = place.fs.iter().any(|index| function(index).contains(PEER));
        if is_inside && !is_peers {
            total.bytes += place.tb;
            total.blocks += place.tbk;
        }
    }
    total
}

#[cfg(test)]
mod tests {
    use super::{Profile, Total, total};

    #[test]
    fn what_happened_in_another_frame_or_in_the_peer_is_not_counted() {
        let profile = r#"{"mode": "copy", "ftbl": ["[root]", "0x1: memcpy (x.c:1)", "0x2: gates::workload::counted_a (w.rs:1)",
            "0x3: gates::workload::counted_a_b (w.rs:2)", "0x4: gates::peer::scatter (peer.rs:3)"],
            "pps": [{"tb": 10, "tbk": 1, "fs": [1, 2]}, {"tb": 20, "tbk": 1, "fs": [1, 3]},
            {"tb": 40, "tbk": 1, "fs": [1, 4, 2]}, {"tb": 80, "tbk": 2, "fs": [1, 2, 0]}]}"#;
        let profile: Profile = serde_json::from_str(profile).expect("a profile");
        assert_eq!(
            total(&profile, "counted_a"),
            Total {
                bytes: 90,
                blocks: 3
            }
        );
    }
}
