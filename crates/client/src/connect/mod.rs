//! Connecting as the settings say: reach a server, secure the connection, bind.

mod authenticate;
pub(crate) mod socket;
mod start_tls;

use std::io::ErrorKind;

use ironbark_model::ldap_url::{LdapUrl, UrlScheme};
use tokio::task::spawn_blocking;

use self::socket::{Address, Stream};
use crate::{
    Client, ClientError, ConnectSettings, NegotiatedTls, Options, RawStream, StartTls,
    client::Established,
    raw::Lent,
    tls::{Tls, TlsSessions},
};

impl Client {
    /// Connects to the first of the URLs whose server can be reached and secured, and binds there. Another server is
    /// not tried after a refused bind: it has the same users. If this future is dropped, the connection is closed.
    ///
    /// # Errors
    /// [`ClientError::Setting`], [`ClientError::BindRefused`] and [`ClientError::Sasl`] end the attempts. Otherwise the
    /// error of the only URL ([`ClientError::Connect`], [`ClientError::ConnectTimeout`], [`ClientError::Tls`],
    /// [`ClientError::StartTlsRefused`], [`ClientError::Closed`], [`ClientError::Timeout`], [`ClientError::Protocol`]),
    /// or [`ClientError::NoServer`].
    pub async fn connect(settings: &ConnectSettings) -> Result<Self, ClientError> {
        first(settings, false).await.map(|(client, _)| client)
    }

    /// Connects and binds in the same way, and gives the connection away.
    ///
    /// # Errors
    /// As of [`Client::connect`].
    pub async fn connect_raw(settings: &ConnectSettings) -> Result<RawStream, ClientError> {
        let (_client, lent) = first(settings, true).await?;
        let stream = lent.and_then(|lent| lent.take_back());
        let stream = stream.ok_or_else(|| ClientError::closed(&ErrorKind::BrokenPipe.into()))?;
        stream.into_raw().map_err(|error| ClientError::closed(&error))
    }
}

/// A client, and its stream if that is to be taken back.
type Connected = (Client, Option<Lent>);

/// The first of the URLs at which an attempt succeeds.
async fn first(settings: &ConnectSettings, is_lent: bool) -> Result<Connected, ClientError> {
    if let Some((keyword, reason)) = &settings.unusable {
        return Err(ClientError::setting(keyword, reason));
    }
    let mut errors = Vec::new();
    for url in &settings.urls {
        match attempt(settings, url, is_lent).await {
            Ok(connected) => return Ok(connected),
            Err(error @ (ClientError::Setting { .. } | ClientError::BindRefused(_) | ClientError::Sasl { .. })) => {
                return Err(error);
            }
            Err(error) => errors.push(error),
        }
    }
    Err(match errors.pop() {
        None => ClientError::setting("uri", "no URL is named"),
        Some(only) if errors.is_empty() => only,
        Some(last) => {
            errors.push(last);
            ClientError::NoServer(errors)
        }
    })
}

async fn attempt(settings: &ConnectSettings, url: &LdapUrl, is_lent: bool) -> Result<Connected, ClientError> {
    let (options, address) = (Options::of(settings), Address::of(url));
    let (stream, established) = reach(settings, url, &address).await?;
    let (client, lent) = if is_lent {
        let lent = Lent::new(stream);
        (Client::of(lent.clone(), options, established), Some(lent))
    } else {
        (Client::of(stream, options, established), None)
    };
    authenticate::bind(&client, &settings.bind, &address).await?;
    Ok((client, lent))
}

/// A connection without a bind, secured as the settings say.
async fn reach(
    settings: &ConnectSettings,
    url: &LdapUrl,
    address: &Address,
) -> Result<(Box<dyn Stream>, Established), ClientError> {
    let wants_tls = url.scheme == UrlScheme::Ldaps || settings.start_tls != StartTls::No;
    let tls = if wants_tls {
        Some(prepare(settings, address).await?)
    } else {
        None
    };
    let timeout = Options::of(settings).connect_timeout;
    let (mut stream, local) = socket::open(address, &settings.socket, timeout).await?;
    let is_secured = match settings.start_tls {
        _ if url.scheme == UrlScheme::Ldaps => true,
        StartTls::No => false,
        StartTls::Yes | StartTls::Critical => start_tls::ask(&mut stream, address, settings).await?,
    };
    let (stream, channel) = match tls.filter(|_| is_secured) {
        None => (stream, None),
        Some(tls) => secure(stream, &tls, address, settings).await?,
    };
    let established = Established {
        url: Some(url.clone()),
        tls: channel,
        local,
    };
    Ok((stream, established))
}

/// Files are read, and the resolver may be asked, on a thread that may block.
async fn prepare(settings: &ConnectSettings, address: &Address) -> Result<Tls, ClientError> {
    let (settings, host) = (settings.tls.clone(), address.host().to_owned());
    // Each attempt to connect has its own context: there is no session to resume.
    blocking(move || Tls::prepare(&settings, &host, TlsSessions::New)).await?
}

async fn secure(
    stream: Box<dyn Stream>,
    tls: &Tls,
    address: &Address,
    settings: &ConnectSettings,
) -> Result<(Box<dyn Stream>, Option<NegotiatedTls>), ClientError> {
    let timeout = Options::of(settings).connect_timeout;
    match tokio::time::timeout(timeout, tls.handshake(stream)).await {
        Ok(Ok((stream, channel))) => Ok((Box::new(stream), Some(channel))),
        Ok(Err(error)) => Err(ClientError::Tls {
            address: address.to_string(),
            reason: error.to_string(),
        }),
        Err(_) => Err(address.late(timeout)),
    }
}

/// Runs something that computes long or waits, on a thread for that.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, ClientError> {
    // It is lost only if it panics or if the runtime ends.
    spawn_blocking(work).await.map_err(|error| ClientError::Closed {
        reason: error.to_string(),
    })
}
