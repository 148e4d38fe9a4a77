//! Bulks whose bytes do not come into the frame: those in homes, those that are passed over, those handed out in pieces.

use onecopy_wire::Buffers;

use super::chunk::Chunks;
use super::line::{Line, length};
use super::{Broken, MAX_STREAMED, Pause, ReplyMode, Scanned, Scanner, Stop};
use crate::Kind;
use crate::error::ErrorKind;

/// How far the end of a value may be for the buffers to be told: 64 KiB. They make room for a whole value, which one that
/// is not kept does not need.
const NEAR_END: u64 = 64 << 10;

/// Bytes of a verbatim string's format and colon.
const FORMAT: usize = 4;

/// The value under way whose bytes do not lie in the frame as they came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    None,
    Home(InHome),
    Passing(Passing),
    /// A string of unknown length, between two of its chunks.
    Chunks(Chunks),
}

/// A body that is read into its home, and its CR LF into the side slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct InHome {
    kind: Kind,
    len: usize,
    /// Bytes of the stream in front of the value.
    header: u64,
}

/// A body that is consumed as it comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Passing {
    /// Bytes of it that are to come.
    left: u64,
    /// Bytes of CR LF that are to come behind it.
    line_end: usize,
    of: Of,
    /// Bytes of the stream in front of the value.
    header: u64,
}

/// What passing on came to.
enum Passed {
    Scanned(Scanned),
    Pause(Pause),
    /// Nothing to report.
    On,
}

/// What a passing body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    /// A value, or an element of one, that is passed over.
    Bulk,
    /// A part of a string that is passed over.
    Chunk,
    /// A reply that is handed out in pieces.
    Streamed,
    /// A reply of which the rest is passed over.
    Dropped,
}

impl Scanner {
    /// Bytes of the string handed out in pieces that are to come.
    pub(crate) fn bulk_left(&self) -> u64 {
        match self.body {
            Body::Passing(passing) if passing.of == Of::Streamed => passing.left,
            _ => 0,
        }
    }

    /// Whether a string is handed out in pieces and its end was not told.
    pub(crate) fn is_in_bulk(&self) -> bool {
        matches!(self.body, Body::Passing(passing) if passing.of == Of::Streamed)
    }

    /// The rest of the string that is handed out is passed over, its end is not told.
    pub(crate) fn skip_bulk(&mut self) {
        if let Body::Passing(passing) = &mut self.body
            && passing.of == Of::Streamed
        {
            passing.of = Of::Dropped;
        }
    }

    /// Whether the next bytes of the string can go straight to the caller: none is buffered. Plans the need.
    pub(crate) fn can_read_direct(&self, buffers: &mut Buffers) -> bool {
        let left = self.bulk_left();
        let is_direct = left > 0 && buffers.pending().is_empty();
        if is_direct {
            buffers.need(1, near(left + 2));
        }
        is_direct
    }

    /// `n` bytes of the string went straight to the caller.
    pub(crate) fn direct_read(&mut self, n: usize) {
        if let Body::Passing(passing) = &mut self.body {
            passing.left = passing.left.saturating_sub(n as u64);
            self.gone += n as u64;
        }
    }

    /// Everything except borrowing a frame that lies in one piece.
    #[inline(never)]
    pub(super) fn scan_odd(
        &mut self,
        buffers: &mut Buffers,
        mode: ReplyMode,
    ) -> Result<Scanned, Broken> {
        if self.is_fresh {
            self.begin(buffers);
        }
        if mode == ReplyMode::Skip {
            self.skip(buffers)?;
        }
        loop {
            let pause = match self.body {
                Body::None => {
                    if !self.is_inside()
                        && !self.skips
                        && let Some(scanned) = self.first(buffers, mode)?
                    {
                        return Ok(scanned);
                    }
                    match self.values(buffers.pending()) {
                        Stop::Complete => Some(Pause::Complete),
                        Stop::Paused => Some(self.pause),
                        Stop::Broken => return Err(Broken),
                    }
                }
                Body::Home(home) => self.home(buffers, home)?,
                Body::Chunks(chunks) => self.chunk(buffers, chunks)?,
                Body::Passing(passing) => match self.pass(buffers, passing)? {
                    Passed::Scanned(scanned) => return Ok(scanned),
                    Passed::Pause(pause) => Some(pause),
                    Passed::On => None,
                },
            };
            match pause {
                None => {}
                Some(Pause::Complete) => return self.end(buffers, mode),
                Some(Pause::Need { min, until_end }) => {
                    if self.skips {
                        self.let_go(buffers);
                    }
                    buffers.need(min, until_end);
                    return Ok(Scanned::NeedInput(min));
                }
                Some(pause) => self.leave_frame(buffers, pause)?,
            }
        }
    }

