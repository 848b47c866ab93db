//! Whose rights a definition has: those of its authors.
//!
//! A group with a URL, a role, a definition of Class of Service, a group of groups: a client that may write such an
//! entry says what is computed. So it gives to clients at most what each of its authors may read, under the rules that
//! are in force when somebody asks. The authors are who created it and who changed it last, as the entry says: who
//! changes a definition vouches for all of it. The rootdn of the database is an author that may read everything.

use ironbark_model::{Dn, Schema};
use ironbark_store::{Record, StoreError};

use super::{DerivingLook, Entries};
use crate::{
    Configuration, NamingContext,
    access::{Requester, Subject},
};

/// What a derivation reads for a client beside the entry that it is asked about, and by whose rights.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reads {
    /// Nothing that somebody may choose by writing an entry: what the server keeps of an entry and its place, or the
    /// values that a definition holds itself.
    NothingChosen,
    /// What who asks may read.
    AsAsker,
    /// What the authors of the definition may read: [`Author`].
    AsAuthors,
}

/// The authors of a definition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Author(Known);

#[derive(Clone, PartialEq, Eq, Debug)]
enum Known {
    /// The entry does not say, or says nothing that counts (`lastmod off`): it has the rights of who asks.
    Nobody,
    /// These, without the rootdn. Nobody else: it may read everything.
    These(Vec<Dn>),
}

impl Author {
    fn of(configuration: &Configuration, context: &NamingContext, record: &Record<'_>) -> Result<Self, StoreError> {
        let known = &configuration.well_known;
        if !context.settings.last_modified {
            return Ok(Self(Known::Nobody));
        }
        let mut these: Vec<Dn> = Vec::new();
        for attribute in [&known.creators_name, &known.modifiers_name] {
            let held = record.values(attribute).map(|held| held.to_attribute()).transpose()?;
            let Some(name) = held.and_then(|held| name(&configuration.schema, held.values.first()?)) else {
                return Ok(Self(Known::Nobody));
            };
            if !context.is_root(&name) && !these.contains(&name) {
                these.push(name);
            }
        }
        Ok(Self(Known::These(these)))
    }

    /// The rootdn alone.
    pub fn trusted() -> Self {
        Self(Known::These(Vec::new()))
    }

    /// Whether the definition may give everything.
    pub fn is_trusted(&self) -> bool {
        matches!(&self.0, Known::These(names) if names.is_empty())
    }

    /// All authors of two definitions, one of which makes use of the other.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let (Known::These(these), Known::These(others)) = (&self.0, &other.0) else {
            return Self(Known::Nobody);
        };
        let more = others.iter().filter(|name| !these.contains(name));
        Self(Known::These(these.iter().chain(more).cloned().collect()))
    }

    /// Whether another one may read all that this one may.
    pub fn is_within(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Known::These(these), Known::These(others)) => others.iter().all(|name| these.contains(name)),
            (one, other) => one == other,
        }
    }
}

/// An author. `cn=anonymous` is the name that an anonymous client leaves.
fn name(schema: &Schema, value: &[u8]) -> Option<Dn> {
    if value.eq_ignore_ascii_case(b"cn=anonymous") {
        return Some(Dn::root());
    }
    Dn::parse(schema, value).ok()
}

impl Entries<'_> {
    /// The authors of a definition in the database of the view.
    ///
    /// # Errors
    /// The storage failed.
    pub fn author(&self, record: &Record<'_>) -> Result<Author, StoreError> {
        Author::of(self.configuration, self.context(), record)
    }
}

impl<'a> DerivingLook<'a> {
    /// The authors of a definition in this database.
    ///
    /// # Errors
    /// The storage failed.
    pub fn author(&self, record: &Record<'_>) -> Result<Author, StoreError> {
        Author::of(self.configuration, self.context, record)
    }

    /// The same with the rights that all authors of a definition have, on the connection of who asks.
    #[must_use]
    pub fn for_author<'b>(self, author: &'b Author) -> DerivingLook<'b>
    where
        'a: 'b,
    {
        match &author.0 {
            Known::Nobody => self,
            Known::These(names) => match names.split_first() {
                None => self.as_server(),
                Some((first, others)) => DerivingLook {
                    asker: bound(self.asker, first),
                    others,
                    ..self
                },
            },
        }
    }

    /// The same with the rights that both an identity and the authors who have chosen it have. Where these are not
    /// known, the choice does not count.
    #[must_use]
    pub fn for_chosen<'b>(self, identity: &'b Dn, author: &'b Author) -> DerivingLook<'b>
    where
        'a: 'b,
    {
        match &author.0 {
            Known::Nobody => self,
            Known::These(others) => DerivingLook {
                others,
                ..self.acting_as(identity)
            },
        }
    }

    /// Everyone whose rights count.
    pub(super) fn requesters(&self) -> impl Iterator<Item = Requester<'a>> {
        let others = self.others.iter().map(|other| bound(self.asker, other));
        std::iter::once(self.asker).chain(others)
    }
}

/// Another identity on the same connection, which the access rules bind.
fn bound<'b>(asker: Requester<'b>, identity: &'b Dn) -> Requester<'b> {
    let subject = Subject {
        dn: identity,
        real_dn: identity,
        is_root: false,
        is_tool: false,
        sets: None,
        ..asker.subject
    };
    Requester { subject, ..asker }
}
