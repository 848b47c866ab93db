//! The connections of `ironbark load session`: each session connects anew.

use std::{
    io::{self, Read, Write},
    os::fd::{AsRawFd, RawFd},
    sync::Arc,
};

use ironbark_client::{ConnectSettings, Dialer, RawStream, StartTls, TlsSessions};
use ironbark_load::target::{ConnectFailure, SessionProtection, SessionStream, Target};
use ironbark_model::ldap_url::UrlScheme;

/// How sessions are secured by these settings.
pub(super) fn protection(settings: &ConnectSettings) -> SessionProtection {
    match settings.urls.first().map(|url| url.scheme) {
        Some(UrlScheme::Ldaps) => SessionProtection::Ldaps,
        _ if settings.start_tls == StartTls::No => SessionProtection::None,
        _ => SessionProtection::StartTls,
    }
}

/// The server with the sessions of these settings.
///
/// # Errors
/// The message: a file of TLS cannot be read, or no address of the server answers.
pub(super) fn target(shown: String, settings: &ConnectSettings, tls: TlsSessions) -> Result<Target, String> {
    let dialer = Dialer::new(settings, tls).map_err(|error| format!("{shown}: {error}"))?;
    let dialer = Arc::new(dialer);
    Ok(Target::of_sessions(shown, protection(settings), move || {
        let stream = dialer.dial().map_err(|error| ConnectFailure(error.to_string()))?;
        let dialer = Arc::clone(&dialer);
        Ok(Box::new(Dialed { stream, dialer }) as Box<dyn SessionStream>)
    }))
}

/// A connection of a session, and what secures it.
struct Dialed {
    stream: RawStream,
    dialer: Arc<Dialer>,
}

impl SessionStream for Dialed {
    fn begin_tls(&mut self) -> Result<(), ConnectFailure> {
        let begun = self.dialer.secure(&mut self.stream);
        begun.map_err(|error| ConnectFailure(error.to_string()))
    }

    fn has_resumed_tls(&self) -> bool {
        self.stream.has_resumed_tls()
    }
}

impl Read for Dialed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.read(buffer)
    }
}

impl Write for Dialed {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.stream.write(octets)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

impl AsRawFd for Dialed {
    fn as_raw_fd(&self) -> RawFd {
        self.stream.as_raw_fd()
    }
}
