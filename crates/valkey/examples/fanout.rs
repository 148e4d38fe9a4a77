//! Measures what a message costs that many readers of one handle get.
//!
//!     cargo run --release -p onecopy-valkey --features tokio --example fanout -- redis://localhost 1000 1000 100
//!
//! The arguments behind the URL: readers, messages, bytes of a payload.

use std::time::{Duration, Instant};

use onecopy_valkey::Error;
use onecopy_valkey::aio::{Connection, Shared, Subscriber};
use onecopy_valkey::command::pubsub::publish;
use onecopy_valkey::pubsub::Delivery;

/// CPU time of this process.
fn cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let behind_name = stat.rsplit(") ").next().unwrap_or_default();
    let ticks = behind_name.split(' ').skip(11).take(2);
    let ticks: u64 = ticks.filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10) // a hundred ticks are a second
}

async fn publish_all(url: &str, messages: usize, payload: &str) -> Result<(), Error> {
    let mut publisher = Connection::connect(url).await?;
    for _ in 0..messages.div_ceil(100) {
        let mut pipeline = publisher.pipeline()?;
        for _ in 0..100 {
            pipeline.push(&publish("onecopy:fanout", payload))?;
        }
        let mut replies = pipeline.replies();
        while replies.next_reply().await?.is_some() {}
    }
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let mut args = std::env::args().skip(1);
    let url = args.next().unwrap_or_else(|| "redis://localhost".into());
    let mut number = |default: usize| {
        let given = args.next().and_then(|arg| arg.parse().ok());
        given.unwrap_or(default)
    };
    let (readers, messages, bytes) = (number(1_000), number(1_000), number(100));
    let messages = messages.div_ceil(100) * 100;
    let payload = "x".repeat(bytes);

    let shared = Shared::connect(&url).await?;
    let mut tasks = Vec::new();
    for _ in 0..readers {
        let mut subscription = shared.subscribe("onecopy:fanout").await?;
        tasks.push(tokio::spawn(async move {
            let (mut heard, mut lost) = (0, 0);
            while heard + lost < messages {
                match subscription.next().await {
                    Ok(Delivery::Message(_)) => heard += 1,
                    Ok(Delivery::Gap(_)) => {
                        lost = usize::try_from(subscription.dropped()).unwrap_or(0)
                    }
                    Err(_) => break,
                }
            }
            lost
        }));
    }
    let (before, began, meter) = (cpu(), Instant::now(), shared.meter());
    publish_all(&url, messages, &payload).await?;
    let mut lost = 0;
    for task in tasks {
        lost += task.await.unwrap_or_default();
    }
    let copied = shared.meter().since(&meter).bytes_copied_to_owned;
    let deliveries = (readers * messages) as f64;
    println!(
        "shared: {readers} readers, {messages} messages of {bytes} bytes: {:.0} ns and {:.0} ns of CPU a delivery, {:.0} bytes copied a \
         message, {lost} lost",
        began.elapsed().as_nanos() as f64 / deliveries,
        (cpu() - before).as_nanos() as f64 / deliveries,
        copied as f64 / messages as f64,
    );

    let mut subscriber = Subscriber::connect(&url).await?;
    subscriber.subscribe("onecopy:fanout").await?;
    let many = messages.max(100_000);
    let publisher = {
        let url = url.clone();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            runtime.is_ok_and(|runtime| runtime.block_on(publish_all(&url, many, &payload)).is_ok())
        })
    };
    let (before, began) = (cpu(), Instant::now());
    for _ in 0..many {
        subscriber.next().await?;
    }
    println!(
        "subscriber: {many} messages: {:.0} ns and {:.0} ns of CPU a message, the publisher's included; {} bytes copied",
        began.elapsed().as_nanos() as f64 / many as f64,
        (cpu() - before).as_nanos() as f64 / many as f64,
        subscriber.meter().bytes_copied_to_owned,
    );
    publisher.join().unwrap_or_default();
    Ok(())
}
