//! Security layers (RFC 4422 §3.7): what a mechanism protects a connection with from its success on.

use std::fmt;

/// What both sides have agreed upon. Packets are what RFC 4422 calls buffers, without the four octets of their length.
pub trait SecurityLayer: fmt::Debug + Send {
    /// About the length of its keys in bits; 1 for integrity alone.
    fn strength(&self) -> u32;

    /// The most octets that one packet to the client may carry.
    fn max_content(&self) -> usize;

    /// The longest packet that the client may send.
    fn max_packet(&self) -> usize;

    /// Appends the packet that carries these octets.
    ///
    /// # Errors
    /// The mechanism cannot protect them.
    fn wrap(&mut self, content: &[u8], out: &mut Vec<u8>) -> Result<(), LayerError>;

    /// Appends what a packet of the client carries.
    ///
    /// # Errors
    /// It is not what the client has sent at this place.
    fn unwrap(&mut self, packet: &[u8], out: &mut Vec<u8>) -> Result<(), LayerError>;
}

/// A packet cannot be made, or is not what it should be; the connection is lost.
#[derive(Debug, thiserror::Error)]
#[error("SASL security layer: {0}")]
pub struct LayerError(pub String);
