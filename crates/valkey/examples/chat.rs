//! A chat over sharded subscriptions: lines from standard input are published in a room, and what others say there is printed. Each room
//! is a sharded channel, so in a cluster it costs only the nodes of its slot anything, and readers follow it when it moves.
//!
//!     cargo run -p onecopy-valkey --features tokio --example chat -- redis+cluster://node-a,node-b kitchen Ann
//!     cargo run -p onecopy-valkey --features tokio --example chat -- redis://localhost kitchen Bob

use std::io::BufRead;

use onecopy_valkey::Error;
use onecopy_valkey::aio::{Cluster, ClusterSubscription, Shared, Subscription};
use onecopy_valkey::command::pubsub::spublish;
use onecopy_valkey::pubsub::{Delivery, OwnedMessage};

/// A cluster, or one server.
enum Client {
    Cluster(Cluster),
    Server(Shared),
}

enum Room {
    InCluster(ClusterSubscription),
    OnServer(Subscription),
}

impl Client {
    async fn connect(url: &str) -> Result<Self, Error> {
        Ok(match url.contains("+cluster://") {
            true => Self::Cluster(Cluster::connect(url).await?),
            false => Self::Server(Shared::connect(url).await?),
        })
    }

    async fn enter(&self, channel: &str) -> Result<Room, Error> {
        Ok(match self {
            Self::Cluster(cluster) => Room::InCluster(cluster.ssubscribe(channel).await?),
            Self::Server(shared) => Room::OnServer(shared.ssubscribe(channel).await?),
        })
    }

    /// Returns the number of connections that heard it.
    async fn say(&self, channel: &str, text: String) -> Result<i64, Error> {
        let publish = spublish(channel, text);
        match self {
            Self::Cluster(cluster) => cluster.run(&publish).await?.get(),
            Self::Server(shared) => shared.run(&publish).await?.get(),
        }
    }

    async fn close(&self) {
        match self {
            Self::Cluster(cluster) => cluster.close().await,
            Self::Server(shared) => shared.close().await,
        }
    }
}

impl Room {
    async fn next(&mut self) -> Result<Delivery<OwnedMessage>, Error> {
        match self {
            Self::InCluster(room) => room.next().await,
            Self::OnServer(room) => room.next().await,
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let url = args.next().or_else(|| std::env::var("VALKEY_URL").ok());
    let url = url.unwrap_or_else(|| "redis://localhost".into());
    let mut next = |default: &str| args.next().unwrap_or_else(|| default.into());
    let (room, name) = (next("kitchen"), next("somebody"));
    let channel = format!("onecopy:chat:{room}");
    let client = Client::connect(&url).await?;
    let mut others = client.enter(&channel).await?;
    println!("(you are in the {room})");
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
        let heard = client.say(&channel, format!("{name}: {line}")).await?;
        println!("({heard} connections are in the room)");
    }
    client.close().await;
    printer.await?;
    Ok(())
}
