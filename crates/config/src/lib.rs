//! Configuration: the table of settings, the slapd.conf reader, the typed values that the other crates read.
//!
//! A setting is one row ([`Setting`]): names, form in cn=config, grammar, default, meaning, fate, and how it is set and
//! read back. The parser, `help`, the reference page and the schema of cn=config are made from the rows. Rows of
//! overlays stand beside the overlays, in another crate; a [`Registry`] holds all of them. Nothing here knows the
//! effect of a setting.
//!
//! Loading has three steps: [`reader`] makes statements from files, the schema is built from its definitions, then each
//! statement fills a struct through its row ([`load`]).

pub mod access;
mod class;
pub mod cluster;
pub mod connection;
pub mod database;
pub mod entry_files;
mod error;
mod form;
pub mod fuzz;
mod global;
pub mod kinds;
pub mod limits;
mod load;
mod log_level;
pub mod olc;
mod olc_schema;
mod operations;
pub mod overlay;
pub mod parts;
pub mod reader;
mod reference;
mod registry;
mod rows;
mod schema_lines;
mod schema_statement;
pub mod secret;
mod setting;
mod statement;
mod survey;
pub mod syncrepl;
#[cfg(test)]
mod test_overlay;
#[cfg(test)]
mod test_schema;
pub mod value;
mod word_set;
mod words;

pub use class::{ClassPlace, ConfigClass};
pub use database::{
    CheckpointInterval, DatabaseConfig, EnvironmentFlags, IndexKinds, IndexSetting, MdbConfig, Require, Restrict,
    Secret, SecurityFactors, Subordinate,
};
pub use error::{ConfigError, ErrorSubject, Notice, NoticeKind, SettingError};
pub use global::{
    Allow, AuthzPolicy, AuthzRegexp, BindFailureLimit, ChannelBinding, ClientCrlCheck, Disallow, GlobalConfig,
    LogFileFormat, LogRotation, MAX_FILTER_DEPTH, Network, ProtocolVersion, SaslConfig, SaslMechanisms, SecurityFlags,
    SecurityProperties, ServerId, TlsConfig, VerifyClient,
};
pub use load::{LoadedConfiguration, load};
pub use log_level::LogLevel;
pub use operations::Operations;
pub use overlay::OverlayConfig;
pub use reader::{Disk, FileSource, MemoryFiles};
pub use reference::{help, reference_markdown, statement_text};
pub use registry::Registry;
pub use schema_statement::{SchemaKind, SchemaStatement};
pub use setting::{Fate, Form, Handler, OWN, Owner, Presence, Setting, SettingLevel};
pub use statement::{Statement, ValueAge, instead_of_escape};
pub use survey::{Survey, Surveyed, SurveyedSection, survey};
