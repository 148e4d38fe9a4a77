//! Checkouts of an idle connection from pools, with nothing done in between.
//!
//! `onecopy-pool-peers POOL URL CHECKOUTS`, POOL one of those below. `bench/pool.py` counts their instructions.
#![forbid(unsafe_code)]

use std::time::Duration;

use mysql_async::{Opts, OptsBuilder, PoolOpts};
use onecopy_mysql::{Config, aio, blocking};
use sqlx::mysql::{MySqlConnectOptions, MySqlPoolOptions, MySqlSslMode};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [pool, url, checkouts] = args.as_slice() else {
        eprintln!("usage: onecopy-pool-peers POOL URL CHECKOUTS");
        std::process::exit(2);
    };
    let checkouts: u64 = checkouts.parse().expect("a number of checkouts");
    if pool == "onecopy" {
        return onecopy(url, checkouts);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        match pool.as_str() {
            "onecopy-tokio" => onecopy_tokio(url, checkouts).await,
            "sqlx" => sqlx(url, checkouts, true).await,
            "sqlx-untested" => sqlx(url, checkouts, false).await,
            "mysql-async" => mysql_async(url, checkouts, true).await,
            "mysql-async-unreset" => mysql_async(url, checkouts, false).await,
            "deadpool" => deadpool(checkouts).await,
            other => panic!("there is no pool {other}"),
        }
    });
}

fn onecopy(url: &str, checkouts: u64) {
    let pool = blocking::Pool::from_url(url).expect("a pool");
    for _ in 0..checkouts {
        drop(pool.get().expect("a connection"));
    }
}

async fn onecopy_tokio(url: &str, checkouts: u64) {
    let pool = aio::Pool::from_url(url).expect("a pool");
    for _ in 0..checkouts {
        drop(pool.get().await.expect("a connection"));
    }
}

/// `tests`: it pings at each checkout, its default.
async fn sqlx(url: &str, checkouts: u64, tests: bool) {
    let config = Config::from_url(url).expect("a url");
    let onecopy_mysql::Endpoint::Tcp { host, port } = config.endpoint else {
        panic!("a server on TCP");
    };
    let options = MySqlConnectOptions::new()
        .host(&host)
        .port(port)
        .username(&config.user)
        .password(password(url))
        .ssl_mode(MySqlSslMode::Disabled);
    let pool = MySqlPoolOptions::new().max_connections(1).test_before_acquire(tests).connect_with(options);
    let pool = pool.await.expect("a pool");
    for _ in 0..checkouts {
        drop(pool.acquire().await.expect("a connection"));
    }
}

/// `resets`: it resets the session of each returned connection, its default.
async fn mysql_async(url: &str, checkouts: u64, resets: bool) {
    let options = OptsBuilder::from_opts(Opts::from_url(url).expect("a url"));
    let options = options.pool_opts(PoolOpts::default().with_reset_connection(resets));
    let pool = mysql_async::Pool::new(options);
    for _ in 0..checkouts {
        drop(pool.get_conn().await.expect("a connection"));
    }
}

/// The pool alone: its manager does nothing.
async fn deadpool(checkouts: u64) {
    struct Nothing;
    impl deadpool::managed::Manager for Nothing {
        type Type = Box<u64>;
        type Error = std::convert::Infallible;

        async fn create(&self) -> Result<Box<u64>, Self::Error> {
            Ok(Box::new(0))
        }

        async fn recycle(
            &self,
            _: &mut Box<u64>,
            _: &deadpool::managed::Metrics,
        ) -> deadpool::managed::RecycleResult<Self::Error> {
            Ok(())
        }
    }
    let pool = deadpool::managed::Pool::builder(Nothing)
        .runtime(deadpool::Runtime::Tokio1)
        .wait_timeout(Some(Duration::from_secs(30)));
    let pool: deadpool::managed::Pool<Nothing> = pool.max_size(1).build().expect("a pool");
    for _ in 0..checkouts {
        drop(pool.get().await.expect("an object"));
    }
}

/// Of a test server's URL, where it needs no decoding.
fn password(url: &str) -> &str {
    let login = url.split("//").nth(1).and_then(|rest| rest.split('@').next());
    login.and_then(|login| login.split(':').nth(1)).unwrap_or_default()
}
