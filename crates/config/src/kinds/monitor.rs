//! cn=Monitor: what the server does (slapd-monitor(5)).

use crate::database::{ClassAttributes, DatabaseClass, DatabaseDescriptor, EntryPlace, SuffixRule};

/// `database monitor`.
pub static MONITOR: DatabaseDescriptor = DatabaseDescriptor {
    name: "monitor",
    aliases: &[],
    modules: &[],
    entries: EntryPlace::Memory,
    suffix: SuffixRule::Fixed("cn=Monitor"),
    classes: &[DatabaseClass {
        names: &["olcMonitorConfig"],
        oid: "2.4.1",
        attributes: ClassAttributes::OfSettings,
    }],
    backend_class: None,
    settings: &[],
    begin: |_| {},
    introduction: "",
};
