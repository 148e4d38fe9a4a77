//! The end of a session: its last words to the client, and the time that it has to take them.

use std::time::Instant;

use onecopy_mysql_proto::packet::CommandByte;
use onecopy_net::evented::ReadOutcome;
use onecopy_wire::{BufferConfig, Buffers};

use super::{Context, End, FAREWELL, Phase, Session, Status, error_payload};
use crate::config::LogLevel as Level;
use crate::failure::{Reason, SERVER_LOST, Side};
use crate::log::{Ended, Event};

/// Bytes of the client's that are passed over while it takes the last words, one read each.
const PASSED_OVER: usize = 4 << 10;

/// Reads before others have their turn.
const PASSED_OVER_AT_ONCE: u32 = 16;

/// COM_QUIT, by which a client leaves.
const QUIT: [u8; 5] = [1, 0, 0, 0, CommandByte::QUIT.0];

/// `ER_ACCESS_DENIED_ERROR`.
const ACCESS_DENIED: u16 = 1045;

/// How far the last words are.
enum Said {
    /// The client has heard everything, or has gone.
    All,
    /// There is more to be read away.
    More,
    Waiting,
}

pub(super) struct Farewell {
    words: Vec<u8>,
    sent: usize,
    deadline: Instant,
    is_shut: bool,
    /// The client may be sending something, so that a close could take the last words back.
    waits: bool,
}

impl Farewell {
    pub(super) fn is_overdue(&self, now: Instant) -> bool {
        now >= self.deadline
    }
}

impl Session {
    /// Ends the session: the backend's stream at once, the client's when it has heard why.
    #[cold]
    pub(super) fn end(&mut self, end: End, context: &mut Context<'_>) -> Status {
        let words = match &end {
            End::Failed(failure) if failure.code != 0 => self.last_words(failure),
            _ => Vec::new(),
        };
        let code = match &end {
            End::Failed(failure) if !words.is_empty() => failure.code,
            End::Told(_) => self.code_of_refusal(),
            _ => 0,
        };
        self.log_end(&end, code, context);
        self.note_end(&end, !words.is_empty(), context);
        let says_goodbye = self.may_say_goodbye(&end);
        let waits = self.client_may_be_sending();
        if !is_of_backend(&end) {
            self.leave_unfinished(true, context);
        }
        let is_busy = self.is_in_command();
        self.leave_pool(context);
        if let Some(mut server) = self.server.take() {
            if says_goodbye {
                server.say_last(&mut { QUIT }, context);
            }
            server.leave(is_busy, context);
        }
        (self.place, self.id, self.user_place) = (None, None, None);
        self.up.discard(context.pool);
        let is_lost = matches!(&end, End::Failed(failure) if failure.side == Side::Client && failure.code == 0);
        if self.client.is_closed || is_lost {
            self.down.discard(context.pool);
            return Status::Over;
        }
        self.phase = Phase::Farewell(Farewell {
            words,
            sent: 0,
            deadline: context.now + FAREWELL,
            is_shut: false,
            waits,
        });
        self.say_farewell(context)
    }

    /// The number of the error by which a login was refused, where that was passed on; 0 where it is not known.
    fn code_of_refusal(&self) -> u16 {
        match &self.phase {
            Phase::Login(login) => login.refused_code,
            Phase::PooledLogin(_) => ACCESS_DENIED,
            _ => 0,
        }
    }

    /// Whether the backend may be told by COM_QUIT: its connection is in order, and it is the proxy that ends it. Otherwise it
    /// would count a client that was lost, and say so in its log.
    fn may_say_goodbye(&self, end: &End) -> bool {
        let ends = matches!(end, End::Failed(failure) if failure.side == Side::Proxy || failure.reason == Reason::Idle);
        ends && matches!(self.phase, Phase::Transit) && self.relay.is_idle() && self.up.is_empty()
    }

    /// Whether the client may have something under way to the proxy: a login, the rest of a command, or commands sent ahead. One
    /// that waits for a reply, or for nothing, finds its connection closed in both directions at once, as by a server: a pool
    /// that writes to see whether a connection is still there has to be told so.
    fn client_may_be_sending(&self) -> bool {
        !matches!(self.phase, Phase::Transit | Phase::Pooled(_))
            || !self.relay.client_is_between_payloads()
            || self.relay.outstanding() > 1
            || !self.up.is_empty()
    }

    /// Whether the backend is at a command, or in the middle of one.
    pub(super) fn is_in_command(&self) -> bool {
        matches!(self.phase, Phase::Transit | Phase::Pooled(_)) && !self.relay.is_idle()
    }

