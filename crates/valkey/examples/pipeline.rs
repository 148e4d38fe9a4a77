//! One command, and several that leave in one write.
//!
//!     cargo run -p onecopy-valkey --example pipeline -- redis://localhost

use onecopy_valkey::Error;
use onecopy_valkey::blocking::Connection;
use onecopy_valkey::command::string;

fn main() -> Result<(), Error> {
    let url = std::env::args().nth(1);
    let url = url.unwrap_or_else(|| "redis://localhost".into());
    let mut conn = Connection::connect(&url)?;
    conn.run(&string::set("onecopy:greeting", "hello").ex(60))?;
    let greeting: Option<&[u8]> = conn.run(&string::get("onecopy:greeting"))?;
    println!("{}", greeting.unwrap_or_default().escape_ascii());

    let mut pipeline = conn.pipeline()?;
    for _ in 0..3 {
        pipeline.push(&string::incr("onecopy:visits"))?;
    }
    let mut replies = pipeline.replies();
    while let Some(visits) = replies.next::<string::Incr>()? {
        println!("visit {visits}");
    }
    drop(replies);
    println!("{}", conn.meter());
    Ok(())
}
