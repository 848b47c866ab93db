//! The place of an entry: superiors that are missing become glue, and who is in the way gives way.

use ironbark_model::Dn;
use ironbark_store::{ChangeKind, Csn, Effect, EntryId, Location, RecordAttribute, change::TextAttribute};

use super::{
    conflict::{self, Claim},
    mapping::ReplicaMapping,
    place::{Aftermath, Told},
};
use crate::{
    OperationError,
    edit::{
        apply::{Before, apply_implied, apply_own},
        checks, delete, placed,
    },
    overlay::Execution,
    refusal::ReplicaRefusal,
};

/// Entries that one message may move besides its own, so that other writes do not wait too long.
const MOST_MOVES: usize = 10_000;
/// Levels over which two subtrees are joined.
const MOST_LEVELS: usize = 64;

/// How an entry gets to its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    /// It is free, or glue is there, which the entry fills.
    Add,
    /// It has the name, perhaps in another spelling.
    Stay,
    /// It is free, and not below the entry.
    Rename,
    /// The name is below the entry, or the entry is below the glue of this name: the entry is made anew there.
    Rebuild,
    /// A newer entry has the name.
    Lost,
}

/// Who wants a name: `own` is the entry, if it is here under another name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted<'a> {
    pub(super) mapping: &'a ReplicaMapping,
    pub(super) name: &'a Dn,
    /// Its place, if the provider has told it.
    pub(super) place: Option<&'a Told>,
    pub(super) claim: Claim,
    pub(super) own: Option<EntryId>,
}

/// Makes room for an entry at its name.
///
/// # Errors
/// `adminLimitExceeded`: too many entries would have to move. The storage failed, or an overlay refused.
pub(super) fn prepare(
    execution: &mut Execution<'_, '_>,
    moves: &mut Moves<'_>,
    wanted: Wanted<'_>,
    aftermath: &mut Aftermath,
) -> Result<Way, OperationError> {
    let Wanted {
        mapping,
        name,
        place,
        claim,
        own,
    } = wanted;
    if let Spot::Entry(holder) = Spot::of(execution, name)?
        && own != Some(holder)
        && !match place {
            Some(told) => {
                // The name may be made of this change and a newer one.
                let csn = claim.csn.max(named(execution, mapping, own)?);
                let claim = Claim { csn, ..claim };
                give_way(execution, mapping, told, claim, holder, aftermath)?
            }
            None => displace(execution, mapping, holder, claim, None)?,
        }
    {
        return Ok(Way::Lost);
    }
    let spot = Spot::of(execution, name)?;
    if let (Some(_), Spot::Glue(glue)) = (place, &spot) {
        aftermath.take_up_below(execution, *glue)?;
    }
    let Some(id) = own else {
        make_superiors(execution, name)?;
        return Ok(Way::Add);
    };
    let current = execution.view().dn(id)?;
    if current == *name {
        return Ok(Way::Stay);
    }
    if name.is_within(&current) {
        return Ok(Way::Rebuild);
    }
    if let Spot::Glue(glue) = spot {
        if current.is_within(name) {
            return Ok(Way::Rebuild);
        }
        moves.children(execution, glue, &current, 0)?;
    }
    make_superiors(execution, name)?;
    Ok(Way::Rename)
}

/// What is at a name.
pub(super) enum Spot {
    Free,
    Glue(EntryId),
    Entry(EntryId),
}

impl Spot {
    pub(super) fn of(execution: &Execution<'_, '_>, name: &Dn) -> Result<Self, OperationError> {
        let view = execution.view();
        Ok(match view.locate(name)? {
            Location::Missing { .. } => Self::Free,
            Location::Entry(id) if checks::record_of(view, id)?.is_glue() => Self::Glue(id),
            Location::Entry(id) => Self::Entry(id),
        })
    }
}

/// Where values are merged, the last change of an entry does not say when it got its name: the CSN of the change that
/// did. `None`: `entryCSN` counts.
fn named(
    execution: &mut Execution<'_, '_>,
    mapping: &ReplicaMapping,
    id: Option<EntryId>,
) -> Result<Option<Csn>, OperationError> {
    let id = id.filter(|_| mapping.merges_values);
    id.map(|id| placed::named(execution, id)).transpose()
}

