//! Many callers at once.

use std::time::Duration;

use onecopy_valkey::command::{generic, list, string};

use super::{Connection, Pool};
use crate::common::{url, with_option};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_have_their_own_answers_and_blocking_commands_hold_up_nobody() {
    let prefix = face_name!("pool:lending");
    let pool = Pool::from_url(&with_option(&url(), "pool-max=4")).unwrap();
    let jobs = format!("{prefix}:jobs");
    let mut admin = wait!(Connection::connect(&url())).unwrap();
    wait!(admin.run(&generic::del([&jobs[..]]))).unwrap();
    let (blocked, list) = (pool.clone(), jobs.clone());
    let blocked = spawn!({
        let mut conn = wait!(blocked.get()).unwrap();
        let popped = wait!(conn.run(&list::blpop([&list[..]], 0.0))).unwrap();
        popped.map(|(_, job)| job.to_vec())
    });
    while pool.stats().in_use < 1 {
        pause!(Duration::from_millis(1));
    }
    let mut tasks = Vec::new();
    for task in 0..12 {
        let pool = pool.clone();
        tasks.push(spawn!({
            let key = format!("{prefix}:{task}");
            for round in 0..40 {
                let value = format!("{round} of {task}");
                let mut conn = wait!(pool.get()).unwrap();
                wait!(conn.run(&string::set(&key, &value[..]))).unwrap();
                drop(conn);
                let mut conn = wait!(pool.get()).unwrap();
                let got = wait!(conn.run(&string::get(&key))).unwrap();
                assert_eq!(got, Some(value.as_bytes()));
            }
        }));
    }
    for task in tasks {
        join!(task);
    }
    wait!(admin.run(&list::rpush(&jobs, ["job"]))).unwrap();
    assert_eq!(join!(blocked).as_deref(), Some(&b"job"[..]));
    let stats = pool.stats();
    assert!(
        stats.connects <= 4 && stats.closed.total() == 0,
        "{stats:?}"
    );
    wait!(pool.close());
}
