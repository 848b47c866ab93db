//! SCRAM (RFC 5802, RFC 7677): the messages of both sides and the keys that prove them.
//!
//! Parsers borrow from the message and need no state. A name or password is used as the caller gives it; RFC 5802 §5.1
//! demands that [`prepared`](crate::prepared) has been applied to it.

mod client;
mod error;
mod hash;
mod keys;
mod name;
mod server;

pub use client::{
    ClientFinal, ClientFirst, Flag, client_final, client_final_without_proof, client_first_bare, gs2_header,
};
pub use error::ScramError;
pub use hash::Hash;
pub use keys::{ClientKeys, StoredKeys};
pub use server::{ServerFinal, ServerFirst, server_final, server_first};

/// The octets that both sides repeat as `c=`: the GS2 header, and the data of the channel binding or nothing
/// (RFC 5802 §5.1).
pub fn binding_input(gs2_header: &str, data: &[u8]) -> Vec<u8> {
    [gs2_header.as_bytes(), data].concat()
}

/// `AuthMessage` (RFC 5802 §3): the text that proof and signature are made of.
pub fn auth_message(client_first_bare: &str, server_first: &str, client_final_without_proof: &str) -> String {
    format!("{client_first_bare},{server_first},{client_final_without_proof}")
}
