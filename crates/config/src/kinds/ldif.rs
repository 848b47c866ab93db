//! A file for each entry (slapd-ldif(5)).

use std::path::PathBuf;

use crate::{
    class::ConfigClass,
    database::{ClassAttributes, DatabaseClass, DatabaseDescriptor, EntryPlace, SuffixRule},
};

/// `database ldif`.
pub static LDIF: DatabaseDescriptor = DatabaseDescriptor {
    name: "ldif",
    aliases: &[],
    modules: &[],
    entries: EntryPlace::Files,
    suffix: SuffixRule::One,
    classes: &[DatabaseClass {
        names: &["olcLdifConfig"],
        oid: "2.2.1",
        attributes: ClassAttributes::Of(ConfigClass::Ldif),
    }],
    backend_class: None,
    settings: &[],
    // slapd has no default for it.
    begin: |database| database.directory = PathBuf::new(),
    introduction: "",
};
