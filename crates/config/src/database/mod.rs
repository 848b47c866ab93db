//! What a type of database tells of itself, and the settings of one database.

pub(crate) mod conditions;
pub(crate) mod index;
pub(crate) mod mdb;
pub(crate) mod security;
mod settings;

use std::path::PathBuf;

use ironbark_model::{Dn, Schema, schema::Source};

use crate::{
    access::{AccessRule, OperationRule},
    class::ConfigClass,
    cluster::ClusterConfig,
    limits::{LimitsRule, SearchLimits},
    overlay::OverlayConfig,
    setting::Setting,
    statement::Kept,
    syncrepl::Syncrepl,
};

pub use crate::secret::Secret;
pub use conditions::{Require, Restrict};
pub use index::{IndexKinds, IndexSetting};
pub use mdb::{CheckpointInterval, EnvironmentFlags, MdbConfig};
pub use security::SecurityFactors;
pub use settings::{DatabaseGetter, DatabaseSetter, DatabaseSettings};
pub(crate) use settings::{KindSettings, database_handler};

/// All that configuration needs to know of a type of database. It is written in a file of its own: for those of this
/// crate in [`kinds`](crate::kinds), for others beside the struct of its settings.
#[derive(Debug)]
pub struct DatabaseDescriptor {
    /// The usual name in `database`. Its rows have the level [`DatabaseOf`](crate::SettingLevel) with this name.
    pub name: &'static str,
    /// Further names in `database`.
    pub aliases: &'static [&'static str],
    /// Further names that `moduleload` may use, in the form of [`crate::parts::module_name`]. Each name with `back-`
    /// need not be repeated.
    pub modules: &'static [&'static str],
    /// Where the entries are.
    pub entries: EntryPlace,
    /// Which naming contexts it has.
    pub suffix: SuffixRule,
    /// Object classes of its entry in cn=config, the usual one first; none: it is an olcDatabaseConfig.
    pub classes: &'static [DatabaseClass],
    /// The object class of the entry of its `backend` section; `None`: it is an olcBackendConfig.
    pub backend_class: Option<DatabaseClass>,
    /// The groups of its settings. If its class has [`ClassAttributes::OfSettings`], they are in the order of the
    /// class.
    pub settings: &'static [&'static [Setting]],
    /// Gives a new database what only its type has, before any statement. [`DatabaseConfig::begin`] gives settings.
    pub begin: fn(&mut DatabaseConfig),
    /// What the reference page says before its settings, in full sentences; may be empty.
    pub introduction: &'static str,
}

/// Where the entries of a database are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EntryPlace {
    /// In the store: one file of LMDB, with indexes.
    Store,
    /// In a file for each entry.
    Files,
    /// Nowhere: what is written is lost.
    Nowhere,
    /// In memory, where the server makes them.
    Memory,
    /// Outside this server. No tool reaches them.
    Elsewhere,
    /// There is no database: the frontend, whose settings all databases inherit.
    Frontend,
}

/// Which naming contexts a database has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SuffixRule {
    /// None.
    No,
    /// This one, which is not configured. So there is at most one database of the type.
    Fixed(&'static str),
    /// One, by `suffix`.
    One,
    /// One or more, by `suffix`.
    Many,
}

/// An object class of cn=config.
#[derive(Clone, Copy, Debug)]
pub struct DatabaseClass {
    /// Names, the usual one first.
    pub names: &'static [&'static str],
    /// The part of the OID behind the arc of slapd's object classes of cn=config, for example `2.7.1`.
    pub oid: &'static str,
    /// Its attributes.
    pub attributes: ClassAttributes,
}

/// The attributes of an object class of cn=config.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClassAttributes {
    /// Those of the settings of its type of database.
    OfSettings,
    /// Those that say themselves that they belong to this class.
    Of(ConfigClass),
}

/// A type equals only itself. Its name is its own.
impl PartialEq for DatabaseDescriptor {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for DatabaseDescriptor {}

impl DatabaseDescriptor {
    /// Whether it keeps entries that clients and tools write.
    pub fn is_stored(&self) -> bool {
        matches!(self.entries, EntryPlace::Store | EntryPlace::Files)
    }

    /// Whether it is a file of LMDB with indexes.
    pub fn has_indexes(&self) -> bool {
        self.entries == EntryPlace::Store
    }

