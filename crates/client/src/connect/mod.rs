//! Connecting as the settings say: reach a server, secure the connection, bind.

mod authenticate;
pub(crate) mod socket;
mod start_tls;

use ironbark_model::ldap_url::{LdapUrl, Scheme};
use tokio::task::spawn_blocking;

use self::socket::{Address, Stream};
use crate::{Client, ConnectSettings, Error, Options, StartTls, TlsChannel, client::Established, tls::Tls};

impl Client {
    /// Connects to the first of the URLs whose server can be reached and secured, and binds there. Another server is
    /// not tried after a refused bind: it has the same users. If this future is dropped, the connection is closed.
    ///
    /// # Errors
    /// [`Error::Setting`], [`Error::BindRefused`] and [`Error::Sasl`] end the attempts. Otherwise the error of the only
    /// URL ([`Error::Connect`], [`Error::ConnectTimeout`], [`Error::Tls`], [`Error::StartTlsRefused`],
    /// [`Error::Closed`], [`Error::Timeout`], [`Error::Protocol`]), or [`Error::NoServer`].
    pub async fn connect(settings: &ConnectSettings) -> Result<Self, Error> {
        let mut errors = Vec::new();
        for url in &settings.urls {
            match attempt(settings, url).await {
                Ok(client) => return Ok(client),
                Err(error @ (Error::Setting { .. } | Error::BindRefused(_) | Error::Sasl { .. })) => return Err(error),
                Err(error) => errors.push(error),
            }
        }
        Err(match errors.pop() {
            None => Error::setting("uri", "no URL is named"),
            Some(only) if errors.is_empty() => only,
            Some(last) => {
                errors.push(last);
                Error::NoServer(errors)
            }
        })
    }
}

async fn attempt(settings: &ConnectSettings, url: &LdapUrl) -> Result<Client, Error> {
    let options = Options::of(settings);
    let address = Address::of(url);
    let wants_tls = url.scheme == Scheme::Ldaps || settings.start_tls != StartTls::No;
    let tls = if wants_tls {
        Some(prepare(settings, &address).await?)
    } else {
        None
    };
    let (mut stream, local) = socket::open(&address, &settings.socket, options.connect_timeout).await?;
    let is_secured = match settings.start_tls {
        _ if url.scheme == Scheme::Ldaps => true,
        StartTls::No => false,
        StartTls::Yes | StartTls::Critical => start_tls::ask(&mut stream, &address, settings).await?,
    };
    let (stream, channel) = match tls.filter(|_| is_secured) {
        None => (stream, None),
        Some(tls) => secure(stream, &tls, &address, settings).await?,
    };
    let established = Established {
        url: Some(url.clone()),
        tls: channel,
        local,
    };
    let client = Client::of(stream, options, established);
    authenticate::bind(&client, &settings.bind, &address).await?;
    Ok(client)
}

/// Files are read, and the resolver may be asked, on a thread that may block.
async fn prepare(settings: &ConnectSettings, address: &Address) -> Result<Tls, Error> {
    let (settings, host) = (settings.tls.clone(), address.host().to_owned());
    blocking(move || Tls::prepare(&settings, &host)).await?
}

async fn secure(
    stream: Box<dyn Stream>,
    tls: &Tls,
    address: &Address,
    settings: &ConnectSettings,
) -> Result<(Box<dyn Stream>, Option<TlsChannel>), Error> {
    let timeout = Options::of(settings).connect_timeout;
    match tokio::time::timeout(timeout, tls.handshake(stream)).await {
        Ok(Ok((stream, channel))) => Ok((Box::new(stream), Some(channel))),
        Ok(Err(reason)) => Err(Error::Tls {
            address: address.to_string(),
            reason,
        }),
        Err(_) => Err(address.late(timeout)),
    }
}

/// Runs something that computes long or waits, on a thread for that.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Error> {
    // It is lost only if it panics or if the runtime ends.
    spawn_blocking(work).await.map_err(|error| Error::Closed {
        reason: error.to_string(),
    })
}
