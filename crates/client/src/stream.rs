//! Streams to servers that speak another protocol than LDAP.

use std::time::Duration;

use ironbark_config::connection::{SocketSettings, TlsSettings};

pub use crate::connect::socket::Stream;
use crate::{
    ClientError,
    connect::socket::{Address, open},
    tls::{Tls, TlsSessions},
};

/// Connects to a host, by TLS if there are settings for it. Each of its addresses is tried for `limit`, as is the
/// resolver; the handshake has the same time.
///
/// # Errors
/// No address answers, a setting is wrong, or the handshake failed.
pub async fn connect(
    host: &str,
    port: u16,
    tls: Option<&TlsSettings>,
    limit: Duration,
) -> Result<Box<dyn Stream>, ClientError> {
    let address = Address::Tcp {
        host: host.to_owned(),
        port,
    };
    let (stream, _) = open(&address, &SocketSettings::default(), limit).await?;
    let Some(settings) = tls else {
        return Ok(stream);
    };
    let tls = Tls::prepare(settings, host, TlsSessions::New)?;
    let secured = tokio::time::timeout(limit, tls.handshake(stream)).await;
    match secured.map_err(|_| address.late(limit))? {
        Ok((stream, _)) => Ok(Box::new(stream)),
        Err(error) => Err(address.failed(&error)),
    }
}
