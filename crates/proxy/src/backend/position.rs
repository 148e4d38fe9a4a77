//! Transactions by their global ids, as servers report them: `0-1-17` (domain, server, number) on MariaDB, `<uuid>:17` or
//! `<uuid>:<tag>:17` on MySQL.

/// More sources of transactions than any setup has: a server that reports more can't make a position grow.
const MOST: usize = 16;

/// Of each domain or source, the last transaction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Position(Vec<Last>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Last {
    /// The domain, or the source with its tag.
    source: Box<[u8]>,
    /// On MariaDB, the server: another primary goes on with the domain's numbers, and not behind all that the one before had.
    server: Box<[u8]>,
    number: u64,
    /// As the server wrote it.
    text: Box<[u8]>,
}

impl Position {
    /// Notes what a server has reported: one id or several. `false` where it is not understood, or can't be kept.
    ///
    /// The members of a MySQL group share a source, and each has numbers of its own range: a later transaction may have a smaller one.
    pub(crate) fn note(&mut self, reported: &[u8]) -> bool {
        let mut is_known = true;
        for text in reported.split(|&byte| byte == b',') {
            is_known &= Last::parse(text.trim_ascii()).is_some_and(|last| {
                let is_of_mysql = last.server.is_empty();
                self.0
                    .retain(|known| !is_of_mysql || known.source != last.source);
                self.put(last)
            });
        }
        is_known
    }

    /// Goes on to where another one is.
    pub(crate) fn advance(&mut self, other: &Self) {
        for last in &other.0 {
            self.put(last.clone());
        }
    }

    fn put(&mut self, last: Last) -> bool {
        let is_full = self.0.len() >= MOST;
        let mut known = self.0.iter_mut();
        match known.find(|known| known.source == last.source) {
            Some(known) if known.server == last.server && known.number >= last.number => {}
            Some(known) => *known = last,
            None if is_full => return false,
            None => self.0.push(last),
        }
        true
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether all of another one's transactions are known to be in it, where numbers of a source only grow.
    pub(crate) fn has(&self, other: &Self) -> bool {
        other.0.iter().all(|last| {
            let is_same =
                |known: &&Last| known.source == last.source && known.server == last.server;
            let mut known = self.0.iter().filter(is_same);
            known.any(|known| known.number >= last.number)
        })
    }

    /// As servers read it.
    pub(crate) fn text(&self) -> Vec<u8> {
        let texts: Vec<&[u8]> = self.0.iter().map(|last| &*last.text).collect();
        texts.join(&b',')
    }
}

impl Last {
    /// Only what consists of letters, digits, `-`, `_` and `:` is an id: it is put into a statement.
    fn parse(text: &[u8]) -> Option<Self> {
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_:".contains(byte);
        if text.is_empty() || !text.iter().all(is_plain) {
            return None;
        }
        let digits = text.iter().rev().take_while(|byte| byte.is_ascii_digit());
        let number_at = text.len() - digits.count();
        let number = std::str::from_utf8(text.get(number_at..)?)
            .ok()?
            .parse()
            .ok()?;
        let [source, server] = match text.contains(&b':') {
            // Of `<uuid>:5-7` or `<uuid>:1-3:5-7`, what comes before the numbers.
            true => {
                // A source may consist of digits, too, but has more dashes.
                let is_numbers = |part: &&[u8]| {
                    let mut dashes = part.iter().filter(|byte| !byte.is_ascii_digit());
                    dashes.next().is_none_or(|&byte| byte == b'-') && dashes.next().is_none()
                };
                let parts = text.rsplit(|&byte| byte == b':');
                let numbers = parts.take_while(is_numbers).map(|part| part.len() + 1);
                [text.get(..text.len().checked_sub(numbers.sum())?)?, b""]
            }
            false => {
                let mut parts = text.split(|&byte| byte == b'-');
                [parts.next()?, parts.next()?]
            }
        };
        (!source.is_empty()).then(|| Self {
            source: source.into(),
            server: server.into(),
            number,
            text: text.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562";

    fn position(text: &str) -> Position {
        let mut position = Position::default();
        assert!(position.note(text.as_bytes()), "{text}");
        position
    }

    #[test]
    fn later_transactions_of_a_source_have_those_before() {
        for (early, late) in [
            ("0-1-9".to_owned(), "0-1-10".to_owned()),
            ("0-1-9".to_owned(), "0-1-10,7-1-1".to_owned()),
            (format!("{UUID}:9"), format!("{UUID}:10")),
            (format!("{UUID}:9"), format!("{UUID}:1-3:5-9")),
            (format!("{UUID}:tag:9"), format!("{UUID}:tag:9,\n{UUID}:1")),
        ] {
            assert!(position(&late).has(&position(&early)), "{early} {late}");
        }
        for (one, other) in [
            ("0-1-10".to_owned(), "0-1-9".to_owned()),
            ("1-1-1".to_owned(), "0-1-9".to_owned()),
            // The second server became the primary without the ninth transaction of the first one, or has others in its place.
            ("0-2-8".to_owned(), "0-1-9".to_owned()),
            ("0-1-9".to_owned(), "0-2-9".to_owned()),
            (format!("{UUID}:tag:1"), format!("{UUID}:9")),
        ] {
            assert!(!position(&other).has(&position(&one)), "{one} {other}");
        }
    }

    fn position_of(source: &str, number: u64) -> Position {
        position(&format!("{source}:{number}"))
    }

    #[test]
    fn it_is_the_last_of_each_source() {
        let mut position = position("0-1-5");
        assert!(position.note(b"0-1-4") && position.note(b"3-1-2") && position.note(b"0-1-6"));
        assert_eq!(position.text(), b"0-1-6,3-1-2");
        // One domain is one place in a statement.
        assert!(position.note(b"0-2-5"));
        assert_eq!(position.text(), b"0-2-5,3-1-2");
        let before = position.clone();
        let mut group = position_of(UUID, 1_000_003);
        assert!(group.note(format!("{UUID}:6").as_bytes()));
        assert_eq!(group, position_of(UUID, 6), "another member's, and later");
        for wrong in [
            &b""[..],
            b"0-1-",
            b"x",
            b":",
            b":5",
            b"0-1-5'",
            b"0-1-99999999999999999999",
        ] {
            assert!(!position.note(wrong), "{}", wrong.escape_ascii());
        }
        assert_eq!(position, before);
        let mut kept = (10..100).map(|domain| position.note(format!("{domain}-1-1").as_bytes()));
        assert_eq!(kept.by_ref().filter(|kept| *kept).count(), MOST - 2);
        assert!(position.note(b"0-1-7"));
        let digits = "11111111-1111-1111-1111-111111111111";
        assert!(position_of(digits, 5).has(&position_of(digits, 4)));
    }
}
