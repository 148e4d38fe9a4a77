//! What a session may have on its connection until it gives it back: cursors, named locks and handlers. Once it surely has none, it can do
//! without the connection.
//!
//! Locks and handlers are known by the texts of statements. Replies are not read: each call of `GET_LOCK` counts as a lock, and each one of
//! `RELEASE_LOCK` that has not failed takes one away. So a session never has more locks than are counted.

/// What a statement does that is one call for a named lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LockCall {
    Get(Box<[u8]>),
    Release(Box<[u8]>),
    ReleaseAll,
}

/// Servers refuse longer names.
const LONGEST_NAME: usize = 64;

impl LockCall {
    /// Reads `SELECT GET_LOCK('name', 10)`, the same with `RELEASE_LOCK` and `RELEASE_ALL_LOCKS`, and with `DO`. `None` for all else: who
    /// knows what that does.
    pub(crate) fn of(text: &[u8]) -> Option<Self> {
        let mut rest = Rest(text);
        let first = rest.word()?;
        if !first.eq_ignore_ascii_case(b"SELECT") && !first.eq_ignore_ascii_case(b"DO") {
            return None;
        }
        let is_quoted = rest.symbol(b'`').is_some();
        let function = rest.word()?.to_ascii_uppercase();
        if is_quoted {
            rest.symbol(b'`')?;
        }
        rest.symbol(b'(')?;
        let call = match &*function {
            b"GET_LOCK" => {
                let name = rest.name()?;
                rest.symbol(b',')?;
                rest.number()?;
                Self::Get(name)
            }
            b"RELEASE_LOCK" => Self::Release(rest.name()?),
            b"RELEASE_ALL_LOCKS" => Self::ReleaseAll,
            _ => return None,
        };
        rest.symbol(b')')?;
        if let Some(word) = rest.word()
            && word.eq_ignore_ascii_case(b"AS")
        {
            rest.word()?;
        }
        let _ = rest.symbol(b';');
        rest.skip_blank();
        rest.0.is_empty().then_some(call)
    }
}

/// What is left of a statement.
struct Rest<'t>(&'t [u8]);

impl<'t> Rest<'t> {
    /// Passes over white space and over comments that no server runs.
    fn skip_blank(&mut self) {
        loop {
            self.0 = self.0.trim_ascii_start();
            let Some(comment) = self.0.strip_prefix(b"/*") else {
                return;
            };
            // Those are run, or are hints.
            if matches!(comment.first(), Some(b'!' | b'M' | b'+')) {
                return;
            }
            let Some(end) = comment.windows(2).position(|pair| pair == b"*/") else {
                return;
            };
            self.0 = comment.get(end + 2..).unwrap_or_default();
        }
    }

    fn take(&mut self, is_part: impl Fn(u8) -> bool) -> Option<&'t [u8]> {
        self.skip_blank();
        let len = self.0.iter().take_while(|byte| is_part(**byte)).count();
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        (len > 0).then_some(taken)
    }

    fn word(&mut self) -> Option<&'t [u8]> {
        self.take(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    }

    fn number(&mut self) -> Option<&'t [u8]> {
        self.take(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'.'))
    }

    fn symbol(&mut self, symbol: u8) -> Option<()> {
        self.skip_blank();
        self.0 = self.0.strip_prefix(&[symbol])?;
        Some(())
    }

    /// A string that means the same in each mode and character set.
    fn name(&mut self) -> Option<Box<[u8]>> {
        self.symbol(b'\'')?;
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.:/ ".contains(&byte);
        let len = self.0.iter().take_while(|byte| is_plain(**byte)).count();
        let (name, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        self.symbol(b'\'')?;
        (1..=LONGEST_NAME).contains(&len).then(|| name.into())
    }
}

/// In a box: few sessions have any.
#[derive(Debug, Default)]
pub(crate) struct Held(Option<Box<All>>);

#[derive(Debug, Default)]
struct All {
    /// With how often each may have been taken.
    locks: Vec<(Box<[u8]>, u32)>,
    /// There may be others.
    has_unknown_lock: bool,
    /// The last statement was one call.
    is_understood: bool,
    handlers: u32,
    /// The client's ids of statements with a cursor, or with values that were sent ahead.
    cursors: Vec<u32>,
    /// Of the statement under way.
    call: Option<LockCall>,
}

