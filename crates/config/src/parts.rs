//! The parts of OpenLDAP that a configuration may name (database types, overlays, modules), and which of them are
//! supported here.

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
}

/// Every part that there is: those of [`OTHERS`], and the overlays and types of databases that are built.
#[derive(Clone, Debug)]
pub struct Parts(Vec<Part>);

impl Parts {
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
        self.iter().find(|part| {
            matches!(part.kind, PartKind::Database | PartKind::MissingDatabase) && part.name.eq_ignore_ascii_case(name)
        })
    }

    /// An overlay by the name in `overlay`.
    pub fn overlay(&self, name: &str) -> Option<&Part> {
        let is_overlay = |kind| {
            matches!(
                kind,
                PartKind::Overlay | PartKind::BuiltIn(_) | PartKind::MissingOverlay
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
                || match part.kind {
                    PartKind::Database | PartKind::MissingDatabase => {
                        name.strip_prefix("back-").is_some_and(|name| name == part.name)
                    }
                    _ => name == part.name,
                }
        })
    }
}

/// Whether the part that `moduleload` names is supported.
pub fn is_built(part: &Part) -> bool {
    match part.kind {
        PartKind::Database | PartKind::Overlay | PartKind::BuiltIn(_) | PartKind::Passwords | PartKind::Module => true,
        PartKind::MissingDatabase | PartKind::MissingOverlay | PartKind::MissingModule => false,
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
    missing_database("dnssrv"),
    missing_database("ldap"),
    missing_database("ldbm"),
    missing_database("meta"),
    missing_database("ndb"),
    missing_database("passwd"),
    missing_database("perl"),
    missing_database("relay"),
    missing_database("shell"),
    missing_database("sql"),
    missing_database("wt"),
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
    missing_overlay("dupent"),
    missing_overlay("lastmod"),
    missing_overlay("nssov"),
    missing_overlay("pbind"),
    missing_overlay("pcache"),
    missing_overlay("rbac"),
    missing_overlay("remoteauth"),
    missing_overlay("rwm"),
    missing_overlay("trace"),
    missing_overlay("translucent"),
    missing_overlay("variant"),
    missing_overlay("vc"),
    passwords("pw-sha2", &["slapd-sha2"]),
    passwords("pw-pbkdf2", &["pbkdf2"]),
    passwords("pw-argon2", &["argon2"]),
    passwords("pw-apr1", &["apr1"]),
    passwords("pw-netscape", &["netscape"]),
    module("ciboolean"),
    module("ppm"),
    missing_module("lloadd"),
    missing_module("pw-kerberos"),
    missing_module("pw-radius"),
    missing_module("check-password"),
    missing_module("compmatch"),
];
