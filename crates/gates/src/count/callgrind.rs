//! Instructions, by callgrind: a dump behind each counted frame.
//!
//! ```text
//! ob=/usr/lib/libc.so.6
//! fn=malloc
//! 12 1500                        the function's own cost at line 12
//! calls=3 0                      the line behind it is the callee's cost
//! 12 900
//! ```

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

use super::{frame, option, valgrind};
use crate::workload::{COUNTED, Workload};

type ByWorkload = BTreeMap<&'static str, u64>;

/// Functions of the peer have this in their names.
pub(super) const PEER: &str = "gates::peer::";

/// Instructions by workload, and what the process said.
pub(super) fn instructions(
    folder: &Path,
    workloads: &[&Workload],
) -> Result<(ByWorkload, String), Box<dyn Error>> {
    let file = folder.join("callgrind");
    let options = [
        "--tool=callgrind".to_owned(),
        option("callgrind-out-file", &file),
        // Two options of one pattern would overwrite each other.
        format!("--zero-before=*{COUNTED}*"),
        format!("--dump-after=*:{COUNTED}*"),
        "--compress-strings=no".to_owned(),
        "--compress-pos=no".to_owned(),
    ];
    let said = valgrind(&options, workloads)?;
    let each = |(index, workload): (usize, &&Workload)| {
        let dump = file.with_extension((index + 1).to_string());
        let text = std::fs::read_to_string(&dump)?;
        if !text.contains(&frame(workload)) {
            return Err(format!("{} is not in its dump", frame(workload)).into());
        }
        Ok((workload.name, own_costs(&text)?))
    };
    let counted: Result<_, Box<dyn Error>> = workloads.iter().enumerate().map(each).collect();
    Ok((counted?, said))
}

/// Adds up the own costs of all functions but the peer's and the C library's, whose share depends on the processor.
fn own_costs(dump: &str) -> Result<u64, Box<dyn Error>> {
    let (mut in_libc, mut in_peer, mut is_call, mut sum) = (false, false, false, 0);
    for line in dump.lines() {
        if let Some(object) = line.strip_prefix("ob=") {
            in_libc = object.contains("/libc.so") || object.contains("/libc-");
        } else if let Some(function) = line.strip_prefix("fn=") {
            in_peer = function.contains(PEER);
        } else if line.starts_with("calls=") {
            is_call = true;
        } else if line.starts_with(|first: char| first.is_ascii_digit()) {
            let cost = line.split(' ').nth(1).map_or(Ok(0), str::parse::<u64>)?;
            let is_callees = std::mem::take(&mut is_call);
            if !is_callees && !in_libc && !in_peer {
                sum += cost;
            }
        }
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::own_costs;

    #[test]
    fn only_own_costs_outside_of_libc_and_the_peer_are_added_up() {
        let dump = "events: Ir\n\
                    ob=/target/release/gates\nfl=a.rs\nfn=gates::workload::counted_x\n10 3\nfi=b.rs\n11 4\n\
                    cob=/lib/libc.so.6\ncfn=memcpy\ncalls=2 0\n10 900\n12 5\n\
                    fn=<gates::peer::mysql::MySqlPeer as gates::peer::Peer>::take\n1 1000\n\
                    ob=/lib/x86_64-linux-gnu/libc.so.6\nfn=memcpy\n0 900\n\ntotals: 1912\n";
        assert_eq!(own_costs(dump).expect("numbers"), 12);
    }
}
