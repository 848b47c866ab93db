//! The change record: what one write did, in resolved effects. One per committed write operation.
//!
//! Applying a record is deterministic and needs no schema check, clock, randomness, configuration or access control.
//! Names and attribute descriptions are text, so that a record can be read on a server with another numbering.

pub(crate) mod codec;
mod memory;
mod parts;
mod requested;

pub use requested::{RequestFacts, RequestedChange, RequestedControl, RequestedKind, RequestedModification};

use crate::csn::Csn;

/// Attribute description and values.
pub type TextAttribute = (Box<str>, Vec<Vec<u8>>);

/// One write operation, resolved.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ChangeRecord {
    /// Its place in the log of its database.
    pub position: Position,
    /// Hash of the record before it if records come from a common log; otherwise zeros.
    pub predecessor: [u8; 16],
    /// `entryCSN` of the change; [`ChangeRecord::effect_csn`] tells those of further entries.
    pub csn: Csn,
    /// ID of the server that sent it; 0: it was made here; [`ChangeRecord::UNKNOWN_PEER`]: a server that did not tell
    /// its ID. The context vector takes in the CSN of a change that was made here. A provider's changes come in any
    /// order during a refresh, so of those it takes in the `cookie` alone.
    pub via: u16,
    /// When it was made, in microseconds since 1970.
    pub unix_micros: i64,
    /// The author: authorization DN, pretty form; empty for anonymous or internal changes.
    pub author: Box<str>,
    /// The identity that authenticated, pretty form. It differs from the author under proxied authorization.
    pub authenticated: Box<str>,
    /// The request, if a follower of the database may ask for it.
    pub request: Option<RequestFacts>,
    /// The operation that the client asked for.
    pub kind: ChangeKind,
    /// Effects in the order of application. The first is the operation's own; the rest are those of overlays.
    pub effects: Vec<RecordedEffect>,
    /// The changes as the client asked for them, in the order of execution, if a follower wants them.
    pub requested: Vec<RequestedChange>,
    /// UUIDs that get a tombstone with this change, though no entry had them here.
    pub buried: Vec<[u8; 16]>,
    /// CSNs that the context vector takes in with this change.
    pub cookie: Vec<Csn>,
    /// What overlays remember of the database from this change on, by name, such as the next number of a range. Other
    /// servers of the cluster remember it too.
    pub notes: Vec<(Box<str>, Vec<u8>)>,
    /// IDs of servers whose CSNs the context vector drops with this change.
    pub forgotten: Vec<u16>,
    /// Only with the CSN of a revision that a provider has sent: the greatest CSN that the provider knew of the server
    /// that made the revision. A server whose vector covers this CSN has the revision; the CSN of the revision itself
    /// does not tell that.
    pub revised_by: Option<Csn>,
}

impl ChangeRecord {
    /// The CSNs that the context vector takes in with it. A provider's changes come in any order during a refresh, so
    /// only its cookie says what is complete. A change that stays here has no CSN for others.
    pub fn context_csns(&self) -> impl Iterator<Item = Csn> {
        let stays = !self.effects.is_empty() && self.effects.iter().all(|recorded| recorded.marks.silent);
        let own = (self.via == 0 && !stays).then_some(self.csn);
        own.into_iter().chain(self.cookie.iter().copied())
    }

    /// `via` of a change from a server that did not tell its ID. No server has it as its ID.
    pub const UNKNOWN_PEER: u16 = 0x1000;
}

/// A place in a log of changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Position {
    /// Random number of the log. It changes after a restore. 0: none yet.
    pub generation: u64,
    /// From 1 on, without gaps while the log is kept.
    pub sequence: u64,
}

impl Position {
    /// The greatest number of a change. No log comes near it; what has a greater one is not of this program.
    pub const MOST: u64 = u64::MAX / 2;

    /// The place behind it.
    pub(crate) fn next(self) -> Self {
        Self {
            sequence: self.sequence.wrapping_add(1),
            ..self
        }
    }
}

/// The operation behind a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ChangeKind {
    /// Add.
    Add,
    /// Delete.
    Delete,
    /// Modify (password modify included).
    #[default]
    Modify,
    /// Modify DN.
    ModifyDn,
}

/// An effect, and what else is known of the entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecordedEffect {
    /// What is done.
    pub effect: Effect,
    /// What consumers make of it.
    pub marks: Marks,
    /// The rest of the entry, if the log is kept.
    pub before: Before,
}

