//! Where the files of a database are (slapd-mdb(5), slapd-ldif(5)).

use crate::{
    class::ConfigClass,
    database::DatabaseKind,
    rows::fields::database_field,
    setting::{Form, Level::DatabaseOf, Setting},
};

pub(crate) const ROWS: &[Setting] = &[Setting::new(
    DatabaseOf(&[DatabaseKind::Mdb, DatabaseKind::Ldif]),
    &["directory"],
    &["olcDbDirectory"],
)
.olc("2.0.1", Form::Text)
.allowed_by(&[ConfigClass::Berkeley.required(), ConfigClass::Ldif.required(), ConfigClass::Mdb.required()])
.shown()
.takes("<directory>", "/var/lib/ldap")
.does(
    "Is where the database's files are. Each mdb database needs its own. An ldif database must say where its files are, which are an \
     entry each, in folders as the tree: ldif databases with different suffixes may share a directory.",
)
.like(&["/var/lib/ldap/example"])
.whole()
.obeyed(database_field!(directory))];
