//! How many transactions a replica has received and not applied, by its lists of global ids.

use std::collections::HashMap;

/// Of a MariaDB: the last transaction of each domain, as `0-1-17,3-1-2`. `None` where that is not understood, or none was received by its
/// global id.
pub(super) fn by_domain(received: &str, applied: &str) -> Option<u64> {
    let received = domains(received)?;
    let applied = domains(applied)?;
    let behind = received.iter().map(|(domain, number)| {
        let applied = applied.get(domain).copied().unwrap_or_default();
        number.saturating_sub(applied)
    });
    (!received.is_empty()).then(|| behind.fold(0, u64::saturating_add))
}

fn domains(list: &str) -> Option<HashMap<u32, u64>> {
    let ids = list.split(',').map(str::trim).filter(|id| !id.is_empty());
    let id = |id: &str| {
        let mut parts = id.split('-');
        let (domain, _, number) = (parts.next()?, parts.next()?, parts.next()?);
        Some((domain.parse().ok()?, number.parse().ok()?))
    };
    ids.map(id).collect()
}

/// Of a MySQL: all transactions of each source, as `<uuid>:1-5:7:tag:1-3`. `None` where that is not understood, or none was received by its
/// global id.
pub(super) fn by_source(received: &str, applied: &str) -> Option<u64> {
    let received = sources(received)?;
    let applied = sources(applied)?;
    let behind = received.iter().map(|(source, received)| {
        let applied = applied.get(source).map_or(&[][..], Vec::as_slice);
        received
            .iter()
            .map(|&range| missing(range, applied))
            .fold(0, u64::saturating_add)
    });
    (!received.is_empty()).then(|| behind.fold(0, u64::saturating_add))
}

/// The first and the last one.
type Range = (u64, u64);

/// By source and tag, in order.
fn sources(set: &str) -> Option<HashMap<(&str, &str), Vec<Range>>> {
    let mut all: HashMap<_, Vec<Range>> = HashMap::new();
    let lists = set.split(',').map(str::trim);
    for list in lists.filter(|list| !list.is_empty()) {
        let (uuid, parts) = list.split_once(':')?;
        let mut tag = "";
        for part in parts.split(':').map(str::trim) {
            if !part.starts_with(|first: char| first.is_ascii_digit()) {
                tag = part;
                continue;
            }
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let range = (first.parse().ok()?, last.parse().ok()?);
            all.entry((uuid, tag)).or_default().push(range);
        }
    }
    all.values_mut().for_each(|ranges| ranges.sort_unstable());
    Some(all)
}

/// How many of a range are in none of these, which are in order and do not overlap.
fn missing((first, last): Range, applied: &[Range]) -> u64 {
    let from = applied.partition_point(|&(_, end)| end < first);
    let in_reach = applied.iter().skip(from);
    let there = in_reach
        .take_while(|&&(start, _)| start <= last)
        .map(|&(start, end)| count(start.max(first), end.min(last)))
        .fold(0, u64::saturating_add);
    count(first, last).saturating_sub(there)
}

fn count(first: u64, last: u64) -> u64 {
    last.checked_sub(first)
        .map_or(0, |more| more.saturating_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_domain_has_its_own_numbers() {
        assert_eq!(by_domain("0-1-17", "0-1-15"), Some(2));
        assert_eq!(by_domain("0-1-17,3-2-9", "0-1-17, 3-1-4"), Some(5));
        assert_eq!(by_domain("0-1-17", ""), Some(17));
        // Another primary goes on with the numbers.
        assert_eq!(by_domain("0-1-17", "0-2-20,4-1-1"), Some(0));
        assert_eq!(by_domain("", "0-1-15"), None);
        for wrong in ["0-1", "x", "0-1-99999999999999999999", "-"] {
            assert_eq!(by_domain(wrong, "0-1-1"), None, "{wrong}");
            assert_eq!(by_domain("0-1-1", wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_is_missing_between_others_counts() {
        let behind = |received: &str, applied: &str| {
            by_source(
                &received.replace('a', "3e11-47"),
                &applied.replace('a', "3e11-47"),
            )
        };
        assert_eq!(behind("a:1-10", "a:1-7"), Some(3));
        assert_eq!(behind("a:5-10", "a:1-4:6:9-20"), Some(3));
        assert_eq!(behind("a:5-10,b:1", "a:1-10"), Some(1));
        assert_eq!(behind("a:3:x:1-4", "a:1-5:y:1-9,\na:x:2"), Some(3));
        assert_eq!(behind("a:7", "a:7"), Some(0));
        assert_eq!(behind("a:1-18446744073709551615", ""), Some(u64::MAX));
        assert_eq!(behind("a:0-18446744073709551615", ""), Some(u64::MAX));
        assert_eq!(behind("a:9-3", "a:1"), Some(0));
        assert_eq!(behind("", "a:1"), None);
        for wrong in ["a", "a:1-", "a:1-x", "a:99999999999999999999"] {
            assert_eq!(behind(wrong, "a:1"), None, "{wrong}");
        }
    }
}