    /// Counts and logs it, with the code that the client is told; 0 where it is told none.
    fn note_end(&self, end: &End, is_told: bool, context: &mut Context<'_>) {
        let was_in = match self.phase {
            Phase::Login(_) | Phase::PooledLogin(_) => false,
            Phase::Transit | Phase::Pooled(_) => true,
            Phase::Farewell(_) => return,
        };
        let (reason, failure) = match end {
            End::Clean => return,
            End::Failed(failure) => (failure.reason, Some(failure)),
            End::Told(reason) => (*reason, None),
        };
        let entrance = &mut context.counters.entrances[self.entrance];
        let counts = if was_in {
            &mut entrance.failed
        } else {
            &mut entrance.refused
        };
        counts[reason as usize] += 1;
        let level = match reason {
            Reason::ClientLost
            | Reason::Refused
            | Reason::AccessDenied
            | Reason::Shutdown
            | Reason::Timeout
            | Reason::Idle => Level::Info,
            Reason::OpenFiles => {
                // Of thousands one line is enough.
                context
                    .log
                    .out_of_files("connections to backends fail (error 1040)");
                Level::Debug
            }
            _ => Level::Warn,
        };
        if !context.log.has(level) {
            return;
        }
        let event = Event::SessionEnded(Box::new(Ended {
            level,
            reason,
            code: failure
                .filter(|_| is_told)
                .map_or(0, |failure| failure.code),
            message: match failure {
                Some(failure) => failure.message.clone(),
                None if reason == Reason::AccessDenied => {
                    "the user or the password is wrong".to_owned()
                }
                None => "the backend's own error was passed on".to_owned(),
            },
            client: self.address.to_string(),
            user: String::from_utf8_lossy(&self.user).into_owned(),
            listener: self.listener.config.name.clone(),
            backend: self.backend_name().to_owned(),
            id: self.connection_id(),
            was_in,
        }));
        context.log.event(event);
    }

    /// The error as a packet, where the client can be told: not in the middle of a packet of the backend's.
    ///
    /// Errors of 2000 and on are those of clients' own libraries. libmariadb (10.11.19) gives 2027, malformed packet, where a
    /// server says one, and its own 2013 where the stream just ends, which programs know as a lost connection. So it is not told
    /// that one; other libraries show the words. What names a setting has a server's code, which all of them show.
    fn last_words(&mut self, failure: &crate::failure::Failure) -> Vec<u8> {
        if self.knows_of_losses_itself && failure.code == SERVER_LOST {
            return Vec::new();
        }
        let sequence = match &mut self.phase {
            Phase::Login(login) => return login.last_words(failure),
            Phase::PooledLogin(login) => return login.last_words(failure),
            // The command that waits for a connection was not shown to the relay yet.
            Phase::Pooled(_) if self.relay.is_idle() && !self.up.is_empty() => Some(1),
            Phase::Transit | Phase::Pooled(_) => self.relay.error_sequence(),
            Phase::Farewell(_) => None,
        };
        // What was told to pass and has not left goes first. What has arrived of a packet behind it goes nowhere.
        sequence.map_or_else(Vec::new, |sequence| {
            packet(sequence, &error_payload(failure, true))
        })
    }

    pub(super) fn say_farewell(&mut self, context: &mut Context<'_>) -> Status {
        match self.try_farewell(context) {
            Ok(Said::Waiting) => Status::Waiting,
            Ok(Said::More) => Status::Busy,
            Ok(Said::All) | Err(_) => {
                self.down.discard(context.pool);
                Status::Over
            }
        }
    }

    /// Sends what is left, then reads away what the client has sent, and still sends where it may.
    fn try_farewell(&mut self, context: &mut Context<'_>) -> std::io::Result<Said> {
        let Phase::Farewell(farewell) = &mut self.phase else {
            return Ok(Said::All);
        };
        let client = &mut self.client;
        while let Some(loan) = self.down.loan.as_mut().filter(|_| self.down.cleared > 0) {
            let bytes = &mut loan.buffers.pending_mut()[..self.down.cleared];
            let Some(n) = client.write(bytes, context)? else {
                return Ok(Said::Waiting);
            };
            loan.buffers.forward(n);
            self.down.cleared -= n;
        }
        while farewell.sent < farewell.words.len() {
            let Some(n) = client.write(&mut farewell.words[farewell.sent..], context)? else {
                return Ok(Said::Waiting);
            };
            farewell.sent += n;
        }
        if !client.flush()? {
            return Ok(Said::Waiting);
        }
        // What the client still sends is not looked into.
        let stream = &mut client.stream;
        if !farewell.is_shut {
            farewell.is_shut = stream.shutdown_write()?;
        }
        // A socket that is closed while something waits to be read takes back what it sent.
        let mut passed_over = Buffers::new(BufferConfig {
            initial_read: PASSED_OVER,
            max_read: PASSED_OVER,
            max_buffer: PASSED_OVER,
            idle_keep: 0,
        });
        for _ in 0..PASSED_OVER_AT_ONCE {
            let outcome = stream.read(&mut passed_over)?;
            let n = passed_over.pending().len();
            passed_over.forward(n);
            match outcome {
                ReadOutcome::Bytes { .. } => {}
                ReadOutcome::WouldBlock if farewell.waits => return Ok(Said::Waiting),
                ReadOutcome::WouldBlock => return Ok(Said::All),
                ReadOutcome::Closed => return Ok(Said::All),
            }
        }
        // A client that keeps sending has its time too, and no more.
        Ok(Said::More)
    }
}

/// Whether it is the backend that has ended the session, and not a wait for it.
fn is_of_backend(end: &End) -> bool {
    match end {
        End::Clean => false,
        End::Told(reason) => reason.side() == Side::Backend,
        End::Failed(failure) => {
            failure.side == Side::Backend && failure.reason != Reason::BackendTimeout
        }
    }
}

/// One packet.
pub(super) fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let [a, b, c, ..] = payload.len().to_le_bytes();
    let mut packet = vec![a, b, c, sequence];
    packet.extend_from_slice(payload);
    packet
}