impl Held {
    /// A statement is next that calls for named locks.
    #[cold]
    pub(crate) fn is_next(&mut self, call: Option<LockCall>) {
        self.0.get_or_insert_default().call = call;
    }

    /// It is over. Whether the session may have a named lock now.
    #[cold]
    pub(crate) fn lock_call_is_over(&mut self, failed: bool) -> bool {
        let all = self.0.get_or_insert_default();
        all.is_understood = all.call.is_some();
        match all.call.take() {
            None => all.has_unknown_lock = true,
            Some(LockCall::Get(name)) => match all.locks.iter_mut().find(|(one, _)| *one == name) {
                Some((_, times)) => *times = times.saturating_add(1),
                None => all.locks.push((name, 1)),
            },
            Some(_) if failed => {}
            Some(LockCall::Release(name)) => all.locks.retain_mut(|(one, times)| {
                if *one == name {
                    *times -= 1;
                }
                *times > 0
            }),
            Some(LockCall::ReleaseAll) => {
                all.locks.clear();
                all.has_unknown_lock = false;
            }
        }
        let has_lock = all.has_lock();
        self.tidy();
        has_lock
    }

    /// Whether the last statement that calls for named locks did nothing else.
    pub(crate) fn understood_call(&self) -> bool {
        self.0.as_ref().is_none_or(|all| all.is_understood)
    }

    /// A handler was opened. Where it may have been several, or none, it is not known any more when all are closed.
    #[cold]
    pub(crate) fn handler_opened(&mut self, is_one: bool) {
        let all = self.0.get_or_insert_default();
        all.handlers = match is_one {
            true => all.handlers.saturating_add(1),
            false => u32::MAX,
        };
    }

    /// One was closed. Whether there may be others.
    #[cold]
    pub(crate) fn handler_closed(&mut self) -> bool {
        let Some(all) = &mut self.0 else {
            return false;
        };
        if all.handlers < u32::MAX {
            all.handlers = all.handlers.saturating_sub(1);
        }
        let has_more = all.handlers > 0;
        self.tidy();
        has_more
    }

    /// Whether a statement has a cursor, or values that were sent ahead.
    #[inline]
    pub(crate) fn has_cursor_of(&self, id: u32) -> bool {
        let all = self.0.as_ref();
        all.is_some_and(|all| all.cursors.contains(&id))
    }

    #[inline]
    pub(crate) fn has_cursors(&self) -> bool {
        let all = self.0.as_ref();
        all.is_some_and(|all| !all.cursors.is_empty())
    }

    pub(crate) fn cursor_opened(&mut self, id: u32) {
        let all = self.0.get_or_insert_default();
        if !all.cursors.contains(&id) {
            all.cursors.push(id);
        }
    }

    /// Of a statement, if it had one.
    #[inline]
    pub(crate) fn cursor_closed(&mut self, id: u32) {
        if let Some(all) = &mut self.0 {
            all.cursors.retain(|one| *one != id);
        }
    }

    /// The session was reset.
    pub(crate) fn clear(&mut self) {
        self.0 = None;
    }

    fn tidy(&mut self) {
        self.0
            .take_if(|all| !all.has_lock() && all.handlers == 0 && all.cursors.is_empty());
    }
}

