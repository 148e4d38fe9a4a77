//! Cache-aside with two levels: values are in the process, then on the server, then in a database. A change in any process is seen in all
//! of them, as the server says which keys have changed.
//!
//!     cargo run -p onecopy-valkey --features caching --example cache_aside -- redis://localhost

use std::collections::HashMap;
use std::sync::Mutex;

use onecopy_valkey::Error;
use onecopy_valkey::aio::Cached;
use onecopy_valkey::command::{generic, string};

/// A value on the server is read from the database again after five minutes at the latest, whatever went wrong.
const SECONDS: i64 = 300;

/// What is slow to read: a database in a real program.
#[derive(Default)]
struct Database {
    prices: HashMap<u32, u32>,
    reads: u32,
}

struct Prices {
    cached: Cached,
    database: Mutex<Database>,
}

impl Prices {
    async fn get(&self, product: u32) -> Result<u32, Error> {
        let key = key(product);
        let known = self.cached.read(&string::get(&key)).await?;
        if let Some(price) = known.get()? {
            return Ok(parse(price));
        }
        let price = {
            let mut database = self.database.lock().expect("nobody panics");
            database.reads += 1;
            database.prices.get(&product).copied().unwrap_or_default()
        };
        // Not over a newer one: another process may have been faster.
        let set = string::set(&key, price).ex(SECONDS).nx();
        self.cached.run(&set).await?;
        Ok(price)
    }

    async fn change(&self, product: u32, price: u32) -> Result<(), Error> {
        let database = || self.database.lock().expect("nobody panics");
        database().prices.insert(product, price);
        // Delete, not set: of two changes at the same time the older one could be set last.
        self.cached.run(&generic::del([key(product)])).await?;
        Ok(())
    }
}

fn key(product: u32) -> String {
    format!("onecopy:price:{product}")
}

fn parse(price: &[u8]) -> u32 {
    let text = std::str::from_utf8(price).unwrap_or_default();
    text.parse().unwrap_or_default()
}

/// The first argument, else the variable VALKEY_URL.
fn url() -> String {
    let url = std::env::args().nth(1);
    let url = url.or_else(|| std::env::var("VALKEY_URL").ok());
    url.unwrap_or_else(|| "redis://localhost".into())
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let prices = Prices {
        cached: Cached::connect(&url()).await?,
        database: Mutex::default(),
    };
    for product in 0..10 {
        prices.change(product, 100 + product).await?;
    }
    for read in 0..1_000 {
        let product = read % 10;
        assert_eq!(prices.get(product).await?, 100 + product);
    }
    prices.change(7, 99).await?;
    println!("product 7 costs {}", prices.get(7).await?);

    let reads = prices.database.lock().expect("nobody panics").reads;
    let stats = prices.cached.stats();
    println!("1001 reads: {reads} of the database");
    println!(
        "{} reads asked nobody, {} the server",
        stats.hits, stats.misses
    );
    for product in 0..10 {
        prices.cached.run(&generic::del([key(product)])).await?;
    }
    prices.cached.shared().close().await;
    Ok(())
}
