//! The setting row: everything there is to know about one setting, written once.
//!
//! The parser, `help`, the reference page and (with cn=config) the olc view are made from rows.

use ironbark_model::Schema;

use crate::{
    DatabaseConfig, GlobalConfig, OverlayConfig, SettingError, class::ClassPlace, schema_statement::SchemaKind,
    statement::Statement, value::parse_bool,
};

pub use crate::form::Form;

/// One setting.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// slapd.conf keywords: the first is the usual one. Empty for settings that only cn=config has. Compared without
    /// case. `word*` means any keyword that begins so, as in slapd; a row that it would hide must come before it.
    pub keywords: &'static [&'static str],
    /// cn=config attribute names: the first is the usual one. Empty if slapd has none.
    pub attributes: &'static [&'static str],
    /// OID of the attribute type: the part behind the arc of slapd's attribute types of cn=config, for example
    /// `3.11.1`; or, after a `+`, the part behind our own arc. Empty if there is no attribute.
    pub oid: &'static str,
    /// Form of the attribute's values.
    pub form: Form,
    /// The object classes that hold the attribute. Empty for settings of overlays, and of types of databases with
    /// [`ClassAttributes::OfSettings`](crate::database::ClassAttributes): their class has the attributes of all rows.
    pub classes: &'static [ClassPlace],
    /// Where the attribute appears even if it was not set.
    pub presence: Presence,
    /// Where it is allowed.
    pub level: SettingLevel,
    /// The arguments, as a manual page would write them.
    pub grammar: &'static str,
    /// Value in force when it is not set, in the form that `get` gives.
    pub default: &'static str,
    /// Its effect, in full sentences.
    pub documentation: &'static str,
    /// First OpenLDAP release that had it.
    pub since: &'static str,
    /// Accepted arguments, for the reference page and the tests. Obeyed settings have at least one.
    pub examples: &'static [&'static str],
    /// Whether a change in cn=config takes effect at the next start; others take effect at once.
    pub waits_for_start: bool,
    /// Whose value it is where cn=config is that of a cluster.
    pub owner: Owner,
    /// Whether a value is one argument, blanks and all (DNs, file names, passwords), rather than words.
    pub is_whole: bool,
    /// Whether such a value in cn=config has no quotes either: a quote at its beginning is part of it.
    pub is_verbatim: bool,
    /// How it is treated.
    pub fate: Fate,
}

/// [`Setting::since`] of settings that OpenLDAP does not have.
pub const OWN: &str = "Ironbark";

/// Whose value a setting is where cn=config is that of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// All servers have the same.
    Cluster,
    /// Each server has its own: names of its files, its addresses, and what leads to the cluster.
    Server,
}

/// Where an attribute of cn=config appears even if it was not set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Nowhere.
    Optional,
    /// In an entry that is converted from slapd.conf.
    Shown,
    /// In every entry: the object class of the overlay demands it.
    Required,
}

