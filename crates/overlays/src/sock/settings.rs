//! Settings of overlay sock.

use ironbark_backends::sock::settings::SockConfig;
use ironbark_config::{DatabaseConfig, SettingError, overlay::OverlaySettings};
use ironbark_ldap_proto::Operation;
use ironbark_model::PosixRegex;

/// The program, and what it is told.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct SockOverlayConfig {
    /// `socketpath` and `extensions`.
    pub(super) program: SockConfig,
    /// `sockops`, in slapd's order.
    pub(super) operations: Words<Operation>,
    /// `sockresps`, in slapd's order.
    pub(super) responses: Words<Response>,
    /// `sockdnpat`.
    pub(super) pattern: Option<PosixRegex>,
}

/// What a program is told of, by the words of a setting.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Words<T>(pub(super) Vec<T>);

impl<T> Default for Words<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

/// A kind of response.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Response {
    /// The result of an operation.
    Result,
    /// An entry of a search.
    Entry,
}

/// The words of a setting, in slapd's order.
pub(super) trait Named: Copy + PartialEq + 'static {
    const WORDS: &'static [(&'static str, Self)];
}

impl Named for Operation {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("bind", Self::Bind),
        ("unbind", Self::Unbind),
        ("search", Self::Search),
        ("compare", Self::Compare),
        ("modify", Self::Modify),
        ("modrdn", Self::ModifyDn),
        ("add", Self::Add),
        ("delete", Self::Delete),
        ("extended", Self::Extended),
    ];
}

impl Named for Response {
    const WORDS: &'static [(&'static str, Self)] = &[("result", Self::Result), ("search", Self::Entry)];
}

impl<T: Named> Words<T> {
    pub(super) fn contains(&self, value: T) -> bool {
        self.0.contains(&value)
    }

    /// Adds a word.
    ///
    /// # Errors
    /// It is unknown.
    pub(super) fn add(&mut self, word: &str) -> Result<(), SettingError> {
        let found = T::WORDS.iter().find(|(name, _)| name.eq_ignore_ascii_case(word));
        let (_, value) = found.ok_or_else(|| format!("unknown word \"{word}\""))?;
        if !self.contains(*value) {
            self.0.push(*value);
        }
        let place = |value: &T| T::WORDS.iter().position(|(_, known)| known == value);
        self.0.sort_by_key(place);
        Ok(())
    }

    /// As they are printed.
    pub(super) fn words(&self) -> Vec<String> {
        let set = T::WORDS.iter().filter(|(_, value)| self.contains(*value));
        set.map(|(word, _)| (*word).to_owned()).collect()
    }
}

impl OverlaySettings for SockOverlayConfig {
    fn needs_entries(&self) -> bool {
        false
    }

    fn check(&self, _: &DatabaseConfig, notices: &mut Vec<String>) -> Result<(), SettingError> {
        self.program.require_socket()?;
        if self.operations.0.is_empty() && self.responses.0.is_empty() {
            notices.push("with neither sockops nor sockresps the program is told nothing".to_owned());
        }
        Ok(())
    }
}
