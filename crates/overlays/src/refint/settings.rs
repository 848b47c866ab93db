//! Settings of slapo-refint(5).

use ironbark_config::overlay::OverlaySettings;
use ironbark_model::Dn;

/// Which references follow the entries that they name.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RefintConfig {
    /// `refint_attributes`, as they are printed.
    pub attributes: Vec<String>,
    /// `refint_nothing`: replaces the last value of an attribute.
    pub nothing: Option<Dn>,
    /// `refint_modifiersname`; `None`: [`RefintConfig::MODIFIER`].
    pub modifiers_name: Option<Dn>,
    /// `refint_maxread`: most entries of a database that may be read for want of an index; 0: no limit.
    pub max_read: u32,
}

impl RefintConfig {
    /// The default modifiersName of the overlay's changes.
    pub const MODIFIER: &'static str = "cn=Referential Integrity Overlay";
}

impl OverlaySettings for RefintConfig {
    fn looked_up(&self) -> Vec<String> {
        self.attributes.clone()
    }
}
