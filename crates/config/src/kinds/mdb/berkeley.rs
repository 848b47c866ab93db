//! Settings of the Berkeley DB backends of OpenLDAP 2.4, read in `database hdb|bdb` and, harmlessly, in `database mdb`.

use crate::{
    class::ConfigClass,
    setting::{Form, Setting, SettingLevel},
};

const MDB: SettingLevel = SettingLevel::DatabaseOf(&["mdb"]);

const NO_CACHE: &str = "there is no cache to tune: the kernel's page cache is the only one";

const NO_BERKELEY_DB: &str = "there is no Berkeley DB environment";

pub(crate) const ROWS: &[Setting] = &[
    old(
        &["cachesize"],
        &["olcDbCacheSize"],
        "<entries>",
        "Sized the entry cache.",
        NO_CACHE,
    )
    .olc("2.1.1", Form::PlainInteger)
    .allowed_by(&[ConfigClass::Berkeley.at(10)]),
    old(
        &["cachefree"],
        &["olcDbCacheFree"],
        "<entries>",
        "Set how many entries a full cache dropped.",
        NO_CACHE,
    )
    .olc("2.1.11", Form::PlainInteger)
    .allowed_by(&[ConfigClass::Berkeley.at(160)]),
    old(
        &["dncachesize"],
        &["olcDbDNcacheSize"],
        "<entries>",
        "Sized the cache of names.",
        NO_CACHE,
    )
    .olc("2.1.12", Form::PlainInteger)
    .allowed_by(&[ConfigClass::Berkeley.at(170)]),
    old(
        &["idlcachesize"],
        &["olcDbIDLcacheSize"],
        "<slots>",
        "Sized the cache of index slots.",
        NO_CACHE,
    )
    .olc("2.1.6", Form::PlainInteger)
    .allowed_by(&[ConfigClass::Berkeley.at(90)]),
    old(
        &["dbcachesize"],
        &[],
        "<bytes>",
        "Sized the cache of back-ldbm.",
        NO_CACHE,
    ),
    old(
        &["dbconfig"],
        &["olcDbConfig"],
        "<line>",
        "Gave a line of the file DB_CONFIG.",
        NO_BERKELEY_DB,
    )
    .olc("2.1.3", Form::Lines)
    .allowed_by(&[ConfigClass::Berkeley.at(40)]),
    old(
        &["dbnolocking"],
        &[],
        "",
        "Turned off the locks of back-ldbm.",
        NO_BERKELEY_DB,
    ),
    old(
        &["checksum"],
        &["olcDbChecksum"],
        "",
        "Turned on checksums of pages.",
        NO_BERKELEY_DB,
    )
    .olc("2.1.16", Form::PlainBoolean)
    .allowed_by(&[ConfigClass::Berkeley.at(30)]),
    old(
        &["dirtyread"],
        &["olcDbDirtyRead"],
        "",
        "Let searches read what was not committed.",
        "every search reads a snapshot, without waiting for writers",
    )
    .olc("2.1.5", Form::PlainBoolean)
    .allowed_by(&[ConfigClass::Berkeley.at(80)]),
    old(
        &["linearindex"],
        &["olcDbLinearIndex"],
        "",
        "Made slapindex go through the entries once for each attribute.",
        "slapindex bounds its memory by itself",
    )
    .olc("2.1.7", Form::PlainBoolean)
    .allowed_by(&[ConfigClass::Berkeley.at(110)]),
    old(
        &["lockdetect"],
        &["olcDbLockDetect"],
        "oldest|youngest|fewest|random|default",
        "Chose the victim of a deadlock.",
        "there is one writer, so there is no deadlock",
    )
    .olc("2.1.8", Form::PlainText)
    .allowed_by(&[ConfigClass::Berkeley.at(120)]),
    old(
        &["shm_key"],
        &["olcDbShmKey"],
        "<key>",
        "Put the environment into shared memory.",
        NO_BERKELEY_DB,
    )
    .olc("2.1.10", Form::PlainInteger)
    .allowed_by(&[ConfigClass::Berkeley.at(150)]),
    Setting::new(MDB, &["cryptfile"], &["olcDbCryptFile"])
        .olc("2.1.13", Form::PlainText)
        .allowed_by(&[ConfigClass::Berkeley.at(50)])
        .takes("<file>", "")
        .does("Named the file with the key of an encrypted database.")
        .whole()
        .refused("database encryption"),
    Setting::new(MDB, &["cryptkey"], &["olcDbCryptKey"])
        .olc("2.1.14", Form::PlainOctets)
        .allowed_by(&[ConfigClass::Berkeley.at(60)])
        .takes("<key>", "")
        .does("Was the key of an encrypted database.")
        .whole()
        .refused("database encryption"),
];

const fn old(
    keywords: &'static [&'static str],
    attributes: &'static [&'static str],
    grammar: &'static str,
    documentation: &'static str,
    reason: &'static str,
) -> Setting {
    Setting::new(MDB, keywords, attributes)
        .takes(grammar, "")
        .does(documentation)
        .meaningless(reason)
}
