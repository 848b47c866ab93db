//! Clock, randomness, threads, signals and process life: what a server takes from the machine, behind one seam.
//!
//! Everything above asks these types and never the operating system, so that a test can hold time still and repeat
//! randomness. The crate knows nothing of LDAP.

mod civil;
mod clock;
mod fair_pool;
mod randomness;
mod signals;
mod thread;

pub mod process;

pub use civil::UtcTime;
pub use clock::{Clock, ManualClock, MonotonicTime, WallTime};
pub use fair_pool::{Claimant, FairPool, Shares, Task};
pub use randomness::{Randomness, RandomnessError};
pub use signals::{Signal, Signals, StopFlag};
pub use thread::{available_cores, give_way, spawn_named};
pub use uuid::Uuid;
