//! `onecopy_valkey::blocking`.

use std::hint::black_box;

use onecopy_valkey::blocking::{Connection, Stream};
use onecopy_valkey::command::connection::ping;
use onecopy_valkey::command::string::{Get, Set, get, set};

use super::{Case, DEPTH, KEY, LARGE, SMALL, config};
use crate::workload::Body;

pub(crate) struct Blocking {
    conn: Connection,
    case: Case,
    value: Vec<u8>,
}

impl Blocking {
    pub(crate) fn new(case: Case) -> Self {
        let stream = Stream::own(case.peer());
        Self {
            conn: Connection::from_stream(&config(), stream).expect("a handshake"),
            case,
            value: vec![b'x'; SMALL],
        }
    }

    #[inline]
    fn set(&mut self) {
        let mut pipeline = self.conn.pipeline().expect("a pipeline");
        for _ in 0..DEPTH {
            pipeline
                .push(&set(black_box(KEY), &self.value))
                .expect("a command");
        }
        let mut replies = pipeline.replies();
        for _ in 0..DEPTH {
            replies.next::<Set>().expect("a reply").expect("OK");
        }
    }

    #[inline]
    fn get(&mut self) {
        let mut pipeline = self.conn.pipeline().expect("a pipeline");
        for _ in 0..DEPTH {
            pipeline.push(&get(black_box(KEY))).expect("a command");
        }
        let mut replies = pipeline.replies();
        for _ in 0..DEPTH {
            let got = replies.next::<Get>().expect("a reply").expect("a value");
            assert_eq!(got.map(<[u8]>::len), Some(SMALL));
        }
    }
}

impl Body for Blocking {
    fn run(&mut self, iterations: u64) {
        for _ in 0..iterations {
            match self.case {
                Case::Ping => {
                    self.conn.run(&ping()).expect("PONG");
                }
                Case::Set => self.set(),
                Case::Get => self.get(),
                Case::GetLarge => {
                    let got = self.conn.run_into(&get(black_box(KEY)), &mut self.value);
                    got.expect("a value");
                    assert_eq!(self.value.len(), LARGE);
                }
            }
        }
    }

    fn metered(&self) -> Option<u64> {
        Some(self.conn.meter().copied())
    }
}
