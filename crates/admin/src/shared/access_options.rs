//! Options of the commands that ask servers: which one, the identity there, TLS, and how long an answer may take.

use std::{
    io::{self, BufRead as _, IsTerminal as _},
    path::{Path, PathBuf},
    time::Duration,
};

use clap::{ArgAction, Args};
use ironbark_client::{BindMethod, Client, ConnectSettings, RequireCertificate, Secret, StartTls};
use ironbark_config::secret::masked;
use ironbark_model::ldap_url::LdapUrl;

use super::{config_options::ConfigOptions, wanted};

/// Where a server is looked for if none is named: that of `ironbark init`, then the usual port.
const USUAL: [&str; 2] = [USUAL_URL, SYSTEMS];
/// The port that only root can give to a server.
const SYSTEMS: &str = "ldap://127.0.0.1/";
/// Where `ironbark serve` listens if nothing else is said.
pub(crate) const USUAL_URL: &str = "ldap://127.0.0.1:3890/";

/// The server that a command asks, and how.
#[derive(Clone, Debug, Args)]
pub(crate) struct ServerOptions {
    /// The server: ldap://host:port/, ldaps://host:port/ or ldapi://%2Fpath/ [default: ldap://127.0.0.1:3890/, or
    /// ldap://127.0.0.1/ if nothing is there; with a password and without TLS, the latter alone unless ./directory is
    /// yours]
    #[arg(short = 'H', long, value_name = "URL")]
    url: Option<String>,
    #[command(flatten)]
    access: AccessOptions,
}

impl ServerOptions {
    /// The settings of a connection to it.
    ///
    /// # Errors
    /// The message: as of [`AccessOptions::settings`], or the URL is none.
    pub(crate) fn settings(&self) -> Result<ConnectSettings, String> {
        let mut settings = self.access.settings()?;
        // Any user of the machine may listen on a port over 1023, and would be told the password.
        let tells_password = !settings.bind.credentials.0.is_empty() && settings.start_tls == StartTls::No;
        let is_new = || ConfigOptions::default().or_new().is_given();
        let usual: &[&str] = if tells_password && !is_new() {
            &[SYSTEMS]
        } else {
            &USUAL
        };
        let named = self.url.as_deref();
        let urls = named.as_ref().map_or(usual, std::slice::from_ref);
        for url in urls {
            settings
                .urls
                .push(wanted::url(url).map_err(|error| format!("-H {error}"))?);
        }
        Ok(settings)
    }

    /// The longest wait for a connection and for a part of an answer.
    pub(crate) fn timeout(&self) -> Duration {
        self.access.timeout()
    }

    /// A connection, and the URL of its server.
    ///
    /// # Errors
    /// The message, with the URL.
    pub(crate) async fn connect(&self) -> Result<(String, Client), String> {
        let settings = self.settings()?;
        let client = Client::connect(&settings).await;
        let client = client.map_err(|error| format!("{}: {error}", shown(&settings.urls)))?;
        let url = client.url().map_or(&settings.urls[..], std::slice::from_ref);
        Ok((shown(url), client))
    }
}

/// Settings whose only URL is that of a server that answers, and that URL without a password. It blocks.
///
/// # Errors
/// The message, with the URLs: none of several answers.
pub(crate) fn found(mut settings: ConnectSettings) -> Result<(String, ConnectSettings), String> {
    if settings.urls.len() > 1 {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        let client = runtime.block_on(Client::connect(&settings));
        let client = client.map_err(|error| format!("{}: {error}", shown(&settings.urls)))?;
        settings.urls = client.url().cloned().into_iter().collect();
    }
    Ok((shown(&settings.urls), settings))
}

/// URLs without their passwords.
fn shown(urls: &[LdapUrl]) -> String {
    let urls = urls.iter().map(|url| masked(&url.to_string()).into_owned());
    urls.collect::<Vec<_>>().join(" or ")
}

/// Who the tool is at the servers, and how it connects.
#[derive(Clone, Debug, Args)]
pub(crate) struct AccessOptions {
    /// Name of a simple bind; anonymous without it and without -Y
    #[arg(short = 'D', long, value_name = "DN")]
    bind_dn: Option<String>,
    /// The password
    #[arg(short = 'w', long, conflicts_with_all = ["password_file", "ask_password"])]
    password: Option<String>,
    /// A file whose first line is the password
    #[arg(short = 'y', long, value_name = "FILE", conflicts_with = "ask_password")]
    password_file: Option<PathBuf>,
    /// Ask for the password
    #[arg(short = 'W', long)]
    ask_password: bool,
    /// Mechanism of a SASL bind, such as EXTERNAL on ldapi://
    #[arg(short = 'Y', long, value_name = "MECHANISM", conflicts_with = "bind_dn")]
    mechanism: Option<String>,
    /// Name of the user for SASL
    #[arg(short = 'U', long, value_name = "NAME", requires = "mechanism")]
    authcid: Option<String>,
    /// Use StartTLS; a server that refuses it is an error. -ZZ means the same
    #[arg(short = 'Z', long, action = ArgAction::Count)]
    start_tls: u8,
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
    /// The message: a password or its name is missing, or its file cannot be read.
    pub(crate) fn settings(&self) -> Result<ConnectSettings, String> {
        let password = self.password()?;
        if self.bind_dn.is_some() && password.is_empty() {
            return Err("-D needs a password: -w, -y or -W".to_owned());
        }
        if self.bind_dn.is_none() && self.mechanism.is_none() && !password.is_empty() {
            return Err("a password needs a name: -D, or -Y and -U".to_owned());
        }
        let wait = self.timeout();
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
        if self.start_tls > 0 {
            settings.start_tls = StartTls::Critical;
        }
        settings.tls.ca_certificate_file.clone_from(&self.ca_file);
        if self.no_certificate_check {
            settings.tls.require_certificate = RequireCertificate::Never;
        }
        Ok(settings)
    }

    fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout.max(1))
    }

    fn password(&self) -> Result<Vec<u8>, String> {
        match (&self.password_file, &self.password) {
            (Some(path), _) => password_of_file(path),
            (None, Some(password)) => Ok(password.clone().into_bytes()),
            (None, None) if self.ask_password => ask("Password: "),
            (None, None) => Ok(Vec::new()),
        }
    }
}

/// The first line of a file. A password may have no line end, and an editor leaves one behind it.
fn password_of_file(path: &Path) -> Result<Vec<u8>, String> {
    let failed = |text: String| format!("{}: {text}", path.display());
    let content = std::fs::read(path).map_err(|error| failed(error.to_string()))?;
    let line = content.strip_suffix(b"\n").unwrap_or(&content);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.contains(&b'\n') {
        return Err(failed("a password is one line, and this file has more".to_owned()));
    }
    if line.is_empty() {
        return Err(failed("the file is empty, and was to hold a password".to_owned()));
    }
    Ok(line.to_vec())
}

/// Asks without echo on a terminal. Reads a line from any other input.
pub(crate) fn ask(text: &str) -> Result<Vec<u8>, String> {
    if io::stdin().is_terminal() {
        return rpassword::prompt_password(text)
            .map(String::into_bytes)
            .map_err(|error| error.to_string());
    }
    eprint!("{text}");
    let mut line = Vec::new();
    io::stdin()
        .lock()
        .read_until(b'\n', &mut line)
        .map_err(|error| error.to_string())?;
    while line.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
        line.pop();
    }
    Ok(line)
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

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        server: ServerOptions,
    }

    fn settings(words: &[&str]) -> Result<ConnectSettings, String> {
        Line::try_parse_from([&["x"], words].concat())
            .unwrap()
            .server
            .settings()
    }

    #[test]
    fn without_a_url_the_usual_places_are_tried_in_order() {
        let shown = |words: &[&str]| {
            let urls = settings(words).unwrap().urls;
            urls.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(shown(&[]), "ldap://127.0.0.1:3890/ ldap://127.0.0.1/");
        assert_eq!(shown(&["-H", "ldapi://%2Fx/"]), "ldapi://%2Fx/");
        // Any user may listen on port 3890.
        let simple = ["-D", "cn=a", "-w", "secret"];
        assert_eq!(shown(&simple), "ldap://127.0.0.1/");
        let both = "ldap://127.0.0.1:3890/ ldap://127.0.0.1/";
        assert_eq!(shown(&[&simple[..], &["-ZZ"]].concat()), both);
        assert_eq!(shown(&["-Y", "EXTERNAL"]), both);
        assert!(
            settings(&["-H", "http://a:b@x/"])
                .unwrap_err()
                .starts_with("-H http://***@x/: ")
        );
    }

    #[test]
    fn one_z_and_two_both_demand_tls() {
        for words in [&["-Z"][..], &["-ZZ"], &["-Z", "-Z"], &["--start-tls"]] {
            assert_eq!(settings(words).unwrap().start_tls, StartTls::Critical, "{words:?}");
        }
        assert_eq!(settings(&[]).unwrap().start_tls, StartTls::No);
    }

    #[test]
    fn a_password_file_is_one_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("password");
        let words = ["-D", "cn=a", "-y", path.to_str().unwrap()];
        for (content, password) in [
            ("secret", Some("secret")),
            ("secret\n", Some("secret")),
            ("secret\r\n", Some("secret")),
            (" secret \n", Some(" secret ")),
            ("secret\nmore\n", None),
            ("\n", None),
        ] {
            std::fs::write(&path, content).unwrap();
            let found = settings(&words).ok().map(|settings| settings.bind.credentials.0);
            assert_eq!(found.as_deref(), password.map(str::as_bytes), "{content:?}");
        }
        assert!(settings(&["-D", "cn=a"]).unwrap_err().contains("-w, -y or -W"));
        assert!(settings(&["-w", "x"]).unwrap_err().contains("needs a name"));
    }
}
