//! Replication of a database: not supported. A setting that changes who may write what is never ignored.

use crate::{
    class::ConfigClass,
    setting::{Form, Level::Database, Setting},
};

const PART: &str = "replication";

pub(crate) const ROWS: &[Setting] = &[
    Setting::new(Database, &["syncrepl"], &["olcSyncrepl"])
        .olc("2.0.11", Form::Ordered)
        .allowed_by(&[ConfigClass::Database.at(280)])
        .takes("rid=<n> provider=<url> searchbase=<dn> ...", "")
        .does("Makes the database a consumer of another server.")
        .since("2.2")
        .refused(PART),
    Setting::new(
        Database,
        &["multiprovider", "mirrormode"],
        &["olcMultiProvider", "olcMirrorMode"],
    )
    .olc("2.0.16", Form::Boolean)
    .allowed_by(&[ConfigClass::Database.at(320)])
    .takes("on|off", "FALSE")
    .does("Lets a consumer take writes of its own.")
    .since("2.4")
    .refused(PART),
    Setting::new(Database, &["updatedn"], &["olcUpdateDN"])
        .olc("2.0.12", Form::Name)
        .allowed_by(&[ConfigClass::Database.at(300)])
        .takes("<dn>", "")
        .does("Sets the only name that may write to a replica.")
        .whole()
        .refused(PART),
    Setting::new(Database, &["updateref"], &["olcUpdateRef"])
        .olc("2.0.13", Form::UrlsAnyCase)
        .allowed_by(&[ConfigClass::Database.at(310)])
        .takes("<url>", "")
        .does("Sets the URL that clients get when they want to write to a replica.")
        .whole()
        .refused(PART),
    Setting::new(Database, &["sync_use_subentry"], &["olcSyncUseSubentry"])
        .olc("2.0.19", Form::Boolean)
        .allowed_by(&[ConfigClass::Database.at(270)])
        .shown()
        .takes("[on|off]", "FALSE")
        .does("Keeps the replication state in a subentry.")
        .since("2.4")
        .meaningless("there is no replication yet"),
];
