//! A chat: lines from standard input are published in a room, and what others say there is printed.
//!
//!     cargo run -p onecopy-valkey --features tokio --example chat -- redis://localhost kitchen Ann

use std::io::BufRead;

use onecopy_valkey::aio::Shared;
use onecopy_valkey::command::pubsub::publish;
use onecopy_valkey::pubsub::Delivery;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let mut next = |default: &str| args.next().unwrap_or_else(|| default.into());
    let (url, room, name) = (next("redis://localhost"), next("kitchen"), next("somebody"));
    let channel = format!("onecopy:chat:{room}");
    let shared = Shared::connect(&url).await?;
    let mut others = shared.subscribe(&channel).await?;
    let printer = tokio::spawn(async move {
        loop {
            match others.next().await {
                Ok(Delivery::Message(message)) => {
                    // What others have written must not move the cursor.
                    println!("{}", message.payload().escape_ascii());
                }
                Ok(Delivery::Gap(gap)) => println!("(you may have missed something: {gap})"),
                Err(_) => return, // the handle is closed
            }
        }
    });
    let (sender, mut lines) = tokio::sync::mpsc::channel(1);
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    while let Some(line) = lines.recv().await {
        let said = format!("{name}: {line}");
        let heard = shared.run(&publish(&channel, said)).await?.get()?;
        println!("({heard} connections are in the room)");
    }
    shared.close().await;
    printer.await?;
    Ok(())
}