    /// The first byte of a value tells what the mode means for it. `None`: it is scanned.
    fn first(&mut self, buffers: &mut Buffers, mode: ReplyMode) -> Result<Option<Scanned>, Broken> {
        let bytes = buffers.pending();
        let Some(&first) = bytes.first() else {
            return Ok(None);
        };
        match (mode, first) {
            (_, b'>') => {}
            (ReplyMode::Skip, _) => self.skips = true,
            // What it belongs to tells.
            (ReplyMode::Refuse, b'|') => {}
            (ReplyMode::Refuse, _) => return Err(self.fail(ErrorKind::Unexpected, bytes)),
            (ReplyMode::Stream, b'$') => return self.begin_bulk(buffers, false),
            (ReplyMode::Stream, b'=') => return self.begin_bulk(buffers, true),
            (ReplyMode::Stream | ReplyMode::Borrow, _) => {}
        }
        Ok(None)
    }

    /// The header of a string that is handed out in pieces. `None`: it is none, or has not come whole.
    fn begin_bulk(
        &mut self,
        buffers: &mut Buffers,
        is_verbatim: bool,
    ) -> Result<Option<Scanned>, Broken> {
        let bytes = buffers.pending();
        let Line::Length(len, mut body) = length(bytes, 0) else {
            return Ok(None);
        };
        if len > MAX_STREAMED {
            let max = MAX_STREAMED;
            return Err(self.fail(ErrorKind::BulkTooLarge { len, max }, bytes));
        }
        let mut left = len;
        if is_verbatim {
            if len < FORMAT as u64 {
                return Ok(None);
            }
            let Some(format) = bytes.get(body..body + FORMAT) else {
                let missing = body + FORMAT - bytes.len();
                buffers.need(missing, 0);
                return Ok(Some(Scanned::NeedInput(missing)));
            };
            if !format.ends_with(b":") {
                return Err(self.fail(ErrorKind::InvalidVerbatim, bytes));
            }
            left -= FORMAT as u64;
            body += FORMAT;
        }
        self.pass_body(buffers, body, left, Of::Streamed);
        Ok(Some(Scanned::Bulk(left)))
    }

    /// What follows in the stream does not come into the frame.
    #[cold]
    pub(super) fn leave_frame(
        &mut self,
        buffers: &mut Buffers,
        pause: Pause,
    ) -> Result<(), Broken> {
        match pause {
            Pause::Large { len, body, .. } if self.skips => {
                self.pass_body(buffers, body, len, Of::Bulk);
            }
            Pause::Large { kind, len, body } => {
                let header = self.position();
                let buffered = buffers.pending().len() - body;
                #[allow(clippy::cast_possible_truncation)] // at most u32::MAX
                let len = len as usize;
                let begun = buffers.begin_home(len, buffered);
                begun.map_err(|error| self.out_of_memory(error))?;
                buffers.cut(len - buffered, 2);
                self.at = body;
                self.body = Body::Home(InHome { kind, len, header });
            }
            Pause::Chunks => self.body = Body::Chunks(Chunks::new(self.at)),
            Pause::PushBehind => {
                self.let_go(buffers);
                self.offset += std::mem::take(&mut self.gone);
                self.nodes.clear();
                self.claimed = 0;
                self.skips = false;
            }
            Pause::Complete | Pause::Need { .. } => {}
        }
        Ok(())
    }

    /// Takes the bulk out of its home once that is full and the line end has arrived.
    pub(super) fn home(
        &mut self,
        buffers: &mut Buffers,
        InHome { kind, len, header }: InHome,
    ) -> Result<Option<Pause>, Broken> {
        let missing = buffers.home_missing();
        let Some([cr, lf, ..]) = (missing == 0).then(|| buffers.take_side()).flatten() else {
            return Ok(Some(Pause::Need {
                min: 1,
                until_end: missing + 2,
            }));
        };
        let span = buffers.finish_home();
        if [cr, lf] != *b"\r\n" {
            return Err(self.fail_at(ErrorKind::MissingLineEnd, header, &[]));
        }
        if kind == Kind::VerbatimString && buffers.bytes(span).get(FORMAT - 1) != Some(&b':') {
            return Err(self.fail_at(ErrorKind::InvalidVerbatim, header, &[]));
        }
        self.gone += len as u64 + 2;
        self.measure();
        let index = self.push(kind, span.home() as usize, len)?;
        if let Some(node) = self.nodes.get_mut(index) {
            node.is_large = true;
        }
        self.end_body()
    }

