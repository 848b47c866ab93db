//! Settings of one database, and their rows.

pub(crate) mod conditions;
mod descriptor;
pub(crate) mod index;
pub(crate) mod mdb;
pub(crate) mod null;
mod own;
pub(crate) mod security;

use std::path::PathBuf;

use ironbark_model::{Dn, Schema, schema::Source};

use crate::{
    access::{AccessRule, OperationRule},
    limits::{LimitsRule, SearchLimits},
    overlay::OverlayConfig,
    statement::Kept,
};

pub use crate::database_kind::DatabaseKind;
pub use conditions::{Require, Restrict};
pub use descriptor::DatabaseDescriptor;
pub use index::{IndexKinds, IndexSetting};
pub use mdb::{Checkpoint, EnvironmentFlags, MdbConfig};
pub use null::NullConfig;
pub use own::{DatabaseGetter, DatabaseSetter, DatabaseSettings, OwnSettings};
pub use security::SecurityFactors;

/// One database, or the frontend.
#[derive(Clone, PartialEq, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is one setting of slapd.conf")]
pub struct DatabaseConfig {
    /// Its type.
    pub kind: DatabaseKind,
    /// Its `database` line; line 0 for the frontend that nothing declared.
    pub location: Source,
    /// `suffix`: its naming context, exactly one. Fixed for monitor and config; none for the frontend.
    pub suffixes: Vec<Dn>,
    /// `rootdn`. cn=config for the config database by default.
    pub root_dn: Option<Dn>,
    /// `rootpw`.
    pub root_password: Option<Secret>,
    /// `subordinate`: part of the naming context of the database above.
    pub subordinate: Option<Subordinate>,
    /// `hidden`.
    pub hidden: bool,
    /// `olcDisabled`.
    pub disabled: bool,
    /// `lastmod`.
    pub last_modified: bool,
    /// `lastbind`.
    pub last_bind: bool,
    /// `lastbind-precision`; 0 in a database: the frontend's.
    pub last_bind_precision_s: u32,
    /// `readonly`.
    pub read_only: bool,
    /// `monitoring`: whether cn=Monitor shows the store's figures.
    pub monitoring: bool,
    /// `add_content_acl`.
    pub add_content_acl: bool,
    /// `maxderefdepth`.
    pub max_dereference_depth: u32,
    /// `restrict`.
    pub restrict: Restrict,
    /// `require`.
    pub require: Require,
    /// `security`.
    pub security: SecurityFactors,
    /// `sizelimit`, `timelimit`.
    pub search_limits: SearchLimits,
    /// The frontend's value of [`DatabaseConfig::search_limits`] when the database began.
    pub(crate) inherited_limits: SearchLimits,
    /// `limits`, in order.
    pub limits: Vec<LimitsRule>,
    /// `access`, in order. The frontend's rules follow a database's own.
    pub access: Vec<AccessRule>,
    /// `restrictop`, in order. A database without any has the frontend's.
    pub operation_rules: Vec<OperationRule>,
    /// `schemadn`; `None`: cn=Subschema, or the frontend's.
    pub schema_dn: Option<Dn>,
    /// `directory` of mdb and ldif: where the files are. Empty for ldif when it was not set.
    pub directory: PathBuf,
    /// Settings of the store alone.
    pub mdb: MdbConfig,
    /// Settings of the null database alone.
    pub null: NullConfig,
    /// What only a database has whose type stands in another crate.
    pub(crate) own: Option<OwnSettings>,
    /// `overlay`, in order; the last one sees a request first.
    pub overlays: Vec<OverlayConfig>,
    /// Settings without meaning here.
    pub(crate) kept: Kept,
}

/// `subordinate`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Subordinate {
    /// Whether the root DSE names its suffix.
    pub advertise: bool,
}

/// A password, never shown by `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub Vec<u8>);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(***)")
    }
}

impl DatabaseConfig {
    /// The frontend with slapd's defaults.
    pub fn frontend() -> Self {
        Self {
            kind: DatabaseKind::Frontend,
            location: Source {
                file: "built-in".into(),
                line: 0,
            },
            suffixes: Vec::new(),
            root_dn: None,
            root_password: None,
            subordinate: None,
            hidden: false,
            disabled: false,
            last_modified: true,
            last_bind: false,
            last_bind_precision_s: 0,
            read_only: false,
            monitoring: true,
            add_content_acl: false,
            max_dereference_depth: 15,
            restrict: Restrict::default(),
            require: Require::default(),
            security: SecurityFactors::default(),
            search_limits: SearchLimits::default(),
            inherited_limits: SearchLimits::default(),
            limits: Vec::new(),
            access: Vec::new(),
            operation_rules: Vec::new(),
            schema_dn: None,
            directory: PathBuf::from("/var/lib/ldap"),
            mdb: MdbConfig::default(),
            null: NullConfig::default(),
            own: None,
            overlays: Vec::new(),
            kept: Kept::default(),
        }
    }

    /// A database that inherits the frontend's settings at this point of the file.
    pub fn new(kind: DatabaseKind, location: Source, frontend: &Self, schema: &Schema) -> Self {
        let suffix = kind
            .fixed_suffix()
            .and_then(|name| Dn::parse(schema, name.as_bytes()).ok());
        Self {
            kind,
            location,
            root_dn: suffix.clone().filter(|_| kind == DatabaseKind::Config),
            suffixes: suffix.into_iter().collect(),
            add_content_acl: kind == DatabaseKind::Config,
            require: frontend.require,
            security: frontend.security,
            search_limits: frontend.search_limits.clone(),
            inherited_limits: frontend.search_limits.clone(),
            directory: match kind {
                // slapd has no default for it.
                DatabaseKind::Ldif => PathBuf::new(),
                _ => Self::frontend().directory,
            },
            ..Self::frontend()
        }
    }

    /// Adds the frontend's restrictions. They apply to every database, even if they stand later in the file, and a
    /// database cannot lift them.
    pub(crate) fn restrict_as(&mut self, frontend: &Self) {
        self.read_only |= frontend.read_only;
        self.require = self.require.with(frontend.require);
        let Restrict { operations, extended } = &frontend.restrict;
        self.restrict.operations = self.restrict.operations.with(*operations);
        self.restrict.extended.extend_from_slice(extended);
    }
}
