//! Writes to trees in memory (cn=config, cn=Monitor): the directory's checks before the tree makes the change.
//!
//! Names, access rules, and the controls assertion, pre-read, post-read (of modify) and no-op work as for stored
//! entries.

use std::{cell::OnceCell, sync::Arc};

use ironbark_config::access::Privileges;
use ironbark_ldap_proto::controls::ControlKind;
use ironbark_model::{Dn, Entry, Schema, schema::entry_check};
use ironbark_store::{
    ChangeKind, ChangeRecord, Effect,
    change::{RequestedChange, RequestedKind, RequestedModification},
};

use super::{
    change::Change,
    modify_dn::{self, Rename},
    read_entry,
};
use crate::{
    Directory, NamingContext, OperationError, WellKnown,
    access::{Requester, Target, WriteCheck, assertion, disclosure::missing_in_memory},
    backend::{
        in_memory::{ChangeAuthor, Governor, InMemoryTree},
        queue::Served,
        referral,
        tree_change::TreeChange,
        written::{Executed, Success},
    },
    edit::{
        checks::{author_of, require},
        new_entry,
        rights::{check_access, is_granted},
    },
    overlay::{
        record,
        tree_effects::{self, TreeState},
    },
    refusal::{AddRefusal, ControlRefusal, DeleteRefusal, ModifyDnRefusal, WriteRefusal},
    request::{
        context::RequestContext,
        controls::{ReadEntry, WriteControls},
        modification::{self, Modification},
        requested_change::of_modifications,
    },
    write::{followers, request::OnTree},
};

/// A write to a tree under execution.
struct Execution<'w> {
    directory: &'w Arc<Directory>,
    governor: &'w dyn Governor,
    served: &'w Served,
    context: &'w NamingContext,
    tree: &'w dyn InMemoryTree,
    origin: &'w RequestContext,
    controls: WriteControls<'w>,
    entries: Arc<[Entry]>,
}

/// Executes a write. It has been committed when this returns.
pub(crate) fn execute(
    on: OnTree<'_>,
    change: &Change,
    controls: WriteControls<'_>,
) -> Result<(Success, Executed), OperationError> {
    let OnTree {
        directory,
        governor,
        served,
        origin,
    } = on;
    let context = &*served.context;
    let tree = context.backend.tree().ok_or(WriteRefusal::UnsupportedInContext)?;
    refuse_controls(controls, matches!(change, Change::Modify(..)))?;
    if !is_own(&served.configuration.schema, &**tree, change) {
        tree.confirm(&served.configuration)?;
    }
    let execution = Execution {
        directory,
        governor,
        served,
        context,
        tree: &**tree,
        origin,
        controls,
        entries: tree.entries(&served.configuration),
    };
    match change {
        Change::Add(dn, modifications) => execution.add(dn, modifications),
        Change::Delete(dn) => execution.delete(dn),
        Change::Modify(dn, modifications) => execution.modify(dn, modifications),
        Change::ModifyDn(rename) => execution.rename(rename),
    }
}

/// Whether a change is about what each server of a cluster has for itself.
fn is_own(schema: &Schema, tree: &dyn InMemoryTree, change: &Change) -> bool {
    let Change::Modify(_, modifications) = change else {
        return false;
    };
    let is_own = |modification: &Modification| tree.is_own(&schema.description_text(&modification.description));
    !modifications.is_empty() && modifications.iter().all(is_own)
}

/// Refuses controls that trees do not support. The tree itself decides the name of an added or renamed entry.
fn refuse_controls(controls: WriteControls<'_>, is_modify: bool) -> Result<(), ControlRefusal> {
    let critical = [
        controls.has_critical(ControlKind::PermissiveModify),
        controls.has_critical(ControlKind::TreeDelete),
        controls.has_critical(ControlKind::RelaxRules),
        !is_modify && controls.has_critical(ControlKind::PostRead),
    ];
    if critical.contains(&true) {
        return Err(ControlRefusal::Unavailable);
    }
    Ok(())
}

