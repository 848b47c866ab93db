//! Keywords that slapd itself reads and ignores.

use crate::setting::{
    Level::{Database, Global, Inherited},
    Setting,
};

const SLURPD: &str = "it belonged to slurpd, which ended with OpenLDAP 2.3; slapd ignores it too";

pub(crate) const ROWS: &[Setting] = &[
    Setting::new(Database, &["replica"], &["olcReplica"])
        .takes("<uri> ...", "")
        .does("Named a replica of slurpd.")
        .meaningless(SLURPD),
    Setting::new(Inherited, &["replica-argsfile"], &["olcReplicaArgsFile"])
        .takes("<file>", "")
        .does("Named the file with slurpd's command line.")
        .meaningless(SLURPD),
    Setting::new(Inherited, &["replica-pidfile"], &["olcReplicaPidFile"])
        .takes("<file>", "")
        .does("Named the file with slurpd's process number.")
        .meaningless(SLURPD),
    Setting::new(Inherited, &["replicationInterval"], &["olcReplicationInterval"])
        .takes("<seconds>", "")
        .does("Set how often slurpd looked for changes.")
        .meaningless(SLURPD),
    Setting::new(Inherited, &["replogfile"], &["olcReplogFile"])
        .takes("<file>", "")
        .does("Named the file of changes for slurpd.")
        .meaningless(SLURPD),
    Setting::new(Global, &["ucdata-path"], &[])
        .takes("<path>", "")
        .does("Named the directory of Unicode tables.")
        .meaningless("Unicode tables are part of the program; slapd ignores it too"),
];
