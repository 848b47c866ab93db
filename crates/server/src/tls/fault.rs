//! Why settings make no TLS context.

use ironbark_config::SettingError;

/// Why there is no TLS with some settings.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum TlsFault {
    /// Certificate and key are no pair: one is missing, or they do not belong together.
    #[error("{0}")]
    NoPair(String),
    /// A setting is wrong, or its file cannot be used.
    #[error(transparent)]
    Wrong(#[from] SettingError),
}