/// Takes the name from its holder, where providers tell places; `false`: the holder keeps it.
///
/// A provider that has had this version of the holder has it elsewhere now, or no more: it will tell. Until then the
/// holder is aside. One that has not has another entry of the same name: the lesser one is deleted.
fn give_way(
    execution: &mut Execution<'_, '_>,
    mapping: &ReplicaMapping,
    told: &Told,
    claim: Claim,
    holder: EntryId,
    aftermath: &mut Aftermath,
) -> Result<bool, OperationError> {
    let (held, attributes, name) = {
        let view = execution.view();
        let record = checks::record_of(view, holder)?;
        let claim = Claim::of(execution, &record)?;
        (claim, conflict::names_of(execution, &record), view.dn(holder)?)
    };
    let held = Claim {
        csn: named(execution, mapping, Some(holder))?.or(held.csn),
        ..held
    };
    let knew = match told.knew(held.csn) {
        Some(false) if held.is_of_same_server(&claim, mapping) => None,
        knew => knew,
    };
    match knew {
        Some(false) if held > claim => {
            conflict::tell(execution, &name, held, claim, &[]);
            return Ok(false);
        }
        Some(false) => {}
        knew if !execution.context.is_suffix(&name) => {
            // A log has told before where the provider has it.
            let is_untold = knew.is_none() || mapping.merges_values;
            if is_untold && !held.is_of_same_server(&claim, mapping) {
                aftermath.moved.push(held.uuid);
            }
            conflict::set_aside(execution, mapping, holder, claim, Some(aftermath))?;
            return Ok(true);
        }
        _ => {}
    }
    conflict::tell(execution, &name, claim, held, &attributes);
    aftermath.take_up_below(execution, holder)?;
    aftermath.buried.push(held.uuid);
    delete::give_up(execution, holder)?;
    Ok(true)
}

/// Takes the name from its holder; `false`: the holder is newer, and keeps it. `told` is as of
/// [`conflict::drop_entry`].
fn displace(
    execution: &mut Execution<'_, '_>,
    mapping: &ReplicaMapping,
    holder: EntryId,
    claim: Claim,
    told: Option<&mut Aftermath>,
) -> Result<bool, OperationError> {
    if !mapping.multi_provider {
        conflict::set_aside(execution, mapping, holder, claim, told)?;
        return Ok(true);
    }
    let (held, attributes, name) = {
        let view = execution.view();
        let record = checks::record_of(view, holder)?;
        (
            Claim::of(execution, &record)?,
            conflict::names_of(execution, &record),
            view.dn(holder)?,
        )
    };
    if held > claim {
        conflict::tell(execution, &name, held, claim, &[]);
        return Ok(false);
    }
    if held.is_of_same_server(&claim, mapping) && !execution.context.is_suffix(&name) {
        conflict::set_aside(execution, mapping, holder, claim, told)?;
        return Ok(true);
    }
    conflict::tell(execution, &name, claim, held, &attributes);
    conflict::drop_entry(execution, holder, told)?;
    Ok(true)
}

/// Makes glue for each superior that is missing, up to the suffix.
///
/// # Errors
/// The storage failed.
pub(super) fn make_superiors(execution: &mut Execution<'_, '_>, name: &Dn) -> Result<(), OperationError> {
    let Some(suffix) = execution.context.suffix_of(name) else {
        return Ok(());
    };
    for depth in suffix.depth().max(1)..name.depth() {
        let superior = name.ancestor(depth);
        if let Location::Missing { .. } = execution.view().locate(&superior)? {
            execution.apply_further(Effect::glue(superior.pretty().into()))?;
        }
    }
    Ok(())
}

/// All attributes of a stored entry.
///
/// # Errors
/// The storage failed.
pub(super) fn stored_attributes(
    execution: &Execution<'_, '_>,
    id: EntryId,
) -> Result<Vec<TextAttribute>, OperationError> {
    let record = checks::record_of(execution.view(), id)?;
    let attribute = |held: RecordAttribute<'_>| -> Result<TextAttribute, OperationError> {
        let name = execution.name_of(held.description());
        Ok((name.into(), held.to_attribute()?.values))
    };
    record.attributes().map(attribute).collect()
}

/// Entries that move because others do.
pub(super) struct Moves<'a> {
    mapping: &'a ReplicaMapping,
    /// The name that all is about.
    name: &'a Dn,
    left: usize,
    /// Entries that were made anew: their former IDs and the new ones.
    pub(super) remade: Vec<(EntryId, EntryId)>,
    /// What this server has to tell of them, if the provider tells places.
    pub(super) told: Option<Aftermath>,
}

impl<'a> Moves<'a> {
    pub(super) fn new(mapping: &'a ReplicaMapping, name: &'a Dn, tells_places: bool) -> Self {
        Self {
            mapping,
            name,
            left: MOST_MOVES,
            remade: Vec::new(),
            told: tells_places.then(Aftermath::default),
        }
    }

