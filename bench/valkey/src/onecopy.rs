//! onecopy: both APIs, and 32 tasks on a shared handle.

use std::io::Read;

use ::tokio::io::AsyncReadExt;
use futures_util::future::join_all;
use onecopy_valkey::command::string::{Get, Set, get, set};
use onecopy_valkey::{aio, blocking};

use crate::workload::{DEPTH, KEY, LARGE, LARGE_KEY, Laps, SMALL, Workload, runtime, value};

pub(crate) fn blocking(url: &str, workload: Workload, requests: usize) {
    if workload.is_large() {
        let mut conn = blocking::Connection::connect(url).expect("a connection");
        let (mut reused, mut piece) = (Vec::new(), vec![0; 256 << 10]);
        let mut laps = Laps::start();
        for _ in 0..requests {
            match workload {
                Workload::GetLarge => {
                    let got = conn
                        .run_owned(&get(LARGE_KEY))
                        .expect("a value")
                        .into_bytes();
                    assert_eq!(got.len(), LARGE);
                }
                Workload::GetLargeReuse => {
                    conn.run_into(&get(LARGE_KEY), &mut reused)
                        .expect("a value");
                    assert_eq!(reused.len(), LARGE);
                }
                _ => {
                    let mut got = conn
                        .run_streaming(&get(LARGE_KEY))
                        .expect("a reply")
                        .expect("a value");
                    let mut bytes = 0;
                    while let n @ 1.. = got.read(&mut piece).expect("a piece") {
                        bytes += n;
                    }
                    assert_eq!(bytes, LARGE);
                }
            }
            laps.lap();
        }
    } else {
        blocking_batches(url, workload)(requests / DEPTH);
    }
}

/// What runs so many batches of small requests, on a connection of its own.
pub(crate) fn blocking_batches(url: &str, workload: Workload) -> impl FnMut(usize) + use<> {
    let mut conn = blocking::Connection::connect(url).expect("a connection");
    let value = value();
    move |batches| {
        for _ in 0..batches {
            let mut pipeline = conn.pipeline().expect("a pipeline");
            if workload == Workload::Set {
                for _ in 0..DEPTH {
                    pipeline.push(&set(KEY, &value)).expect("a command");
                }
                let mut replies = pipeline.replies();
                for _ in 0..DEPTH {
                    replies.next::<Set>().expect("a reply").expect("OK");
                }
            } else {
                for _ in 0..DEPTH {
                    pipeline.push(&get(KEY)).expect("a command");
                }
                let mut replies = pipeline.replies();
                for _ in 0..DEPTH {
                    let got = replies.next::<Get>().expect("a reply").expect("a value");
                    assert_eq!(got.map(<[u8]>::len), Some(SMALL));
                }
            }
        }
    }
}

pub(crate) fn tokio(url: &str, workload: Workload, requests: usize) {
    if workload.is_large() {
        runtime().block_on(async {
            let mut conn = aio::Connection::connect(url).await.expect("a connection");
            let (mut reused, mut piece) = (Vec::new(), vec![0; 256 << 10]);
            let mut laps = Laps::start();
            for _ in 0..requests {
                match workload {
                    Workload::GetLarge => {
                        let got = conn.run_owned(&get(LARGE_KEY)).await.expect("a value");
                        assert_eq!(got.into_bytes().len(), LARGE);
                    }
                    Workload::GetLargeReuse => {
                        conn.run_into(&get(LARGE_KEY), &mut reused)
                            .await
                            .expect("a value");
                        assert_eq!(reused.len(), LARGE);
                    }
                    _ => {
                        let got = conn.run_streaming(&get(LARGE_KEY)).await.expect("a reply");
                        let mut got = got.expect("a value");
                        let mut bytes = 0;
                        while let n @ 1.. = got.read(&mut piece).await.expect("a piece") {
                            bytes += n;
                        }
                        assert_eq!(bytes, LARGE);
                    }
                }
                laps.lap();
            }
        });
    } else {
        tokio_batches(url, workload)(requests / DEPTH);
    }
}

/// What runs so many batches of small requests, on a connection and a runtime of its own.
pub(crate) fn tokio_batches(url: &str, workload: Workload) -> impl FnMut(usize) + use<> {
    let runtime = runtime();
    let mut conn = runtime
        .block_on(aio::Connection::connect(url))
        .expect("a connection");
    let value = value();
    move |batches| {
        runtime.block_on(async {
            for _ in 0..batches {
                let mut pipeline = conn.pipeline().expect("a pipeline");
                if workload == Workload::Set {
                    for _ in 0..DEPTH {
                        pipeline.push(&set(KEY, &value)).expect("a command");
                    }
                    let mut replies = pipeline.replies();
                    for _ in 0..DEPTH {
                        replies.next::<Set>().await.expect("a reply").expect("OK");
                    }
                } else {
                    for _ in 0..DEPTH {
                        pipeline.push(&get(KEY)).expect("a command");
                    }
                    let mut replies = pipeline.replies();
                    for _ in 0..DEPTH {
                        let got = replies.next::<Get>().await.expect("a reply");
                        assert_eq!(got.expect("a value").map(<[u8]>::len), Some(SMALL));
                    }
                }
            }
        });
    }
}

pub(crate) fn shared(url: &str, workload: Workload, requests: usize) {
    runtime().block_on(async {
        let shared = aio::Shared::connect(url).await.expect("a connection");
        join_all((0..DEPTH).map(|_| {
            let shared = shared.clone();
            ::tokio::spawn(async move {
                let value = value();
                for _ in 0..requests / DEPTH {
                    if workload == Workload::Set {
                        shared.run(&set(KEY, &value)).await.expect("a reply");
                    } else {
                        let got = shared.run(&get(KEY)).await.expect("a reply");
                        let got = got.get().expect("a string");
                        assert_eq!(got.map(<[u8]>::len), Some(SMALL));
                    }
                }
            })
        }))
        .await;
    });
}