impl All {
    fn has_lock(&self) -> bool {
        self.has_unknown_lock || !self.locks.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(text: &str) -> Option<LockCall> {
        LockCall::of(text.as_bytes())
    }

    #[test]
    fn a_statement_of_one_call_is_understood() {
        let name: Box<[u8]> = (*b"a").into();
        for text in [
            "SELECT GET_LOCK('a', 10)",
            "select get_lock ( 'a' , -1 ) as got;",
            "DO GET_LOCK('a',0.5)",
            "SELECT `get_lock`('a', 1) /**/",
            "/* by us */ SELECT GET_LOCK('a', 1) x ",
        ] {
            assert_eq!(call(text), Some(LockCall::Get(name.clone())), "{text}");
        }
        let release = Some(LockCall::Release(name));
        assert_eq!(call("SELECT RELEASE_LOCK('a')"), release);
        assert_eq!(call("DO RELEASE_LOCK('a') /* done */ ;"), release);
        assert_eq!(
            call("SELECT RELEASE_ALL_LOCKS()"),
            Some(LockCall::ReleaseAll)
        );
    }

    #[test]
    fn all_else_is_not() {
        for text in [
            "",
            "SELECT",
            "SELECT RELEASE_LOCK('a') FROM t",
            "SELECT RELEASE_LOCK('a'), 1",
            "SELECT RELEASE_LOCK('a') AS x, RELEASE_LOCK('b')",
            "SELECT RELEASE_LOCK('a') LIMIT 0",
            "SELECT RELEASE_LOCK('a') x LIMIT 0",
            "SELECT RELEASE_LOCK('a') WHERE 0",
            "SELECT RELEASE_LOCK('a') AND 0",
            "SELECT RELEASE_LOCK('a''')",
            "SELECT RELEASE_LOCK('a\\'')",
            "SELECT RELEASE_LOCK('\u{e9}')",
            "SELECT RELEASE_LOCK(_latin1'a')",
            "SELECT RELEASE_LOCK(a)",
            "SELECT RELEASE_LOCK(?)",
            "SELECT RELEASE_LOCK('')",
            "SELECT RELEASE_LOCK('a'",
            "SELECT RELEASE_LOCK('a'); SELECT GET_LOCK('a', 1)",
            "SELECT /*!99999 RELEASE_LOCK('a') */",
            "SELECT RELEASE_LOCK('a') /*!99999 + 1 */",
            "SELECT RELEASE_LOCK('a') /*M! + 1 */",
            "SELECT RELEASE_LOCK('a') /* 1",
            "SELECT RELEASE_LOCK('a') /**/, GET_LOCK('b', 1) /**/",
            "SELECT /*+ SET_VAR(sql_select_limit=0) */ RELEASE_LOCK('a')",
            "SELECT `RELEASE_LOCK('a')",
            "SELECT mine.RELEASE_LOCK('a')",
            "SELECT GET_LOCK('a')",
            "SELECT GET_LOCK('a', @b)",
            "SELECT GET_LOCK('a', 1 + 1)",
            "EXPLAIN SELECT RELEASE_LOCK('a')",
        ] {
            assert_eq!(call(text), None, "{text}");
        }
        assert_eq!(
            call(&format!("DO RELEASE_LOCK('{}')", "a".repeat(65))),
            None
        );
    }

    #[test]
    fn a_session_has_locks_until_each_was_released_as_often_as_it_was_taken() {
        let mut held = Held::default();
        let mut over = |text: &str, failed: bool| {
            held.is_next(call(text));
            held.lock_call_is_over(failed)
        };
        assert!(!over("SELECT RELEASE_LOCK('a')", false));
        for _ in 0..2 {
            assert!(over("SELECT GET_LOCK('a', 1)", false));
        }
        assert!(over("SELECT RELEASE_LOCK('b')", false));
        assert!(over("SELECT RELEASE_LOCK('a')", false));
        assert!(over("SELECT RELEASE_LOCK('a')", true), "it has failed");
        assert!(!over("SELECT RELEASE_LOCK('a')", false));
        // It may have taken it before it failed.
        assert!(over("SELECT GET_LOCK('a', 1)", true));
        assert!(over("SELECT GET_LOCK('b', 1), 2", false));
        assert!(over("SELECT RELEASE_LOCK('a')", false), "another one");
        assert!(!over("DO RELEASE_ALL_LOCKS()", false));
        assert!(held.0.is_none());
    }

    #[test]
    fn a_session_has_handlers_until_as_many_were_closed_as_opened() {
        let mut held = Held::default();
        held.handler_opened(true);
        held.handler_opened(true);
        assert!(held.handler_closed());
        assert!(!held.handler_closed());
        assert!(held.0.is_none());
        assert!(!held.handler_closed(), "of a session that was reset");
        held.handler_opened(false);
        held.handler_opened(true);
        assert!(held.handler_closed());
        assert!(held.handler_closed());
    }
}
