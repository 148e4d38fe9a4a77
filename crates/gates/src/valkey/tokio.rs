//! The same over tokio: pipelines.

use std::hint::black_box;

use ::tokio::runtime::Runtime;
use onecopy_valkey::aio::{Connection, Stream};
use onecopy_valkey::command::string::{Get, Set, get, set};

use super::{Case, DEPTH, KEY, SMALL, config};
use crate::workload::{Body, runtime};

pub(crate) struct Tokio {
    runtime: Runtime,
    conn: Connection,
    case: Case,
    value: Vec<u8>,
}

impl Tokio {
    /// Of SET or GET.
    pub(crate) fn new(case: Case) -> Self {
        let runtime = runtime();
        let conn = runtime.block_on(async {
            let stream = Stream::own(case.peer());
            let conn = Connection::from_stream(&config(), stream).await;
            conn.expect("a handshake")
        });
        Self {
            runtime,
            conn,
            case,
            value: vec![b'x'; SMALL],
        }
    }
}

async fn sets(conn: &mut Connection, value: &[u8]) {
    let mut pipeline = conn.pipeline().expect("a pipeline");
    for _ in 0..DEPTH {
        pipeline
            .push(&set(black_box(KEY), value))
            .expect("a command");
    }
    let mut replies = pipeline.replies();
    for _ in 0..DEPTH {
        replies.next::<Set>().await.expect("a reply").expect("OK");
    }
}

async fn gets(conn: &mut Connection) {
    let mut pipeline = conn.pipeline().expect("a pipeline");
    for _ in 0..DEPTH {
        pipeline.push(&get(black_box(KEY))).expect("a command");
    }
    let mut replies = pipeline.replies();
    for _ in 0..DEPTH {
        let got = replies.next::<Get>().await.expect("a reply");
        assert_eq!(got.expect("a value").map(<[u8]>::len), Some(SMALL));
    }
}

impl Body for Tokio {
    fn run(&mut self, iterations: u64) {
        let Self {
            runtime,
            conn,
            case,
            value,
        } = self;
        runtime.block_on(async {
            for _ in 0..iterations {
                match case {
                    Case::Set => sets(conn, value).await,
                    _ => gets(conn).await,
                }
            }
        });
    }

    fn metered(&self) -> Option<u64> {
        Some(self.conn.meter().copied())
    }
}
