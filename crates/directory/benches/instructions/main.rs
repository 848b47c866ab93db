//! The hot paths of a search, a compare, a bind and a commit, for callgrind to count their instructions
//! (`cargo xtask instructions`).
//!
//! Each operation is done for every account, first to fill the caches, then counted: callgrind collects the
//! instructions within [`counted_operations`]. Standard output has a line `name times` for each operation, in order.

#![allow(unreachable_pub, reason = "nothing here is seen from outside")]
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "what cannot be measured ends the program"
)]

mod accounts;
mod commits;
mod operations;
mod protocol;
mod store;

use accounts::Accounts;

fn main() {
    let mut accounts = Accounts::new();
    protocol::count_all(&accounts);
    store::count_all(&accounts);
    operations::count_all(&mut accounts);
    commits::count_all(&accounts);
}

/// Counts an operation that is done `times` times, for one number after the other.
fn count(name: &str, times: usize, operation: &mut dyn FnMut(usize)) {
    (0..times).for_each(&mut *operation);
    counted_operations(times, operation);
    println!("{name} {times}");
}

/// callgrind finds this function by its name.
#[inline(never)]
fn counted_operations(times: usize, operation: &mut dyn FnMut(usize)) {
    (0..times).for_each(operation);
}
