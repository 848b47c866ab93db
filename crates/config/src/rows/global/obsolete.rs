//! Keywords that slapd itself reads and ignores.

use crate::{
    class::ConfigClass,
    setting::{
        Form, Setting,
        SettingLevel::{Database, Global, Inherited},
    },
};

const SLURPD: &str = "it belonged to slurpd, which ended with OpenLDAP 2.3; slapd ignores it too";

pub(crate) const ROWS: &[Setting] = &[
    Setting::new(Database, &["replica"], &["olcReplica"])
        .olc("2.0.7", Form::OrderedUrls)
        .allowed_by(&[ConfigClass::Database.at(140)])
        .takes("<uri> ...", "")
        .does("Named a replica of slurpd.")
        .meaningless(SLURPD),
    Setting::new(Inherited, &["replica-argsfile"], &["olcReplicaArgsFile"])
        .olc("0.43", Form::PlainText)
        .allowed_by(&[ConfigClass::Database.at(150)])
        .takes("<file>", "")
        .does("Named the file with slurpd's command line.")
        .meaningless(SLURPD),
    Setting::new(Inherited, &["replica-pidfile"], &["olcReplicaPidFile"])
        .olc("0.44", Form::PlainText)
        .allowed_by(&[ConfigClass::Database.at(160)])
        .takes("<file>", "")
        .does("Named the file with slurpd's process number.")
        .meaningless(SLURPD),
    Setting::new(Inherited, &["replicationInterval"], &["olcReplicationInterval"])
        .olc("0.45", Form::PlainInteger)
        .allowed_by(&[ConfigClass::Database.at(170)])
        .takes("<seconds>", "")
        .does("Set how often slurpd looked for changes.")
        .meaningless(SLURPD),
    Setting::new(Inherited, &["replogfile"], &["olcReplogFile"])
        .olc("0.46", Form::PlainText)
        .allowed_by(&[ConfigClass::Global.at(390), ConfigClass::Database.at(180)])
        .takes("<file>", "")
        .does("Named the file of changes for slurpd.")
        .meaningless(SLURPD),
    Setting::new(Global, &["ucdata-path"], &[])
        .takes("<path>", "")
        .does("Named the directory of Unicode tables.")
        .meaningless("Unicode tables are part of the program; slapd ignores it too"),
];
