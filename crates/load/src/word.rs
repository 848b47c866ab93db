//! Words of the command line that name a data set, a workload, or a part of one.

/// A word that names nothing known. The text lists the known words.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("unknown {what} `{word}`; known are {known}")]
pub struct UnknownWord {
    /// What the word should name.
    what: &'static str,
    word: String,
    /// The known words, separated by commas.
    known: String,
}

impl UnknownWord {
    pub(crate) fn new(what: &'static str, word: &str, known: impl Into<String>) -> Self {
        Self {
            what,
            word: word.to_owned(),
            known: known.into(),
        }
    }
}
