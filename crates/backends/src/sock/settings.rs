//! Settings of slapd-sock(5).

use std::path::PathBuf;

use ironbark_config::{DatabaseConfig, SettingError, database::DatabaseSettings};

/// Where the program is, and what it is told.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SockConfig {
    /// `socketpath`: its local socket. Empty until it is set.
    pub socket: PathBuf,
    /// `extensions`.
    pub extensions: SockExtensions,
}

/// What a program is told of the client with each request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is one word of the setting")]
pub struct SockExtensions {
    /// `binddn`.
    pub bind_dn: bool,
    /// `peername`.
    pub peer_name: bool,
    /// `ssf`.
    pub ssf: bool,
    /// `connid`.
    pub connection: bool,
}

impl SockExtensions {
    /// The switch of a word of the setting.
    pub(super) fn switch(&mut self, word: &str) -> Option<&mut bool> {
        match word.to_ascii_lowercase().as_str() {
            "binddn" => Some(&mut self.bind_dn),
            "peername" => Some(&mut self.peer_name),
            "ssf" => Some(&mut self.ssf),
            "connid" => Some(&mut self.connection),
            _ => None,
        }
    }

    /// The words that are set, in slapd's order.
    pub fn words(self) -> Vec<String> {
        let all = [
            ("binddn", self.bind_dn),
            ("peername", self.peer_name),
            ("ssf", self.ssf),
            ("connid", self.connection),
        ];
        let set = all.into_iter().filter(|(_, is_set)| *is_set);
        set.map(|(word, _)| word.to_owned()).collect()
    }
}

impl SockConfig {
    /// `socketpath` as it is printed: nothing before it is set.
    pub fn socket_text(&self) -> Vec<String> {
        let path = self.socket.to_string_lossy();
        Some(path.into_owned())
            .filter(|path| !path.is_empty())
            .into_iter()
            .collect()
    }

    /// # Errors
    /// There is no socket.
    pub fn require_socket(&self) -> Result<(), SettingError> {
        if self.socket.as_os_str().is_empty() {
            return Err("needs a socketpath".into());
        }
        Ok(())
    }
}

impl DatabaseSettings for SockConfig {
    fn check(&self, _: &DatabaseConfig) -> Result<(), SettingError> {
        self.require_socket()
    }
}
