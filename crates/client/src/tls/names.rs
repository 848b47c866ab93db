//! The names that a server's certificate may have.

use std::net::{IpAddr, Ipv4Addr};

use ironbark_runtime::process::full_host_name;
use rustls::pki_types::ServerName;

use crate::{ClientError, RequireCertificate, TlsSettings};

/// The host of the URL. For `localhost` and for a socket, the machine's own name counts too: its certificate has that
/// name, and libldap compares with it.
pub(super) struct HostNames {
    to_check: Vec<ServerName<'static>>,
}

impl HostNames {
    /// The names for a host; empty: this machine. It may ask the resolver, which blocks.
    ///
    /// # Errors
    /// [`ClientError::Setting`]: the certificate is to be checked, and no certificate can have this name.
    pub(super) fn of(host: &str, settings: &TlsSettings) -> Result<Self, ClientError> {
        let is_checked = !matches!(
            settings.require_certificate,
            RequireCertificate::Never | RequireCertificate::Allow
        );
        let is_local = host.is_empty() || host.eq_ignore_ascii_case("localhost");
        let host = if host.is_empty() { "localhost" } else { host };
        let own_name = (is_local && is_checked).then(full_host_name);
        let names = [Some(host.to_owned()), own_name].into_iter().flatten();
        let to_check: Vec<_> = names.filter_map(|name| ServerName::try_from(name).ok()).collect();
        if to_check.is_empty() && is_checked {
            return Err(ClientError::setting("uri", format!("\"{host}\" is no name of a host")));
        }
        Ok(Self { to_check })
    }

    /// The name that the client hello has. Addresses are not sent (RFC 6066 §3).
    pub(super) fn to_send(&self) -> ServerName<'static> {
        let no_name = || ServerName::from(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        self.to_check.first().cloned().unwrap_or_else(no_name)
    }

    /// At least one, if the certificate is checked.
    pub(super) fn to_check(&self) -> &[ServerName<'static>] {
        &self.to_check
    }
}
