//! Handing out an idle connection and taking it back allocates nothing.

use onecopy_mysql::{aio, blocking};
use onecopy_testkit::alloc::Watch;
use onecopy_testkit::server::test_server;

fn url() -> String {
    format!("{}?pool-max=2", test_server().url())
}

#[test]
fn a_blocking_checkout_of_an_idle_connection_allocates_nothing() {
    let pool = blocking::Pool::from_url(&url()).unwrap();
    pool.get().unwrap().ping().unwrap();
    // Restored.
    drop(pool.get().unwrap());
    let watch = Watch::above(0);
    watch.run(|| drop(pool.get().unwrap()));
    assert_eq!(watch.large(), 0);
}

#[test]
fn a_checkout_of_an_idle_connection_allocates_nothing() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let pool = aio::Pool::from_url(&url()).unwrap();
        pool.get().await.unwrap().ping().await.unwrap();
        drop(pool.get().await.unwrap());
        let watch = Watch::above(0);
        let conn = watch.poll(pool.get()).await.unwrap();
        watch.run(|| drop(conn));
        assert_eq!(watch.large(), 0);
    });
}
