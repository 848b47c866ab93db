//! Clock, randomness, threads, signals and process life: the resources that a server takes from the machine.
//!
//! The other crates use these types and never the operating system. So a test can stop time and repeat randomness. This
//! crate knows nothing of LDAP.

mod civil;
mod clock;
mod fair_pool;
mod randomness;
mod session_thread;
mod signals;
mod supervisor;
mod thread;
mod tool_socket;

pub mod process;

pub use civil::UtcTime;
pub use clock::{Clock, ManualClock, MonotonicTime, WallTime};
pub use fair_pool::{Claimant, FairPool, Shares, Task};
pub use randomness::{Randomness, RandomnessError};
pub use session_thread::{SessionTask, SessionThread, Sessions};
pub use signals::{HeldSignals, Signal, SignalFlag, Signals};
pub use supervisor::{Supervisor, SupervisorSettings};
pub use thread::{available_cores, give_way, spawn_named};
pub use tool_socket::{ToolStream, connect_as_tool, is_of_own_user, listen_for_tools, own_user_is_shared};
pub use uuid::Uuid;
