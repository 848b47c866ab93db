//! `serverID`.

/// The number of a server in CSNs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServerId {
    /// 0 to 4095.
    pub id: u16,
    /// The listener URL of the server that has the number; `None`: this server.
    pub url: Option<String>,
}
