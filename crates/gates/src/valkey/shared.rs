//! 32 tasks on a shared handle. It makes its own connection, so the server is a task beside them, on a Unix socket.

use std::hint::black_box;

use ::tokio::io::{AsyncReadExt, AsyncWriteExt};
use ::tokio::net::{UnixListener, UnixStream};
use ::tokio::runtime::Runtime;
use ::tokio::task::JoinSet;
use onecopy_net::Endpoint;
use onecopy_valkey::aio::SharedOptions;
use onecopy_valkey::command::string::get;
use onecopy_valkey::{Config, aio};

use super::{Case, DEPTH, KEY, SMALL};
use crate::peer::Peer;
use crate::peer::valkey::ValkeyPeer;
use crate::workload::{Body, runtime};

pub(crate) struct Shared {
    runtime: Runtime,
    handle: aio::Shared,
}

impl Shared {
    /// Each task gets one value after the other.
    pub(crate) fn new() -> Self {
        let runtime = runtime();
        let path = std::env::temp_dir().join(format!("onecopy-gates-{}", std::process::id()));
        let handle = runtime.block_on(async {
            let listener = UnixListener::bind(&path).expect("a socket");
            ::tokio::spawn(async move {
                let (stream, _) = listener.accept().await.expect("a client");
                serve(stream).await;
            });
            let mut config = Config::default();
            config.endpoint = Endpoint::Unix(path.clone());
            let handle = aio::Shared::connect_with(&config, SharedOptions::default()).await;
            handle.expect("a handshake")
        });
        std::fs::remove_file(&path).expect("the socket was there");
        Self { runtime, handle }
    }
}

#[inline(never)]
async fn serve(mut stream: UnixStream) {
    let mut peer = ValkeyPeer::new(&Case::Get.request(), &Case::Get.reply(), DEPTH);
    let (mut requests, mut replies) = (vec![0; 64 << 10], vec![0; 64 << 10]);
    while let n @ 1.. = stream.read(&mut requests).await.expect("requests") {
        peer.take(&[std::io::IoSlice::new(&requests[..n])]);
        while peer.is_due() {
            let given = peer.give(&mut [std::io::IoSliceMut::new(&mut replies)]);
            let sent = stream.write_all(&replies[..given]).await;
            sent.expect("a client that reads");
        }
    }
}

impl Body for Shared {
    fn run(&mut self, iterations: u64) {
        let Self { runtime, handle } = self;
        runtime.block_on(async {
            let mut tasks = JoinSet::new();
            for _ in 0..DEPTH {
                let handle = handle.clone();
                tasks.spawn(async move {
                    for _ in 0..iterations {
                        let got = handle.run(&get(black_box(KEY))).await.expect("a reply");
                        let value = got.get().expect("a value");
                        assert_eq!(value.map(<[u8]>::len), Some(SMALL));
                    }
                });
            }
            tasks.join_all().await;
        });
    }

    fn metered(&self) -> Option<u64> {
        Some(self.handle.meter().copied())
    }
}