    /// Whether its naming contexts are configured.
    pub fn has_suffix(&self) -> bool {
        matches!(self.suffix, SuffixRule::One | SuffixRule::Many)
    }

    /// Whether its entries are elsewhere, and no tool reaches them.
    pub fn is_external(&self) -> bool {
        self.entries == EntryPlace::Elsewhere
    }

    /// Its names in `database`, the usual one first.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }
}

/// `database frontend`: no database, but what all databases inherit.
pub static FRONTEND: DatabaseDescriptor = DatabaseDescriptor {
    name: "frontend",
    aliases: &[],
    modules: &[],
    entries: EntryPlace::Frontend,
    suffix: SuffixRule::No,
    classes: &[],
    backend_class: None,
    settings: &[],
    begin: |_| {},
    introduction: "",
};

/// One database, or the frontend.
#[derive(Clone, PartialEq, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is one setting of slapd.conf")]
pub struct DatabaseConfig {
    /// Its type.
    pub kind: &'static DatabaseDescriptor,
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
    pub max_dereference_depth: i32,
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
    /// Settings that only its type has.
    pub(crate) kind_settings: Option<KindSettings>,
    /// `syncrepl`, in order.
    pub syncrepl: Vec<Syncrepl>,
    /// `cluster`.
    pub cluster: Option<ClusterConfig>,
    /// `multiprovider`.
    pub multi_provider: bool,
    /// Whether it is glued into a database that keeps its changes for others: so must this one. The directory finds
    /// out.
    pub is_provided_by_superior: bool,
    /// `updatedn`.
    pub update_dn: Option<Dn>,
    /// `updateref`.
    pub update_referrals: Vec<String>,
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

impl DatabaseConfig {
    /// Whether the database keeps a log of its changes and a context vector even without followers.
    pub fn keeps_changes(&self) -> bool {
        let is_set = self.mdb.change_log_octets.is_some() || self.mdb.change_log_age_s.is_some();
        is_set
            || self.is_provided_by_superior
            || !self.syncrepl.is_empty()
            || self.cluster.is_some()
            || self.overlays.iter().any(OverlayConfig::keeps_changes)
    }

    /// Whether clients write here and servers that it follows may have changes that it made itself.
    pub fn may_hear_of_itself(&self) -> bool {
        self.multi_provider && self.syncrepl.iter().any(|line| !line.is_own)
    }

    /// Whether changes of others are merged value by value, as they are made here as well.
    pub fn merges_values(&self) -> bool {
        self.multi_provider && self.follows_logs()
    }

    fn follows_logs(&self) -> bool {
        self.syncrepl.iter().any(|line| line.log.is_some())
    }

    /// Whether the database is a copy that clients may not write to: it follows another server and has no changes of
    /// its own, or only `updatedn` may write.
    pub fn is_shadow(&self) -> bool {
        let follows = self.syncrepl.iter().any(|line| !line.is_own);
        !self.multi_provider && (follows || self.update_dn.is_some())
    }

    /// Notes which lines `syncrepl` name this server as their provider; `is_own` says so of a URL.
    pub fn note_own_lines(&mut self, is_own: &dyn Fn(&str) -> bool) {
        for line in &mut self.syncrepl {
            let is_whole = self.suffixes.contains(&line.base);
            line.is_own = is_whole && line.connection.urls.iter().any(|url| is_own(&url.to_string()));
        }
    }

    /// The frontend with slapd's defaults.
    pub fn frontend() -> Self {
        Self {
            kind: &FRONTEND,
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
            kind_settings: None,
            syncrepl: Vec::new(),
            cluster: None,
            multi_provider: false,
            is_provided_by_superior: false,
            update_dn: None,
            update_referrals: Vec::new(),
            overlays: Vec::new(),
            kept: Kept::default(),
        }
    }

    /// A database that inherits the frontend's settings at this point of the file.
    pub fn new(kind: &'static DatabaseDescriptor, location: Source, frontend: &Self, schema: &Schema) -> Self {
        let suffix = match kind.suffix {
            SuffixRule::Fixed(name) => Dn::parse(schema, name.as_bytes()).ok(),
            _ => None,
        };
        let mut database = Self {
            kind,
            location,
            suffixes: suffix.into_iter().collect(),
            require: frontend.require,
            security: frontend.security,
            search_limits: frontend.search_limits.clone(),
            inherited_limits: frontend.search_limits.clone(),
            ..Self::frontend()
        };
        (kind.begin)(&mut database);
        database
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
