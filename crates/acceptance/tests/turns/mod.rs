//! A server and tools in turns on one database: random writes, refused writes, tools, kills and restarts. What a search
//! shows, what slapcat shows and a model are equal after each step, and at the end the file is sound.
//!
//! `IRONBARK_TURNS` says how many operations are made at least. A schedule that fails is told with its number, which
//! `IRONBARK_TURNS_FROM` takes as the first one.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "clippy knows test functions, but not what they call"
)]

mod change;
mod model;
mod schedule;
mod site;
mod tools;

use schedule::Schedule;

/// Numbers that look random and are the same in each run.
struct Random(u64);

impl Random {
    /// A number below `end`.
    fn below(&mut self, end: u8) -> u8 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        u8::try_from((self.0 >> 11) % u64::from(end)).unwrap()
    }
}

fn number_in(variable: &str, default: u64) -> u64 {
    let given = std::env::var(variable).ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[tokio::test]
async fn search_slapcat_and_model_are_equal() {
    let (first, wanted) = (number_in("IRONBARK_TURNS_FROM", 1), number_in("IRONBARK_TURNS", 400));
    let mut operations = 0;
    for number in first.. {
        if operations >= wanted {
            break;
        }
        operations += Schedule::new(number).await.run().await;
        eprintln!("schedule {number}: {operations} operations");
    }
}
