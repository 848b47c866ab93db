//! Rows of the database that keeps nothing (slapd-null(5)).

/// What a null database does with requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NullConfig {
    /// `bind`: whether any name below the suffix is authenticated, with any password.
    pub bind: bool,
    /// `dosearch`: whether each search returns the suffix.
    pub do_search: bool,
}
