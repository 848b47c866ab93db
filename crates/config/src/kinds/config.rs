//! cn=config: the configuration as entries (slapd-config(5)).

use crate::database::{DatabaseDescriptor, EntryPlace, SuffixRule};

/// `database config`.
pub static CONFIG: DatabaseDescriptor = DatabaseDescriptor {
    name: "config",
    aliases: &[],
    modules: &[],
    entries: EntryPlace::Memory,
    suffix: SuffixRule::Fixed("cn=config"),
    classes: &[],
    backend_class: None,
    settings: &[],
    begin: |database| {
        database.root_dn = database.suffixes.first().cloned();
        database.add_content_acl = true;
    },
    introduction: "",
};
