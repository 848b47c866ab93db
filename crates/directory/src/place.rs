//! The place of an entry, as a provider tells it to a consumer of our kind: names alone do not say what is below what
//! after superiors have moved (docs/internals/replica.md).

use ironbark_store::{
    ChangeRecord, ContextVector, Csn, Effect, Record, RecordedEffect, StoreError, View, change::RequestedChange,
};
use uuid::Uuid;

/// Attribute with the place of an entry. Only who asks for it by this name gets it, and is thereby known as one of
/// several writing servers: it is told all deletes that are remembered with a refresh without the log, and whether it
/// has a part.
pub const PLACE: &str = "ironbarkPlace";

/// Attribute of the access log with the place that an add or a rename has given to its entry.
pub const LOGGED_PLACE: &str = "ironbarkReqPlace";

/// With that: the CSN by which the place counts, and the name that the entry has there, where no request has given the
/// place to the entry.
pub const LOGGED_REVISION: &str = "ironbarkReqRevision";

/// Attribute of the access log with an add: the entry came as a whole, with all changes that its provider had. The CSN
/// of its real add, if that was told (else `-`), and the provider's context vector.
pub const LOGGED_BASE: &str = "ironbarkReqBase";

/// Deepest glue that is looked through.
const MOST_LEVELS: usize = 1_000;

/// The closest superior of an entry that is not glue (`None`: there is none), and the RDNs below it.
pub(crate) fn closest<'v>(view: View<'v>, record: &Record<'_>) -> Result<(usize, Option<Record<'v>>), StoreError> {
    let (mut depth, mut id) = (1, record.parent());
    while id != 0 && depth < MOST_LEVELS {
        let Some(above) = view.record(id)? else { break };
        if !above.is_glue() {
            return Ok((depth, Some(above)));
        }
        (depth, id) = (depth + 1, above.parent());
    }
    Ok((depth, None))
}

/// The place of an entry as it is told, with what this server has: `DEPTH UUID CSN...`, `-` for what is not there. The
/// text of a revision always has the last known CSN of the server that made it.
pub(crate) fn text_of(view: View<'_>, record: &Record<'_>, vector: &ContextVector) -> Result<String, StoreError> {
    let (depth, above) = closest(view, record)?;
    let superior = match above {
        Some(above) => above.entry_uuid()?.map(uuid_text),
        None => None,
    };
    let mut text = format!("{depth} {}", superior.as_deref().unwrap_or("-"));
    // A refresh that is under way has brought more than the vector says.
    if view.first_uncovered()?.is_some() {
        text.push_str(" -");
        if let Some(csn) = known_of_reviser(view, record)? {
            text.push(' ');
            text.push_str(&csn.text());
        }
        return Ok(text);
    }
    for csn in vector.iter() {
        text.push(' ');
        text.push_str(&csn.text());
    }
    Ok(text)
}

/// The greatest CSN that is known of the server that made the revision which the entry has. `None`: the entry has no
/// revision.
fn known_of_reviser(view: View<'_>, record: &Record<'_>) -> Result<Option<Csn>, StoreError> {
    match record.entry_csn()?.and_then(Csn::reviser) {
        Some(server) => view.last_known_of(server),
        None => Ok(None),
    }
}

/// The CSN of a revision, and the name that the entry has by it.
///
/// `None`: the text is not one of [`LOGGED_REVISION`].
pub fn revision_of(text: &[u8]) -> Option<(Csn, &str)> {
    let (csn, name) = std::str::from_utf8(text).ok()?.split_once(' ')?;
    Some((Csn::parse(csn.as_bytes())?, name))
}

/// The CSN of the revision that an effect is, and the name that the entry has by it.
pub(crate) fn revision_with_name(recorded: &RecordedEffect) -> Option<(Csn, &str)> {
    let mut kept = recorded.before.kept.iter();
    let (_, values) = kept.find(|(name, _)| **name == *LOGGED_REVISION)?;
    revision_of(values.first()?)
}

/// The CSN of the revision that an effect is.
pub(crate) fn revision_in(recorded: &RecordedEffect) -> Option<Csn> {
    Some(revision_with_name(recorded)?.0)
}

/// An entry that came as a whole: what its provider had of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Base {
    /// The CSN of its add, if it was told.
    pub(crate) added: Option<Csn>,
    /// All of its changes up to these CSNs are in it.
    pub(crate) vector: ContextVector,
}

impl Base {
    /// The text of [`LOGGED_BASE`].
    pub(crate) fn text(&self) -> String {
        let mut text = self.added.map_or_else(|| "-".to_owned(), Csn::text);
        for csn in self.vector.iter() {
            text.push(' ');
            text.push_str(&csn.text());
        }
        text
    }

    /// Reads it. `None`: it has another form.
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let mut words = std::str::from_utf8(text).ok()?.split(' ');
        let added = match words.next()? {
            "-" => None,
            csn => Some(Csn::parse(csn.as_bytes())?),
        };
        let csns: Option<Vec<Csn>> = words.map(|word| Csn::parse(word.as_bytes())).collect();
        Some(Self {
            added,
            vector: csns?.into_iter().collect(),
        })
    }
}

/// The base that an effect has added.
pub(crate) fn base_in(recorded: &RecordedEffect) -> Option<Base> {
    let mut kept = recorded.before.kept.iter();
    let (_, values) = kept.find(|(name, _)| **name == *LOGGED_BASE)?;
    Base::parse(values.first()?)
}

/// The entry of an effect.
pub(crate) fn entry_in(recorded: &RecordedEffect) -> Option<[u8; 16]> {
    if let Effect::Add { attributes, .. } = &recorded.effect {
        let mut held = attributes.iter();
        let (_, values) = held.find(|(name, _)| name.eq_ignore_ascii_case("entryUUID"))?;
        return uuid_of(values.first()?);
    }
    Some(recorded.before.entry_uuid)
}

/// The request behind an effect, by its number.
pub(crate) fn request_of(record: &ChangeRecord, number: usize) -> Option<&RequestedChange> {
    let found = record.requests().find(|(_, known)| *known == Some(number));
    found.map(|(requested, _)| requested)
}

/// Whether this is the name of an entry that has been set aside: it is made of its UUID.
pub(crate) fn is_aside(name: &str, uuid: [u8; 16]) -> bool {
    let leaf = format!("entryUUID={}", uuid_text(uuid));
    let (start, rest) = name.split_at_checked(leaf.len()).unwrap_or_default();
    start.eq_ignore_ascii_case(&leaf) && (rest.is_empty() || rest.starts_with(','))
}

/// The text of a UUID (RFC 9562 §4).
pub(crate) fn uuid_text(uuid: [u8; 16]) -> String {
    Uuid::from_bytes(uuid).to_string()
}

/// The octets of a UUID; `None`: it is none.
pub(crate) fn uuid_of(text: &[u8]) -> Option<[u8; 16]> {
    Uuid::try_parse_ascii(text).ok().map(Uuid::into_bytes)
}
