//! What a database is opened with.

use std::path::PathBuf;

use ironbark_model::Dn;

/// How a database is opened. Names are those of slapd-mdb(5).
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "flags of slapd-mdb(5), each on its own")]
pub struct DatabaseOptions {
    /// `directory`.
    pub directory: PathBuf,
    /// The naming contexts (`suffix`, usually one).
    pub suffixes: Vec<Dn>,
    /// `maxsize` in bytes: the ceiling of the file. `None`: limited by the disk alone.
    pub max_size: Option<u64>,
    /// `maxreaders`.
    pub max_readers: u32,
    /// `mode` of the files.
    pub mode: u32,
    /// `dbnosync` / `envflags nosync`.
    pub no_sync: bool,
    /// `envflags nometasync`.
    pub no_meta_sync: bool,
    /// `envflags nordahead`.
    pub no_read_ahead: bool,
    /// The wanted indexes.
    pub indexes: Vec<IndexDefinition>,
    /// Whether the database may be changed; tools like slapcat open read-only.
    pub read_only: bool,
}

/// One attribute's line of `index`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "words of the directive `index`, each on its own"
)]
pub struct IndexDefinition {
    /// Attribute type as text (first NAME, or OID).
    pub attribute: Box<str>,
    /// `pres`.
    pub presence: bool,
    /// `eq`.
    pub equality: bool,
    /// `sub`, `subinitial`, `subany`, `subfinal`: one trigram index serves all.
    pub substring: bool,
    /// `approx`.
    pub approximate: bool,
    /// `nolang`: values with language tags are not indexed under the base type.
    pub no_language: bool,
    /// `nosubtypes`: values of subtypes are not indexed under this type.
    pub no_subtypes: bool,
}