    /// Consumes what has arrived of a body that does not stay.
    fn pass(&mut self, buffers: &mut Buffers, mut passing: Passing) -> Result<Passed, Broken> {
        let come = buffers.pending().len();
        if passing.left == 0 && passing.line_end == 0 {
            return self.passed(buffers, passing.of);
        }
        if come == 0 {
            buffers.need(1, near(passing.left + passing.line_end as u64));
            return Ok(Passed::Scanned(Scanned::NeedInput(1)));
        }
        let mut piece = None;
        if passing.left > 0 {
            let n = come.min(usize::try_from(passing.left).unwrap_or(usize::MAX));
            let span = buffers.consume_piece(n);
            piece = (passing.of == Of::Streamed).then_some(span);
            passing.left -= n as u64;
            self.gone += n as u64;
        } else {
            let expected = if passing.line_end == 2 { b'\r' } else { b'\n' };
            if buffers.pending()[0] != expected {
                let wrong = ErrorKind::MissingLineEnd;
                return Err(self.fail_at(wrong, passing.header, &[]));
            }
            buffers.consume_piece(1);
            passing.line_end -= 1;
            self.gone += 1;
        }
        self.body = Body::Passing(passing);
        Ok(piece.map_or(Passed::On, |piece| Passed::Scanned(Scanned::Piece(piece))))
    }

    /// A body that did not stay is over.
    fn passed(&mut self, buffers: &mut Buffers, of: Of) -> Result<Passed, Broken> {
        match of {
            Of::Bulk => Ok(self.end_body()?.map_or(Passed::On, Passed::Pause)),
            Of::Chunk => {
                self.body = Body::Chunks(Chunks::new(self.at));
                Ok(Passed::On)
            }
            Of::Streamed => {
                self.body = Body::None;
                self.end_frame();
                Ok(Passed::Scanned(Scanned::BulkEnd))
            }
            Of::Dropped => {
                self.body = Body::None;
                self.end_frame();
                self.begin(buffers);
                Ok(Passed::On)
            }
        }
    }

    /// A chunk of `len` bytes whose body begins at `body` is passed over.
    pub(super) fn pass_chunk(&mut self, buffers: &mut Buffers, body: usize, len: u64) {
        self.pass_body(buffers, body, len, Of::Chunk);
    }

    /// The `left` bytes from `body` on are consumed as they come; what was scanned before them is needed no more.
    fn pass_body(&mut self, buffers: &mut Buffers, body: usize, left: u64, of: Of) {
        let header = self.position();
        self.at = body;
        self.let_go(buffers);
        self.body = Body::Passing(Passing {
            left,
            line_end: 2,
            of,
            header,
        });
    }

    /// From here on the frame under way is passed over, unless it is a push or has not begun.
    fn skip(&mut self, buffers: &mut Buffers) -> Result<(), Broken> {
        self.skip_bulk();
        let is_passing = self.skips || matches!(self.body, Body::Passing(_));
        if is_passing || self.is_push || !self.is_inside() {
            return Ok(());
        }
        self.skips = true;
        self.nodes.clear();
        if let Body::Home(home) = self.body {
            self.leave_home(buffers, home)?;
        }
        buffers.recycle_homes();
        self.let_go(buffers);
        Ok(())
    }

    /// What is to come of a bulk does not go to its home any more.
    fn leave_home(&mut self, buffers: &mut Buffers, home: InHome) -> Result<(), Broken> {
        let left = buffers.home_missing();
        let (slot, filled) = buffers.uncut();
        if !b"\r\n".starts_with(&slot[..filled]) {
            let wrong = ErrorKind::MissingLineEnd;
            return Err(self.fail_at(wrong, home.header, &[]));
        }
        self.gone += (home.len - left + filled) as u64;
        self.body = Body::Passing(Passing {
            left: left as u64,
            line_end: 2 - filled,
            of: Of::Bulk,
            header: home.header,
        });
        Ok(())
    }

    /// What is scanned is needed no more.
    fn let_go(&mut self, buffers: &mut Buffers) {
        buffers.consume_piece(self.at);
        self.gone += self.at as u64;
        self.at = 0;
    }

    /// The value is complete.
    fn end(&mut self, buffers: &mut Buffers, mode: ReplyMode) -> Result<Scanned, Broken> {
        if self.skips {
            self.let_go(buffers);
            self.end_frame();
            return Ok(Scanned::Skipped);
        }
        if mode == ReplyMode::Refuse && !self.is_push {
            let (wrong, bytes) = (ErrorKind::Unexpected, buffers.pending());
            return Err(self.fail_at(wrong, self.offset, bytes));
        }
        let is_push = self.complete(buffers);
        Ok(Scanned::Frame(self.frame(is_push)))
    }
}

/// The distance of an end as the buffers are told it.
fn near(until_end: u64) -> usize {
    if until_end > NEAR_END {
        return 0;
    }
    usize::try_from(until_end).unwrap_or(0)
}
