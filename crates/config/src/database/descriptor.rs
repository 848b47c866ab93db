//! What there is to know of a type of database that stands in another crate.

use super::own::OwnSettings;
use crate::setting::Setting;

/// All that configuration needs to know of a type of database whose entries are elsewhere. It is written beside the
/// struct of its settings.
#[derive(Debug)]
pub struct DatabaseDescriptor {
    /// The name in `database`. Its rows have the level [`Level::DatabaseOf`](crate::Level) with
    /// [`DatabaseKind::External`](crate::DatabaseKind) of this name.
    pub name: &'static str,
    /// Further names that `moduleload` may use, in the form of [`crate::parts::module_name`].
    pub modules: &'static [&'static str],
    /// Names of the object class of its entry in cn=config, the usual one first. Required and allowed attributes are
    /// those of its settings.
    pub class: &'static [&'static str],
    /// OID of the class: what follows the arc of slapd's object classes of cn=config, as in `2.7.1`.
    pub oid: &'static str,
    /// Its settings, in the order of the class.
    pub settings: &'static [Setting],
    /// The settings of a database of which nothing is set.
    pub fresh: fn() -> OwnSettings,
    /// What the reference page says before its settings, in full sentences; may be empty.
    pub introduction: &'static str,
}