impl RecordedEffect {
    /// Whether consumers are told of it: overlays of theirs make the internal ones, and they make their own glue.
    pub fn is_told(&self) -> bool {
        !self.marks.internal && !self.marks.silent && !self.effect.is_glue()
    }
}

/// Which consumers an effect is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Marks {
    /// The effect of an overlay: consumers that have the overlay make it themselves.
    pub internal: bool,
    /// State of this server alone.
    pub silent: bool,
}

/// What else is known of the entry of an effect: what it has removed, and what it has left.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Before {
    /// `entryUUID` of the entry; zeros: not known, or it has none.
    pub entry_uuid: [u8; 16],
    /// The values that are gone.
    pub gone: Gone,
    /// Attributes as they are after the effect, whether it changes them or not, as far as a follower wants them.
    pub kept: Vec<TextAttribute>,
}

/// The values that an effect has taken away.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Gone {
    /// No values, or they are not known.
    #[default]
    Unknown,
    /// For each value change in order: the removed values as they were stored.
    Values(Vec<Vec<Vec<u8>>>),
    /// The deleted entry.
    Entry(Vec<TextAttribute>),
}

/// One change of one entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Effect {
    /// A new entry. Glue of this name becomes the entry.
    Add {
        /// Final DN, pretty form.
        dn: Box<str>,
        /// All attributes, operational ones included, in stored order.
        attributes: Vec<TextAttribute>,
    },
    /// Attribute changes.
    Modify {
        /// DN at this point.
        dn: Box<str>,
        /// In order.
        changes: Vec<ValueChange>,
    },
    /// A new name, and the attribute changes that come with it (RDN values, timestamps).
    Rename {
        /// DN before.
        dn: Box<str>,
        /// DN after, pretty form.
        new_dn: Box<str>,
        /// In order.
        changes: Vec<ValueChange>,
    },
    /// Deletes the entry. Glue takes its place if it has subordinates. Glue above it goes with its last subordinate.
    Delete {
        /// DN.
        dn: Box<str>,
    },
}

impl Effect {
    /// The entry's name before it.
    pub fn dn(&self) -> &str {
        match self {
            Self::Add { dn, .. } | Self::Modify { dn, .. } | Self::Rename { dn, .. } | Self::Delete { dn } => dn,
        }
    }

    /// Adds glue: it stands for a superior that is missing, and no search sees it without the `ManageDsaIT` control.
    pub fn glue(dn: Box<str>) -> Self {
        let attributes = GLUE.iter().map(|(name, values)| {
            (
                (*name).into(),
                values.iter().map(|value| value.as_bytes().to_vec()).collect(),
            )
        });
        Self::Add {
            dn,
            attributes: attributes.collect(),
        }
    }
}

impl Effect {
    /// Whether it adds glue.
    pub fn is_glue(&self) -> bool {
        let Self::Add { attributes, .. } = self else {
            return false;
        };
        let mut classes = attributes.iter().filter(|(name, _)| &**name == "structuralObjectClass");
        classes.any(|(_, values)| values.iter().any(|value| value == b"glue"))
    }
}

/// All attributes of glue. It has neither CSN nor UUID, so servers that made it for different reasons have the same.
const GLUE: [(&str, &[&str]); 2] = [("objectClass", &["top", "glue"]), ("structuralObjectClass", &["glue"])];

impl From<Effect> for RecordedEffect {
    fn from(effect: Effect) -> Self {
        Self {
            effect,
            marks: Marks::default(),
            before: Before::default(),
        }
    }
}

/// A change of one attribute's value set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ValueChange {
    /// Appends values; a new attribute goes to the end of the entry. None of the values is there already.
    Add {
        /// Attribute description.
        attribute: Box<str>,
        /// Values.
        values: Vec<Vec<u8>>,
    },
    /// Removes values by equality of normal forms; all of them are there. An attribute without values disappears.
    Delete {
        /// Attribute description.
        attribute: Box<str>,
        /// Values.
        values: Vec<Vec<u8>>,
    },
    /// Removes the attribute if it is there and, unless `values` is empty, adds it anew at the end of the entry.
    Replace {
        /// Attribute description.
        attribute: Box<str>,
        /// Values.
        values: Vec<Vec<u8>>,
    },
}
