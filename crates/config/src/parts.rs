//! The parts of OpenLDAP that a configuration may name (database types, overlays, modules), and which of them are
//! supported here.

use crate::SettingError;

/// One part.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Name in `database`, `backend` or `overlay`; for other modules the name of the module.
    pub name: &'static str,
    /// Names that `moduleload` may use, in the form of [`module_name`]. The name itself (with `back-` for databases)
    /// need not be repeated.
    pub modules: &'static [&'static str],
    /// What it is.
    pub kind: PartKind,
}

/// What a part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartKind {
    /// A database type that is built.
    Database,
    /// A database type that is not built.
    MissingDatabase,
    /// An overlay that is built.
    Overlay,
    /// An overlay whose work is always done here; the log gives the reason.
    BuiltIn(&'static str),
    /// An overlay that is not built.
    MissingOverlay,
    /// A module of password schemes that is built.
    Passwords,
    /// Another module that is built.
    Module,
    /// Another module that is not built.
    MissingModule,
    /// A module with access rules of its own (`dynacl/<name>`), which are not built.
    MissingRules,
    /// A database type that will not be built; what serves in its place.
    RefusedDatabase(&'static str),
    /// An overlay that will not be built; what serves in its place.
    RefusedOverlay(&'static str),
    /// Another module that will not be built; what serves in its place.
    RefusedModule(&'static str),
}

/// Every part that there is: those of [`OTHERS`], and the overlays and types of databases that are built.
#[derive(Clone, Debug)]
pub struct PartList(Vec<Part>);

impl PartList {
    /// With overlays and types of databases, by names and further names of their modules.
    pub(crate) fn new(
        overlays: impl Iterator<Item = (&'static str, &'static [&'static str])>,
        databases: impl Iterator<Item = (&'static str, &'static [&'static str])>,
    ) -> Self {
        let overlays = overlays.map(|(name, modules)| Part {
            name,
            modules,
            kind: PartKind::Overlay,
        });
        let databases = databases.map(|(name, modules)| Part {
            name,
            modules,
            kind: PartKind::Database,
        });
        Self(overlays.chain(databases).chain(OTHERS.iter().copied()).collect())
    }

    /// Every part; first overlays, then types of databases that are built.
    pub fn iter(&self) -> impl Iterator<Item = &Part> {
        self.0.iter()
    }

    /// A database type by the name in `database`.
    pub fn database(&self, name: &str) -> Option<&Part> {
        self.iter()
            .find(|part| part.kind.is_database() && part.name.eq_ignore_ascii_case(name))
    }

    /// An overlay by the name in `overlay`.
    pub fn overlay(&self, name: &str) -> Option<&Part> {
        let is_overlay = |kind| {
            matches!(
                kind,
                PartKind::Overlay | PartKind::BuiltIn(_) | PartKind::MissingOverlay | PartKind::RefusedOverlay(_)
            )
        };
        self.iter()
            .find(|part| is_overlay(part.kind) && part.name.eq_ignore_ascii_case(name))
    }

    /// A part by the argument of `moduleload`.
    pub fn module(&self, argument: &str) -> Option<&Part> {
        let name = module_name(argument);
        self.iter().find(|part| {
            part.modules.contains(&name.as_str())
                || if part.kind.is_database() {
                    name.strip_prefix("back-").is_some_and(|name| name == part.name)
                } else {
                    name == part.name
                }
        })
    }
}

impl PartKind {
    fn is_database(self) -> bool {
        matches!(self, Self::Database | Self::MissingDatabase | Self::RefusedDatabase(_))
    }
}

impl Part {
    /// The error of a statement that names the part, which is not built, by this text.
    pub(crate) fn absent(&self, named: String) -> SettingError {
        match self.kind {
            PartKind::RefusedDatabase(instead)
            | PartKind::RefusedOverlay(instead)
            | PartKind::RefusedModule(instead) => {
                SettingError::RefusedPart(format!("{named} will not be built: {instead}"))
            }
            _ => SettingError::MissingPart(named),
        }
    }
}

impl Part {
    /// The line without which a part that is not built would do nothing, even where it is loaded.
    pub(crate) fn used_by(&self) -> Option<String> {
        let name = self.name;
        match self.kind {
            PartKind::MissingDatabase | PartKind::RefusedDatabase(_) => Some(format!("database {name}")),
            PartKind::MissingOverlay | PartKind::RefusedOverlay(_) => Some(format!("overlay {name}")),
            PartKind::MissingRules => Some(format!("by dynacl/{name}")),
            _ => None,
        }
    }
}

/// Whether the part that `moduleload` names is supported.
pub fn is_built(part: &Part) -> bool {
    match part.kind {
        PartKind::Database | PartKind::Overlay | PartKind::BuiltIn(_) | PartKind::Passwords | PartKind::Module => true,
        PartKind::MissingDatabase
        | PartKind::MissingOverlay
        | PartKind::MissingModule
        | PartKind::MissingRules
        | PartKind::RefusedDatabase(_)
        | PartKind::RefusedOverlay(_)
        | PartKind::RefusedModule(_) => false,
    }
}

/// `{0}/usr/lib/ldap/back_mdb.la` is `back-mdb`.
pub fn module_name(argument: &str) -> String {
    let argument = match argument.strip_prefix('{').and_then(|rest| rest.split_once('}')) {
        Some((digits, rest)) if digits.bytes().all(|digit| digit.is_ascii_digit()) => rest,
        _ => argument,
    };
    let file = argument.rsplit('/').next().unwrap_or_default();
    let stem = file.split_once('.').map_or(file, |(stem, _)| stem);
    stem.to_ascii_lowercase().replace('_', "-")
}

const fn missing_database(name: &'static str) -> Part {
    Part {
        name,
        modules: &[],
        kind: PartKind::MissingDatabase,
    }
}

const fn refused_database(name: &'static str, instead: &'static str) -> Part {
    Part {
        name,
        modules: &[],
        kind: PartKind::RefusedDatabase(instead),
    }
}

const fn refused_overlay(name: &'static str, instead: &'static str) -> Part {
    Part {
        name,
        modules: &[],
        kind: PartKind::RefusedOverlay(instead),
    }
}

const fn refused_module(name: &'static str, instead: &'static str) -> Part {
    Part {
        name,
        modules: &[],
        kind: PartKind::RefusedModule(instead),
    }
}

const fn missing_overlay(name: &'static str) -> Part {
    Part {
        name,
        modules: &[],
        kind: PartKind::MissingOverlay,
    }
}

const fn passwords(name: &'static str, modules: &'static [&'static str]) -> Part {
    Part {
        name,
        modules,
        kind: PartKind::Passwords,
    }
}

const fn module(name: &'static str) -> Part {
    Part {
        name,
        modules: &[],
        kind: PartKind::Module,
    }
}

const fn missing_rules(name: &'static str, modules: &'static [&'static str]) -> Part {
    Part {
        name,
        modules,
        kind: PartKind::MissingRules,
    }
}

const fn missing_module(name: &'static str) -> Part {
    Part {
        name,
        modules: &[],
        kind: PartKind::MissingModule,
    }
}

/// Every part but overlays and types of databases that are built. A test holds that those are not among them.
const OTHERS: &[Part] = &[
    missing_database("asyncmeta"),
    refused_database("dnssrv", "name the servers with `referral`, or in referral entries"),
    missing_database("ldap"),
    refused_database(
        "ldbm",
        "export with the old server's slapcat, and slapadd into `database mdb`",
    ),
    missing_database("meta"),
    refused_database("ndb", "`database mdb` holds the entries, and replication copies them"),
    missing_database("passwd"),
    refused_database("perl", "`database sock` lets a program in any language answer"),
    missing_database("relay"),
    refused_database("shell", "`database sock` lets a program in any language answer"),
    refused_database("sql", "`database sock` lets a program answer from tables"),
    refused_database("wt", "export with slapcat, and slapadd into `database mdb`"),
    Part {
        name: "deref",
        modules: &[],
        kind: PartKind::BuiltIn("the dereference control is always offered"),
    },
    Part {
        name: "glue",
        modules: &[],
        kind: PartKind::BuiltIn("the server itself glues subordinate databases, whatever the order of overlays"),
    },
    missing_overlay("adremap"),
    missing_overlay("alias"),
    missing_overlay("chain"),
    missing_overlay("datamorph"),
    missing_overlay("distproc"),
    refused_overlay("dupent", "clients take entries with several values apart themselves"),
    refused_overlay(
        "lastmod",
        "a search for modifyTimestamp, or a consumer (syncrepl), sees the last changes",
    ),
    refused_overlay("nssov", "sssd, or nslcd, does this on each client"),
    missing_overlay("pbind"),
    missing_overlay("pcache"),
    refused_overlay(
        "rbac",
        "roles (overlay roles) and groups in groups (overlay nestgroup) serve for this",
    ),
    missing_overlay("remoteauth"),
    missing_overlay("resultstats"),
    missing_overlay("rwm"),
    missing_overlay("trace"),
    missing_overlay("translucent"),
    missing_overlay("variant"),
    passwords("pw-sha2", &["slapd-sha2"]),
    passwords("pw-pbkdf2", &["pbkdf2"]),
    passwords("pw-argon2", &["argon2"]),
    passwords("pw-apr1", &["apr1"]),
    passwords("pw-netscape", &["netscape"]),
    module("ciboolean"),
    module("ppm"),
    module("vc"),
    missing_rules("gss", &["gssacl"]),
    missing_rules("now", &[]),
    missing_rules("posixGroup", &["posixgroup"]),
    missing_module("lloadd"),
    missing_module("pw-kerberos"),
    missing_module("pw-radius"),
    refused_module(
        "check-password",
        "overlay ppolicy has rules of its own, and those of ppm",
    ),
    refused_module("compmatch", "the matching rules for certificates are built in"),
    refused_module("dsaschema", "schema files are read by `include`"),
    refused_module("kinit", "k5start, or another service of the system, renews tickets"),
    refused_module(
        "samba4",
        "Samba keeps the directory of a domain itself; `syncrepl` with `type=dirSync` follows it",
    ),
];
