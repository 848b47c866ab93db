//! Options of the commands that ask several servers: the identity there, TLS, and how long an answer may take.

use std::{path::PathBuf, time::Duration};

use clap::Args;
use ironbark_client::{BindMethod, Client, ConnectSettings, RequireCertificate, Secret, StartTls};
use ironbark_model::ldap_url::LdapUrl;

/// Who the tool is at the servers, and how it connects.
#[derive(Clone, Debug, Args)]
pub(crate) struct AccessOptions {
    /// Name of a simple bind; anonymous without it and without -Y
    #[arg(short = 'D', long, value_name = "DN")]
    bind_dn: Option<String>,
    /// The password
    #[arg(short = 'w', long, conflicts_with = "password_file")]
    password: Option<String>,
    /// A file whose whole content is the password
    #[arg(short = 'y', long, value_name = "FILE")]
    password_file: Option<PathBuf>,
    /// Mechanism of a SASL bind, such as EXTERNAL on ldapi://
    #[arg(short = 'Y', long, value_name = "MECHANISM", conflicts_with = "bind_dn")]
    mechanism: Option<String>,
    /// Name of the user for SASL
    #[arg(short = 'U', long, value_name = "NAME", requires = "mechanism")]
    authcid: Option<String>,
    /// Use StartTLS; a server that refuses it is an error
    #[arg(short = 'Z', long)]
    start_tls: bool,
    /// A file with the authorities for TLS; those of the system without it
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,
    /// Do not check certificates of servers
    #[arg(long)]
    no_certificate_check: bool,
    /// Longest wait for a connection and for a part of an answer, in seconds
    #[arg(long, default_value_t = 60, value_name = "SECONDS")]
    timeout: u64,
}

impl AccessOptions {
    /// The settings of connections, but for their URL.
    ///
    /// # Errors
    /// The message: a password is missing, or its file cannot be read.
    pub(crate) fn settings(&self) -> Result<ConnectSettings, String> {
        let password = match (&self.password_file, &self.password) {
            (Some(path), _) => std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?,
            (None, Some(password)) => password.clone().into_bytes(),
            (None, None) => Vec::new(),
        };
        if self.bind_dn.is_some() && password.is_empty() {
            return Err("-D needs a password: -w or -y".to_owned());
        }
        let wait = Duration::from_secs(self.timeout.max(1));
        let mut settings = ConnectSettings {
            connect_timeout: Some(wait),
            operation_timeout: Some(wait),
            ..ConnectSettings::default()
        };
        settings.bind.credentials = Secret(password);
        match (&self.mechanism, &self.bind_dn) {
            (Some(mechanism), _) => {
                settings.bind.method = BindMethod::Sasl;
                settings.bind.mechanisms.clone_from(mechanism);
                settings.bind.authentication_id = self.authcid.clone().unwrap_or_default();
            }
            (None, Some(name)) => {
                settings.bind.method = BindMethod::Simple;
                settings.bind.dn.clone_from(name);
            }
            (None, None) => {}
        }
        if self.start_tls {
            settings.start_tls = StartTls::Critical;
        }
        settings.tls.ca_certificate_file.clone_from(&self.ca_file);
        if self.no_certificate_check {
            settings.tls.require_certificate = RequireCertificate::Never;
        }
        Ok(settings)
    }
}

/// A connection to one server.
///
/// # Errors
/// The message, without the URL.
pub(crate) async fn connect_to(url: &LdapUrl, settings: &ConnectSettings) -> Result<Client, String> {
    let mut settings = settings.clone();
    settings.urls = vec![url.clone()];
    Client::connect(&settings).await.map_err(|error| error.to_string())
}
