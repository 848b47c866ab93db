//! The place of an entry, as a provider tells it to a consumer of our kind: names alone do not say what is below what
//! after superiors have moved (docs/internals/replica.md).

use ironbark_store::{Record, StoreError, View};
use uuid::Uuid;

/// Attribute with the place of an entry. Only who asks for it by this name gets it.
pub const PLACE: &str = "ironbarkPlace";

/// Who asks for this attribute, which no entry has, is one of several writing servers: it is told all deletes that are
/// remembered with a refresh without the log, and whether it has a part. Who asks for places is, too.
pub const ENDS: &str = "ironbarkEnds";

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

/// The place of an entry as it is told, with what this server has: `DEPTH UUID CSN...`, `-` for what is not there.
pub(crate) fn text_of(view: View<'_>, record: &Record<'_>) -> Result<String, StoreError> {
    let (depth, above) = closest(view, record)?;
    let superior = match above {
        Some(above) => above.entry_uuid()?.map(uuid_text),
        None => None,
    };
    let mut text = format!("{depth} {}", superior.as_deref().unwrap_or("-"));
    // A refresh that is under way has brought more than the vector says.
    if view.first_uncovered()?.is_some() {
        text.push_str(" -");
        return Ok(text);
    }
    for csn in view.context_vector()?.unwrap_or_default().iter() {
        text.push(' ');
        text.push_str(&csn.text());
    }
    Ok(text)
}

/// The text of a UUID (RFC 9562 §4).
pub(crate) fn uuid_text(uuid: [u8; 16]) -> String {
    Uuid::from_bytes(uuid).to_string()
}

/// The octets of a UUID; `None`: it is none.
pub(crate) fn uuid_of(text: &[u8]) -> Option<[u8; 16]> {
    Uuid::try_parse_ascii(text).ok().map(Uuid::into_bytes)
}
