//! The memory that a change record takes.
//!
//! A record is many small pieces: a change of one value of 10 octets takes more than a kilobyte.

use super::{ChangeRecord, Effect, Gone, RecordedEffect, RequestedChange, TextAttribute, ValueChange};

/// What the allocator adds to a piece, about.
const PIECE_OCTETS: usize = 16;

impl ChangeRecord {
    /// Octets of memory that it takes, about.
    pub fn octets(&self) -> usize {
        let facts = self.request.as_ref().map_or(0, |facts| {
            let controls = facts
                .controls
                .iter()
                .map(|control| size_of_val(control) + piece(control.oid.len()));
            piece(facts.peer_name.len()) + controls.sum::<usize>()
        });
        size_of::<Self>()
            + piece(self.author.len())
            + piece(self.authenticated.len())
            + facts
            + self.effects.iter().map(of_effect).sum::<usize>()
            + self.requested.iter().map(of_requested).sum::<usize>()
            + size_of_val(&*self.buried)
            + size_of_val(&*self.cookie)
            + size_of_val(&*self.forgotten)
            + self
                .notes
                .iter()
                .map(|note| size_of_val(note) + piece(note.0.len()) + piece(note.1.len()))
                .sum::<usize>()
    }
}

fn of_effect(recorded: &RecordedEffect) -> usize {
    let changes = match &recorded.effect {
        Effect::Add { attributes, .. } => of_attributes(attributes),
        Effect::Modify { changes, .. } | Effect::Rename { changes, .. } => changes.iter().map(of_change).sum(),
        Effect::Delete { .. } => 0,
    };
    let gone = match &recorded.before.gone {
        Gone::Unknown => 0,
        Gone::Values(changes) => changes.iter().map(|held| values(held)).sum(),
        Gone::Entry(attributes) => of_attributes(attributes),
    };
    // A rename has two names of about the same length.
    size_of::<RecordedEffect>()
        + 2 * piece(recorded.effect.dn().len())
        + changes
        + gone
        + of_attributes(&recorded.before.kept)
}

fn of_change(change: &ValueChange) -> usize {
    size_of::<ValueChange>() + piece(change.attribute().len()) + values(change.values())
}

fn of_requested(change: &RequestedChange) -> usize {
    let content = match change {
        RequestedChange::AsApplied(_) => 0,
        RequestedChange::Add { dn, attributes } | RequestedChange::Former { dn, attributes } => {
            piece(dn.len()) + of_attributes(attributes)
        }
        RequestedChange::Modify { dn, modifications } => {
            let each = modifications
                .iter()
                .map(|one| size_of_val(one) + piece(one.attribute.len()) + values(&one.values));
            piece(dn.len()) + each.sum::<usize>()
        }
        RequestedChange::ModifyDn {
            dn,
            new_rdn,
            new_superior,
            ..
        } => piece(dn.len()) + piece(new_rdn.len()) + new_superior.as_ref().map_or(0, |dn| piece(dn.len())),
        RequestedChange::Delete { dn } => piece(dn.len()),
    };
    size_of::<RequestedChange>() + content
}

fn of_attributes(attributes: &[TextAttribute]) -> usize {
    let of_one = |(name, held): &TextAttribute| size_of::<TextAttribute>() + piece(name.len()) + values(held);
    attributes.iter().map(of_one).sum()
}

/// A list of values.
fn values(values: &[Vec<u8>]) -> usize {
    PIECE_OCTETS
        + values
            .iter()
            .map(|value| size_of::<Vec<u8>>() + piece(value.len()))
            .sum::<usize>()
}

fn piece(length: usize) -> usize {
    PIECE_OCTETS + length
}
