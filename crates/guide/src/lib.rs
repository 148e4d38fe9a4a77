//! The pages of `docs/guide`, as documentation whose programs are compiled by `cargo test -p onecopy-guide`.
#![forbid(unsafe_code)]

macro_rules! pages {
    ($($name:ident $file:literal)*) => {
        $(
            #[doc = include_str!(concat!("../../../docs/guide/", $file))]
            pub mod $name {}
        )*
    };
}

pages! {
    connect "connect.md"
    query "query.md"
    map "map.md"
    transactions "transactions.md"
    bulk "bulk.md"
    from_sqlx "from-sqlx.md"
    from_mysql_async "from-mysql_async.md"
    from_redis_rs "from-redis-rs.md"
    from_fred "from-fred.md"
    stream "stream.md"
    blobs "blobs.md"
    cancel "cancel.md"
    cursors "cursors.md"
    load_and_dump "load-and-dump.md"
    observe "observe.md"
    parameters "parameters.md"
    pipelines "pipelines.md"
    pool "pool.md"
    servers "servers.md"
    tls "tls.md"
    topology "topology.md"
    troubleshooting "troubleshooting.md"
    valkey_caching "valkey-caching.md"
    valkey_cluster "valkey-cluster.md"
    valkey_errors "valkey-errors.md"
    valkey_observe "valkey-observe.md"
    valkey_pipelines "valkey-pipelines.md"
    valkey_pool "valkey-pool.md"
    valkey_scripts "valkey-scripts.md"
    valkey_sentinel "valkey-sentinel.md"
    valkey_streams "valkey-streams.md"
    valkey_subscriptions "valkey-subscriptions.md"
    valkey_values "valkey-values.md"
}