impl Execution<'_> {
    fn add(&self, dn: &Dn, modifications: &[Modification]) -> Result<(Success, Executed), OperationError> {
        let mut modifications = modifications.to_vec();
        modification::check_permitted(&self.served.configuration.schema, &mut modifications, false)?;
        new_entry::refuse_repetition(&self.served.configuration.schema, &modifications)?;
        let mut entry = new_entry::entry_of(dn.clone(), &modifications);
        entry_check::check_naming_types(&self.served.configuration.schema, dn)?;
        let superior = dn.parent().unwrap_or_default();
        let superior = self.find(&superior).ok_or_else(|| self.missing(dn))?;
        require(
            self.check(superior).permits(Target::Children, Privileges::ADD),
            AddRefusal::NoAccessToParent,
        )?;
        let check = self.check(&entry);
        require(
            check.permits(Target::Entry, Privileges::ADD),
            AddRefusal::NoAccessToEntry,
        )?;
        let attributes_granted = !self.context.settings.add_content_acl
            || modifications
                .iter()
                .all(|modification| is_granted(&check, modification));
        require(attributes_granted, AddRefusal::NoAccessToAttribute)?;
        drop(check);
        // A client that may not add the entry does not learn whether one exists.
        self.check_assertion(&entry)?;
        // The tree itself refuses a name that is taken: an entry with a number goes before the one that has it.
        let requested = new_entry::requested(&self.served.configuration.schema, &entry);
        new_entry::name(&self.served.configuration.schema, &mut entry);
        let executed = self.change(ChangeKind::Add, &TreeChange::Add(entry), requested)?;
        Ok((Success::default(), executed))
    }

    fn delete(&self, dn: &Dn) -> Result<(Success, Executed), OperationError> {
        let entry = self.locate(dn)?;
        self.check_superior_of(entry, Privileges::DELETE, DeleteRefusal::NoAccessToParent)?;
        self.check_assertion(entry)?;
        require(
            self.check(entry).permits(Target::Entry, Privileges::DELETE),
            DeleteRefusal::NoAccessToEntry,
        )?;
        let success = self.pre_read(entry)?;
        let requested = RequestedChange::Delete {
            dn: entry.dn.pretty().into(),
        };
        let change = TreeChange::Delete { dn: entry.dn.clone() };
        Ok((success, self.change(ChangeKind::Delete, &change, requested)?))
    }

    fn modify(&self, dn: &Dn, modifications: &[Modification]) -> Result<(Success, Executed), OperationError> {
        let mut modifications = modifications.to_vec();
        modification::check_permitted(&self.served.configuration.schema, &mut modifications, false)?;
        let entry = self.locate(dn)?;
        self.check_assertion(entry)?;
        let mut success = self.pre_read(entry)?;
        check_access(&self.check(entry), &modifications)?;
        let requested = of_modifications(&self.served.configuration.schema, dn.pretty(), &modifications);
        let change = TreeChange::Modify {
            dn: entry.dn.clone(),
            modifications,
        };
        let executed = self.change(ChangeKind::Modify, &change, requested)?;
        success.post_read = self.post_read(dn)?;
        Ok((success, executed))
    }

    fn rename(&self, rename: &Rename) -> Result<(Success, Executed), OperationError> {
        let dn = rename.dn();
        modify_dn::check_context(&self.served.configuration, self.context, rename)?;
        let entry = self.locate(dn)?;
        self.check_superior_of(entry, rename.needed_above(), ModifyDnRefusal::NoAccessToParent)?;
        self.check_assertion(entry)?;
        require(
            self.check(entry).permits(Target::Entry, modify_dn::RENAME),
            ModifyDnRefusal::NoAccessToEntry,
        )?;
        if let Some(wanted) = rename.new_superior() {
            let superior = self.find(wanted).ok_or(ModifyDnRefusal::NoNewSuperior)?;
            require(
                self.check(superior).permits(Target::Children, Privileges::ADD),
                ModifyDnRefusal::NoAccessToNewSuperior,
            )?;
        }
        let success = self.pre_read(entry)?;
        let requested = rename.requested();
        let change = rename.in_memory(entry.dn.clone());
        Ok((success, self.change(ChangeKind::ModifyDn, &change, requested)?))
    }

    /// Lets the tree make the change, unless the request has the no-op control.
    fn change(
        &self,
        kind: ChangeKind,
        change: &TreeChange,
        requested: RequestedChange,
    ) -> Result<Executed, OperationError> {
        if self.controls.has(ControlKind::NoOp) {
            return Err(WriteRefusal::NoOperation.into());
        }
        let stamp = self.directory.next_stamp();
        let begun = record::begin(self.directory, self.context, self.origin, &stamp, kind);
        let announced = OnceCell::new();
        let announce = |schema: &Schema, entries: &[Entry]| {
            if self.context.is_followed()
                && let Some(known) = WellKnown::of(schema)
            {
                let after = TreeState {
                    schema,
                    known: &known,
                    entries,
                };
                let record = announced.get_or_init(|| self.record_of(begun.clone(), requested.clone(), after));
                followers::announce(self.directory, self.context, std::slice::from_ref(record));
            }
        };
        let by = ChangeAuthor {
            governor: self.governor,
            randomness: self.directory.randomness(),
            configuration: &self.served.configuration,
            dn: author_of(&self.origin.identity),
            stamp,
            announce: &announce,
        };
        self.tree.change(change, &by)?;
        let record = announced.into_inner().unwrap_or_else(|| ChangeRecord {
            requested: self.context.is_followed().then_some(requested).into_iter().collect(),
            ..begun
        });
        Ok(Executed {
            record,
            lifts_restriction: false,
            has_notes: false,
        })
    }

    /// The record with what was asked for, and what becomes of it.
    fn record_of(&self, begun: ChangeRecord, mut requested: RequestedChange, after: TreeState<'_>) -> ChangeRecord {
        let before = TreeState::of(&self.served.configuration, &self.entries);
        let effects = tree_effects::between(before, after);
        let own = effects.iter().find(|effect| !effect.recorded.marks.internal);
        match (&mut requested, own.map(|own| &own.recorded.effect)) {
            // As in slapd, the name is that of the request, and the values are those of the entry: with its number.
            (RequestedChange::Add { attributes, .. }, Some(Effect::Add { attributes: made, .. })) => {
                attributes.clone_from(made);
            }
            (RequestedChange::Modify { modifications, .. }, Some(effect)) => modifications.extend(stamps_of(effect)),
            _ => {}
        }
        let former = own.and_then(|own| own.former(self.context, &requested));
        ChangeRecord {
            requested: [requested].into_iter().chain(former).collect(),
            effects: effects.into_iter().map(|effect| effect.recorded).collect(),
            ..begun
        }
    }

    fn find(&self, dn: &Dn) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.dn == *dn)
    }

    fn locate(&self, dn: &Dn) -> Result<&Entry, OperationError> {
        self.find(dn).ok_or_else(|| self.missing(dn))
    }

    /// noSuchObject, with the closest superior if the subject may know about it.
    fn missing(&self, dn: &Dn) -> OperationError {
        let configuration = &self.served.configuration;
        if !self.entries.iter().any(|entry| dn.is_within(&entry.dn)) {
            return referral::default_referral(configuration, dn, None);
        }
        missing_in_memory(self.requester(), &self.entries, dn)
    }

    fn requester(&self) -> Requester<'_> {
        Requester::of(&self.served.configuration, self.context, self.origin)
    }

    fn check<'e>(&'e self, entry: &'e Entry) -> WriteCheck<'e> {
        WriteCheck::on_entry(self.requester(), entry)
    }

    /// Only the rootdn may touch an entry without a superior in the tree.
    fn check_superior_of(
        &self,
        entry: &Entry,
        privileges: Privileges,
        refusal: impl Into<OperationError>,
    ) -> Result<(), OperationError> {
        let superior = entry.dn.parent().and_then(|dn| self.find(&dn));
        let granted = match superior {
            Some(superior) => self.check(superior).permits(Target::Children, privileges),
            None => self.requester().subject.is_root,
        };
        require(granted, refusal)
    }

    fn check_assertion(&self, entry: &Entry) -> Result<(), OperationError> {
        let Some(filter) = self.controls.assertion() else {
            return Ok(());
        };
        let configuration = &self.served.configuration;
        assertion::check_assertion(configuration, &self.check(entry), entry, filter)
    }

    fn pre_read(&self, entry: &Entry) -> Result<Success, OperationError> {
        let pre_read = match self.controls.pre_read() {
            Some(asked) => read_entry::read_in_memory(self.requester(), entry, &asked)?,
            None => None,
        };
        Ok(Success {
            pre_read,
            ..Success::default()
        })
    }

    /// The entry as it is now, under the configuration that the change may have put into force. The change stands:
    /// unreadable parts are left out.
    fn post_read(&self, dn: &Dn) -> Result<Option<Vec<u8>>, OperationError> {
        let Some(asked) = self.controls.post_read() else {
            return Ok(None);
        };
        let configuration = self.directory.configuration();
        let Some(context) = configuration.context_of(dn) else {
            return Ok(None);
        };
        let entries = self.tree.entries(&configuration);
        let Some(entry) = entries.iter().find(|entry| entry.dn == *dn) else {
            return Ok(None);
        };
        let requester = Requester::of(&configuration, context, self.origin);
        let asked = ReadEntry {
            is_critical: false,
            ..asked
        };
        read_entry::read_in_memory(requester, entry, &asked)
    }
}

/// The operational attributes of a modify, in slapd's order.
fn stamps_of(effect: &Effect) -> Vec<RequestedModification> {
    let Effect::Modify { changes, .. } = effect else {
        return Vec::new();
    };
    let stamps = ["entryCSN", "modifiersName", "modifyTimestamp"].into_iter();
    let of_name = |name: &str| {
        let change = changes.iter().find(|change| change.attribute() == name)?;
        Some(RequestedModification {
            kind: RequestedKind::Replace,
            attribute: name.into(),
            values: change.values().to_vec(),
        })
    };
    stamps.filter_map(of_name).collect()
}
