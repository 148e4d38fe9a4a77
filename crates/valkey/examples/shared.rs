//! Many tasks on one connection.
//!
//!     cargo run -p onecopy-valkey --features tokio --example shared -- redis://localhost

use onecopy_valkey::Error;
use onecopy_valkey::aio::Shared;
use onecopy_valkey::command::string;

#[tokio::main]
async fn main() -> Result<(), Error> {
    let url = std::env::args().nth(1);
    let url = url.unwrap_or_else(|| "redis://localhost".into());
    let shared = Shared::connect(&url).await?;
    let mut tasks = Vec::new();
    for task in 0..100 {
        let shared = shared.clone();
        tasks.push(tokio::spawn(async move {
            let key = format!("onecopy:task:{task}");
            shared.run(&string::set(&key, task).ex(60)).await?;
            let kept = shared.run(&string::get(&key)).await?;
            Ok::<_, Error>(kept.into_bytes().map_or(0, |bytes| bytes.len()))
        }));
    }
    let mut bytes = 0;
    for task in tasks {
        bytes += task.await.expect("no task panics")?;
    }
    println!("{bytes} bytes by 100 tasks over one connection");
    println!("{}", shared.meter());
    shared.close().await;
    Ok(())
}
