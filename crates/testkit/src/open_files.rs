//! How many files and sockets a test may have open.

use rustix::process::{Resource, getrlimit, setrlimit};

/// Sees that this process may have at least `wanted` files open: raises the limit that is in force as far as the system
/// lets it.
///
/// # Panics
/// Where that is not enough; the text says what to change.
pub fn allow_open_files(wanted: u64) {
    let mut limit = getrlimit(Resource::Nofile);
    let is_enough = |limit: Option<u64>| limit.is_none_or(|limit| limit >= wanted);
    if is_enough(limit.current) {
        return;
    }
    assert!(
        is_enough(limit.maximum),
        "{wanted} files are to be open, and the system allows {:?}: raise the hard limit, `ulimit -Hn {wanted}`",
        limit.maximum
    );
    // All of it: other tests of the process have files too.
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).expect("a soft limit up to the hard one");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_in_force_is_raised_as_far_as_allowed() {
        let limit = getrlimit(Resource::Nofile);
        let Some(most) = limit.maximum else {
            return allow_open_files(u64::MAX);
        };
        allow_open_files(most);
        assert_eq!(getrlimit(Resource::Nofile).current, Some(most));
        let refused = std::panic::catch_unwind(|| allow_open_files(most + 1)).unwrap_err();
        let text = refused.downcast_ref::<String>().unwrap();
        assert!(text.contains("ulimit"), "{text}");
    }
}
