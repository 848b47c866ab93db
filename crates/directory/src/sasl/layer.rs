//! Security layers (RFC 4422 §3.7): a mechanism's protection of a connection after a successful bind.

use std::fmt;

/// The layer that both sides have negotiated. Packets are the buffers of RFC 4422, without the four octets of their
/// length.
pub trait SecurityLayer: fmt::Debug + Send {
    /// The approximate length of its keys in bits; 1 for integrity alone.
    fn strength(&self) -> u32;

    /// The most octets that one packet to the client can carry.
    fn max_content(&self) -> usize;

    /// The longest packet that the client may send.
    fn max_packet(&self) -> usize;

    /// Appends the packet that carries these octets.
    ///
    /// # Errors
    /// The mechanism cannot protect them.
    fn wrap(&mut self, content: &[u8], out: &mut Vec<u8>) -> Result<(), LayerError>;

    /// Appends the content of a packet of the client.
    ///
    /// # Errors
    /// The client did not send this packet at this place.
    fn unwrap(&mut self, packet: &[u8], out: &mut Vec<u8>) -> Result<(), LayerError>;
}

/// A packet cannot be made, or is invalid; the connection is lost.
#[derive(Debug, thiserror::Error)]
#[error("SASL security layer: {0}")]
pub struct LayerError(pub String);
