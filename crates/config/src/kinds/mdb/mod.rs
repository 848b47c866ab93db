//! The store (slapd-mdb(5)).

mod berkeley;
mod index;
mod rows;

use crate::{
    class::ConfigClass,
    database::{ClassAttributes, DatabaseClass, DatabaseDescriptor, EntryPlace, SuffixRule},
};

/// `database mdb`, and the Berkeley DB backends of OpenLDAP 2.4.
pub static MDB: DatabaseDescriptor = DatabaseDescriptor {
    name: "mdb",
    aliases: &["hdb", "bdb"],
    modules: &[],
    entries: EntryPlace::Store,
    suffix: SuffixRule::One,
    classes: &[
        class(&["olcMdbConfig"], "2.12.1", ConfigClass::Mdb),
        class(&["olcHdbConfig"], "2.1.2", ConfigClass::Berkeley),
        class(&["olcBdbConfig"], "2.1.1", ConfigClass::Berkeley),
    ],
    backend_class: Some(class(&["olcMdbBkConfig"], "1.12.1", ConfigClass::MdbBackend)),
    settings: &[rows::ROWS, index::ROWS, berkeley::ROWS],
    begin: |_| {},
    introduction: "",
};

const fn class(names: &'static [&'static str], oid: &'static str, rows: ConfigClass) -> DatabaseClass {
    DatabaseClass {
        names,
        oid,
        attributes: ClassAttributes::Of(rows),
    }
}
