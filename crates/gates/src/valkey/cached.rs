//! A read that is cached. The client makes its own connection, so the server is a task, on a Unix socket; a hit sends it nothing.

use std::hint::black_box;

use ::tokio::io::{AsyncReadExt, AsyncWriteExt};
use ::tokio::net::{UnixListener, UnixStream};
use ::tokio::runtime::Runtime;
use onecopy_net::Endpoint;
use onecopy_valkey::aio::SharedOptions;
use onecopy_valkey::caching::CacheOptions;
use onecopy_valkey::command::string::get;
use onecopy_valkey::{Config, aio};

use super::{Case, KEY, SMALL};
use crate::peer::valkey::HANDSHAKE;
use crate::workload::{Body, runtime};

pub(crate) struct Cached {
    runtime: Runtime,
    cached: aio::Cached,
}

impl Cached {
    /// With one value, which is cached.
    pub(crate) fn new() -> Self {
        let runtime = runtime();
        let path =
            std::env::temp_dir().join(format!("onecopy-gates-cached-{}", std::process::id()));
        let cached = runtime.block_on(async {
            let listener = UnixListener::bind(&path).expect("a socket");
            ::tokio::spawn(async move {
                let (stream, _) = listener.accept().await.expect("a client");
                serve(stream).await;
            });
            let mut config = Config::default();
            config.endpoint = Endpoint::Unix(path.clone());
            let (options, caching) = (SharedOptions::default(), CacheOptions::default());
            let cached = aio::Cached::connect_with(&config, options, caching).await;
            let cached = cached.expect("a handshake");
            let read = cached.read(&get(KEY)).await.expect("a reply");
            assert_eq!(read.get().expect("a value").map(<[u8]>::len), Some(SMALL));
            cached
        });
        std::fs::remove_file(&path).expect("the socket was there");
        assert_eq!(cached.stats().entries, 1);
        Self { runtime, cached }
    }
}

/// The handshake, CLIENT TRACKING and one GET; then it listens to the end.
async fn serve(mut stream: UnixStream) {
    let mut requests = vec![0; 4 << 10];
    for reply in [HANDSHAKE, b"+OK\r\n", &Case::Get.reply()] {
        let n = stream.read(&mut requests).await.expect("requests");
        assert!(n > 0, "the client has gone");
        stream.write_all(reply).await.expect("a client that reads");
    }
    while stream.read(&mut requests).await.expect("requests") > 0 {}
}

impl Body for Cached {
    fn run(&mut self, iterations: u64) {
        let Self { runtime, cached } = self;
        runtime.block_on(async {
            for _ in 0..iterations {
                let hit = cached.read(&get(black_box(KEY))).await.expect("a reply");
                let value = hit.get().expect("a value");
                assert_eq!(value.map(<[u8]>::len), Some(SMALL));
            }
        });
    }

    fn metered(&self) -> Option<u64> {
        None
    }
}
