//! Messages as the load generator needs them: requests that are encoded once, responses that are only partly decoded.

mod answer;
mod pool;
mod request;

pub use answer::{FirstMessage, Malformed, next_answer};
pub use pool::Pool;
pub use request::{RequestSlot, encode};
