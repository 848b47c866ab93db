//! Where the files of a database are (slapd-mdb(5), slapd-ldif(5)).

use crate::{
    class::ConfigClass,
    rows::fields::database_field,
    setting::{Form, Setting, SettingLevel::DatabaseOf},
};

pub(crate) const ROWS: &[Setting] = &[Setting::new(
    DatabaseOf(&["mdb", "ldif"]),
    &["directory"],
    &["olcDbDirectory"],
)
.olc("2.0.1", Form::Text)
.allowed_by(&[
    ConfigClass::Berkeley.required(),
    ConfigClass::Ldif.required(),
    ConfigClass::Mdb.required(),
])
.shown()
.of_each_server()
.takes("<directory>", "/var/lib/ldap")
.does(
    "Names the directory of the database's files. Each mdb database needs its own. An ldif database must have this \
     line. It has a file for each entry, in folders that follow the tree, so ldif databases with different suffixes \
     may share a directory.",
)
.like(&["/var/lib/ldap/example"])
.whole()
.obeyed(database_field!(directory))];