/// Where a setting is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingLevel {
    /// Anywhere; it applies to the server.
    Global,
    /// Only before the first `database` line.
    BeforeDatabases,
    /// In the global section, as a default for databases, or in a database.
    Inherited,
    /// In any database.
    Database,
    /// In databases of these types, by their usual names.
    DatabaseOf(&'static [&'static str]),
    /// In the `backend` section of this type.
    Backend(&'static str),
    /// After `overlay` with this name.
    Overlay(&'static str),
}

/// How a setting is treated.
#[derive(Clone, Copy, Debug)]
pub enum Fate {
    /// It takes effect.
    Obeyed(Handler),
    /// There is nothing to set here: it is accepted, and the log gives this reason.
    Meaningless(&'static str),
    /// It belongs to a part that is not supported; a configuration with it is refused. The text names the part, in the
    /// singular.
    Refused(&'static str),
}

/// How an obeyed setting is put into force and read back.
#[derive(Clone, Copy, Debug)]
pub enum Handler {
    /// Fills the server's configuration.
    Global {
        /// From arguments.
        set: fn(&mut GlobalConfig, &Statement<'_>) -> Result<(), SettingError>,
        /// The values in force, one string a value, without ordering prefixes.
        get: fn(&GlobalConfig, &Schema) -> Vec<String>,
    },
    /// Fills a database's configuration.
    Database {
        /// From arguments.
        set: fn(&mut DatabaseConfig, &Statement<'_>) -> Result<(), SettingError>,
        /// As for the server.
        get: fn(&DatabaseConfig, &Schema) -> Vec<String>,
    },
    /// Fills an overlay's settings: made by [`overlay_field!`](crate::overlay_field) or
    /// [`overlay_handler!`](crate::overlay_handler).
    Overlay {
        /// From arguments.
        set: fn(&mut OverlayConfig, &Statement<'_>) -> Result<(), SettingError>,
        /// As for the server.
        get: fn(&OverlayConfig, &Schema) -> Vec<String>,
    },
    /// A schema definition: collected in order, given to the schema builder.
    Schema(SchemaKind),
    /// Structures the configuration; the reader and the loader know it.
    Structure,
}

impl Setting {
    /// A row at `level`; the functions below add the rest.
    pub const fn new(
        level: SettingLevel,
        keywords: &'static [&'static str],
        attributes: &'static [&'static str],
    ) -> Self {
        Self {
            keywords,
            attributes,
            oid: "",
            form: Form::Text,
            classes: &[],
            presence: Presence::Optional,
            level,
            grammar: "",
            default: "",
            documentation: "",
            since: "2.0",
            examples: &[],
            waits_for_start: false,
            owner: Owner::Cluster,
            is_whole: false,
            is_verbatim: false,
            fate: Fate::Refused("a row without a fate"),
        }
    }

    /// OID and form of the attribute of cn=config: see [`Setting::oid`].
    #[must_use]
    pub const fn olc(mut self, oid: &'static str, form: Form) -> Self {
        self.oid = oid;
        self.form = form;
        self
    }

    /// The object classes that hold the attribute: see [`Setting::classes`].
    #[must_use]
    pub(crate) const fn allowed_by(mut self, classes: &'static [ClassPlace]) -> Self {
        self.classes = classes;
        self
    }

    /// A converted slapd.conf shows the attribute even if it was not set.
    #[must_use]
    pub const fn shown(mut self) -> Self {
        self.presence = Presence::Shown;
        self
    }

    /// The object class of the overlay demands the attribute.
    #[must_use]
    pub const fn required(mut self) -> Self {
        self.presence = Presence::Required;
        self
    }

    /// Grammar and default.
    #[must_use]
    pub const fn takes(mut self, grammar: &'static str, default: &'static str) -> Self {
        self.grammar = grammar;
        self.default = default;
        self
    }

    /// Documentation.
    #[must_use]
    pub const fn does(mut self, documentation: &'static str) -> Self {
        self.documentation = documentation;
        self
    }

    /// First release.
    #[must_use]
    pub const fn since(mut self, release: &'static str) -> Self {
        self.since = release;
        self
    }

    /// Accepted arguments.
    #[must_use]
    pub const fn like(mut self, examples: &'static [&'static str]) -> Self {
        self.examples = examples;
        self
    }

    /// A change waits for the next start.
    #[must_use]
    pub const fn at_next_start(mut self) -> Self {
        self.waits_for_start = true;
        self
    }

    /// Each server of a cluster has its own.
    #[must_use]
    pub const fn of_each_server(mut self) -> Self {
        self.owner = Owner::Server;
        self
    }

    /// A value is one argument.
    #[must_use]
    pub const fn whole(mut self) -> Self {
        self.is_whole = true;
        self
    }

    /// A value is one argument, and no character in it has a special meaning.
    #[must_use]
    pub const fn verbatim(mut self) -> Self {
        self.is_whole = true;
        self.is_verbatim = true;
        self
    }

    /// Obeyed.
    #[must_use]
    pub const fn obeyed(mut self, handler: Handler) -> Self {
        self.fate = Fate::Obeyed(handler);
        self
    }

    /// Meaningless here.
    #[must_use]
    pub const fn meaningless(mut self, reason: &'static str) -> Self {
        self.fate = Fate::Meaningless(reason);
        self
    }

    /// Refused.
    #[must_use]
    pub const fn refused(mut self, part: &'static str) -> Self {
        self.fate = Fate::Refused(part);
        self
    }

    /// The usual name: the slapd.conf keyword, or the attribute if only cn=config has the setting.
    pub fn name(&self) -> &'static str {
        self.keywords
            .first()
            .or(self.attributes.first())
            .copied()
            .unwrap_or_default()
    }

    /// Whether a value equals the default.
    pub(crate) fn is_default(&self, text: &str) -> bool {
        let is_same_switch = || parse_bool(text).is_some_and(|value| parse_bool(self.default) == Some(value));
        !self.default.is_empty() && (self.default.eq_ignore_ascii_case(text) || is_same_switch())
    }

    /// The whole OID of the attribute type.
    pub(crate) fn full_oid(&self) -> String {
        match self.oid.strip_prefix('+') {
            Some(rest) => format!("{OWN_ARC}{rest}"),
            None => format!("{ARC}{}", self.oid),
        }
    }

    /// Whether `name` is one of the attributes; it may have the option `;binary`.
    pub(crate) fn has_attribute(&self, name: &str) -> bool {
        let name = base_attribute(name);
        self.attributes.iter().any(|known| known.eq_ignore_ascii_case(name))
    }

    /// Whether `word` is one of the keywords.
    pub fn has_keyword(&self, word: &str) -> bool {
        self.keywords.iter().any(|keyword| match keyword.strip_suffix('*') {
            Some(prefix) => word
                .get(..prefix.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(prefix)),
            None => keyword.eq_ignore_ascii_case(word),
        })
    }
}

/// An attribute description without `;binary`.
pub(crate) fn base_attribute(name: &str) -> &str {
    let (start, end) = name
        .split_at_checked(name.len().saturating_sub(7))
        .unwrap_or((name, ""));
    if end.eq_ignore_ascii_case(";binary") {
        start
    } else {
        name
    }
}

/// The arc of OpenLDAP's attribute types of cn=config.
const ARC: &str = "1.3.6.1.4.1.4203.1.12.2.3.";

/// The arc of attribute types for settings that OpenLDAP does not have.
const OWN_ARC: &str = "2.25.1246756151.2.";