    /// Moves what is below an entry below another one, except for the branch that has the other one.
    ///
    /// # Errors
    /// `adminLimitExceeded`: too many. The storage failed, or an overlay refused.
    pub(super) fn children(
        &mut self,
        execution: &mut Execution<'_, '_>,
        from: EntryId,
        to: &Dn,
        level: usize,
    ) -> Result<(), OperationError> {
        let children = {
            let children = execution.view().children(from)?;
            children.take(self.left + 1).collect::<Result<Vec<_>, _>>()?
        };
        if children.len() > self.left || level > MOST_LEVELS {
            let name = self.name.pretty().to_owned();
            return Err(ReplicaRefusal::TooManyMoves { name }.into());
        }
        self.left -= children.len();
        for child in children {
            let name = execution.view().dn(child)?;
            if let Some(target) = name.with_new_superior(to).filter(|_| !to.is_within(&name)) {
                self.settle(execution, child, &target, level)?;
            }
        }
        Ok(())
    }

    /// Makes an entry anew at a name to which it cannot be renamed. What is below it comes along, except for the branch
    /// that has the new name. Glue keeps the old place for that.
    ///
    /// # Errors
    /// As of [`Self::children`].
    pub(super) fn rebuild(
        &mut self,
        execution: &mut Execution<'_, '_>,
        id: EntryId,
        target: &Dn,
        attributes: Vec<TextAttribute>,
        level: usize,
    ) -> Result<EntryId, OperationError> {
        let current = execution.view().dn(id)?;
        let number = execution.record().effects.len();
        execution.apply_further(Effect::Delete {
            dn: current.pretty().into(),
        })?;
        make_superiors(execution, target)?;
        let new = execution.apply_further(Effect::Add {
            dn: target.pretty().into(),
            attributes,
        })?;
        self.remade.push((id, new));
        execution.keep_place(number, new)?;
        // It is glue now, if something is below it.
        if id != new && execution.view().record(id)?.is_some() {
            self.children(execution, id, target, level)?;
        }
        Ok(new)
    }

    /// The name for an entry at whose own name another one is, to which its server has given the name since.
    fn beside(
        &self,
        execution: &Execution<'_, '_>,
        own: Claim,
        target: &Dn,
        holder: EntryId,
    ) -> Result<Option<Dn>, OperationError> {
        let held = Claim::of(execution, &checks::record_of(execution.view(), holder)?)?;
        let is_later = self.mapping.multi_provider && held.is_of_same_server(&own, self.mapping) && held > own;
        let aside = conflict::aside_of(execution, target, own.uuid);
        let is_free = is_later && matches!(Spot::of(execution, &aside)?, Spot::Free);
        Ok(is_free.then_some(aside))
    }

    /// Moves an entry with what is below it to a name. If an entry has that name, the newer one keeps it.
    fn settle(
        &mut self,
        execution: &mut Execution<'_, '_>,
        id: EntryId,
        target: &Dn,
        level: usize,
    ) -> Result<(), OperationError> {
        let current = execution.view().dn(id)?;
        if current == *target {
            return Ok(());
        }
        let (own, is_glue) = {
            let record = checks::record_of(execution.view(), id)?;
            (Claim::of(execution, &record)?, record.is_glue())
        };
        let mut spot = Spot::of(execution, target)?;
        if let Spot::Entry(holder) = spot {
            if is_glue {
                return self.children(execution, id, target, level + 1);
            }
            if let Some(aside) = self.beside(execution, own, target, holder)? {
                let effect = Effect::Rename {
                    dn: current.pretty().into(),
                    new_dn: aside.pretty().into(),
                    changes: Vec::new(),
                };
                execution.apply_further(effect)?;
                return Ok(());
            }
            if !displace(execution, self.mapping, holder, own, self.told.as_mut())? {
                conflict::drop_entry(execution, id, self.told.as_mut())?;
                return match Spot::of(execution, &current)? {
                    Spot::Glue(rest) => self.children(execution, rest, target, level + 1),
                    Spot::Free | Spot::Entry(_) => Ok(()),
                };
            }
            spot = Spot::of(execution, target)?;
        }
        // Its former superior may have moved with it.
        let current = execution.view().dn(id)?;
        if let Spot::Glue(glue) = spot {
            if is_glue {
                return self.children(execution, id, target, level + 1);
            }
            if current.is_within(target) {
                let attributes = stored_attributes(execution, id)?;
                self.rebuild(execution, id, target, attributes, level + 1)?;
                return Ok(());
            }
            self.children(execution, glue, &current, level + 1)?;
        }
        make_superiors(execution, target)?;
        let effect = Effect::Rename {
            dn: current.pretty().into(),
            new_dn: target.pretty().into(),
            changes: Vec::new(),
        };
        if self.mapping.merges_values {
            // It gets a revision.
            apply_implied(execution, ChangeKind::ModifyDn, effect, Before::default())?;
        } else {
            apply_own(execution, ChangeKind::ModifyDn, effect, Before::default())?;
        }
        Ok(())
    }
}
