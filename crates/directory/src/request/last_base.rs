//! The name of the base object of a search. Usually it is that of the search before.

use ironbark_model::{Dn, Schema, dn::InvalidDn};

/// The base object's name of the search that is being prepared, or was prepared last.
#[derive(Default)]
pub(crate) struct LastBase {
    pub(crate) dn: Dn,
    /// As the client sent it.
    text: Vec<u8>,
    /// Whether `dn` is the result of parsing `text` under the present configuration.
    is_read: bool,
}

impl LastBase {
    /// The configuration has changed: the next name is parsed.
    pub(crate) fn forget(&mut self) {
        self.is_read = false;
    }

    /// Parses a name, unless it is the one that was parsed last.
    ///
    /// # Errors
    /// It is no name.
    pub(crate) fn read(&mut self, schema: &Schema, text: &[u8]) -> Result<&Dn, InvalidDn> {
        if !self.is_read || self.text != text {
            self.is_read = false;
            self.dn.parse_into(schema, text)?;
            self.text.clear();
            self.text.extend_from_slice(text);
            // The meaning of the empty name depends on the scope.
            self.is_read = !self.dn.is_root();
        }
        Ok(&self.dn)
    }
}
