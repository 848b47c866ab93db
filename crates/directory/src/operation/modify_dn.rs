//! Modify DN (RFC 4511 §4.9): a new RDN, a new superior, or both.

use std::sync::Arc;

use ironbark_config::access::Privileges;
use ironbark_ldap_proto::ModifyDnRequest;
use ironbark_model::{Dn, Schema};
use ironbark_store::{ChangeKind, Effect, EntryId, Location, Record, View, change::RequestedChange};

use super::read_entry;
use crate::{
    Configuration, NamingContext, OperationError,
    access::{Target, WriteCheck},
    backend::{referral, tree_change::TreeChange, written::Success},
    edit::{
        apply::{Before, apply_own},
        checks::{self, grants_on_root, require},
        draft::Draft,
        plan::{Options, Plan, plan},
        rename::modifications_of,
        rights::check_access,
    },
    overlay::{Execution, Outcome, OutcomeChange, Renaming, overlays_of},
    refusal::ModifyDnRefusal,
    request::modification::Modification,
};

/// A request, with its names parsed.
pub(crate) struct Rename {
    dn: Dn,
    new_rdn: Dn,
    delete_old_rdn: bool,
    new_superior: Option<Dn>,
    /// The new name, if the request alone decides it.
    target: Dn,
    /// The changes of the entry's attributes that the new RDN requires.
    modifications: Vec<Modification>,
}

/// Renaming in place removes one name and adds another: `add` and `delete`, which slapd calls `write`.
pub(super) const RENAME: Privileges = Privileges::ADD.with(Privileges::DELETE);

/// Executes a modify DN request.
pub(crate) fn execute(execution: &mut Execution<'_, '_>, rename: &Rename) -> Result<Success, OperationError> {
    let mut modifications = rename.modifications.clone();
    check_context(execution.configuration, execution.context, rename)?;
    let context = execution.context;
    if !overlays_of(context).content.is_empty() {
        require_rights(execution, rename)?;
        for overlay in &overlays_of(context).content {
            overlay.before_modify_dn(execution, rename.renaming())?;
        }
    }
    checks::add_stamps(execution, &mut modifications);
    let id = locate(execution, rename)?;
    let Prepared {
        plan,
        old_name,
        new_name,
        pre_read,
    } = prepare(execution, id, rename, &modifications)?;
    execution.note_requested(|_| rename.requested());
    let effect = Effect::Rename {
        dn: old_name.pretty().into(),
        new_dn: new_name.pretty().into(),
        changes: plan.changes,
    };
    apply_own(
        execution,
        ChangeKind::ModifyDn,
        effect,
        Before {
            attributes: &plan.before,
            deleted_tree: None,
        },
    )?;
    Ok(Success {
        pre_read,
        post_read: read_entry::post_read(execution, id)?,
        ..Success::default()
    })
}

impl Rename {
    /// The name of the entry as it is.
    pub(crate) fn dn(&self) -> &Dn {
        &self.dn
    }

    /// Refuses renames that the names alone forbid. slapd checks this before anything else.
    ///
    /// # Errors
    /// `unwillingToPerform`.
    pub(crate) fn check_loops(&self) -> Result<(), ModifyDnRefusal> {
        let (dn, target) = (&self.dn, &self.target);
        if target != dn && target.is_within(dn) {
            return Err(ModifyDnRefusal::BelowItself);
        }
        if target != dn && dn.is_within(target) {
            return Err(ModifyDnRefusal::AboveItself);
        }
        Ok(())
    }

    pub(super) fn new_superior(&self) -> Option<&Dn> {
        self.new_superior.as_ref()
    }

    /// Privileges on the children of the entry's present superior.
    pub(super) fn needed_above(&self) -> Privileges {
        if self.new_superior.is_some() {
            Privileges::DELETE
        } else {
            RENAME
        }
    }

    /// The form in which overlays judge it.
    fn renaming(&self) -> Renaming<'_> {
        Renaming {
            dn: &self.dn,
            new_rdn: &self.new_rdn,
            delete_old_rdn: self.delete_old_rdn,
            target: &self.target,
        }
    }

    /// The form in which overlays get it.
    pub(super) fn requested(&self) -> RequestedChange {
        RequestedChange::ModifyDn {
            dn: self.dn.pretty().into(),
            new_rdn: self.new_rdn.pretty().into(),
            delete_old_rdn: self.delete_old_rdn,
            new_superior: self.new_superior.as_ref().map(|superior| superior.pretty().into()),
        }
    }

    /// The form for a tree in memory, for the entry of this name.
    pub(super) fn in_memory(&self, dn: Dn) -> TreeChange {
        TreeChange::ModifyDn {
            dn,
            new_rdn: self.new_rdn.clone(),
            delete_old_rdn: self.delete_old_rdn,
            new_superior: self.new_superior.clone(),
        }
    }
}

/// The names of a request.
///
/// # Errors
/// `invalidDNSyntax`, `namingViolation`.
pub(crate) fn read(schema: &Schema, request: &ModifyDnRequest<'_>) -> Result<Rename, OperationError> {
    let dn = checks::parse_dn(schema, request.entry)?;
    let new_rdn = Dn::parse(schema, request.new_rdn).map_err(|_| ModifyDnRefusal::InvalidNewRdn)?;
    if new_rdn.depth() != 1 {
        return Err(ModifyDnRefusal::InvalidNewRdn.into());
    }
    let new_superior = request
        .new_superior
        .map(|name| Dn::parse(schema, name).map_err(|_| ModifyDnRefusal::InvalidNewSuperior))
        .transpose()?;
    let parent = dn.parent().unwrap_or_default();
    let target = new_superior.as_ref().unwrap_or(&parent).child(&new_rdn);
    let modifications = modifications_of(schema, &dn, &new_rdn, request.delete_old_rdn)?;
    Ok(Rename {
        dn,
        new_rdn,
        delete_old_rdn: request.delete_old_rdn,
        new_superior,
        target,
        modifications,
    })
}

/// Whether the naming contexts allow moving an entry there.
pub(super) fn check_context(
    configuration: &Configuration,
    context: &NamingContext,
    rename: &Rename,
) -> Result<(), ModifyDnRefusal> {
    let destination = configuration
        .context_of(&rename.target)
        .map(|context| Arc::as_ref(context).number);
    if destination != Some(context.number) {
        return Err(ModifyDnRefusal::OtherContext);
    }
    if context.is_suffix(&rename.dn) {
        return Err(ModifyDnRefusal::Suffix);
    }
    Ok(())
}

/// The entry; where its superior is missing as well, slapd names no matched DN.
fn locate(execution: &Execution<'_, '_>, rename: &Rename) -> Result<EntryId, OperationError> {
    let dn = &rename.dn;
    match execution.place_of(dn)? {
        Location::Entry(id) => Ok(id),
        Location::Missing {
            ancestor: Some((_, depth)),
        } if depth + 1 != dn.depth() => Err(referral::default_referral(execution.configuration, dn, None)),
        Location::Missing { ancestor } => {
            // A client that may not rename there does not learn which entries exist.
            if let Some((id, _)) = ancestor {
                let view = execution.view();
                let parent = checks::record_of(view, id)?;
                let check = WriteCheck::on_record(execution.requester(), &parent, view);
                require(
                    check.permits(Target::Children, rename.needed_above()),
                    ModifyDnRefusal::NoAccessToParent,
                )?;
            }
            Err(execution.missing(dn, ancestor))
        }
    }
}

/// The answers of overlays depend on values that the client may not see, so overlays are asked only about permitted
/// names. A client without the rights is refused in the same way as without overlays.
fn require_rights(execution: &Execution<'_, '_>, rename: &Rename) -> Result<(), OperationError> {
    if execution.subject().is_root {
        return Ok(());
    }
    let id = locate(execution, rename)?;
    if is_granted(execution, id, rename)? {
        return Ok(());
    }
    prepare(execution, id, rename, &rename.modifications)?;
    Err(ModifyDnRefusal::NoAccess.into())
}

/// Whether the access rules grant all that the client asks for.
fn is_granted(execution: &Execution<'_, '_>, id: EntryId, rename: &Rename) -> Result<bool, OperationError> {
    let view = execution.view();
    let record = checks::record_of(view, id)?;
    let requester = execution.requester();
    let check = WriteCheck::on_record(requester, &record, view);
    let Some(destination) = Destination::find(execution, view, &view.dn(id)?, rename)? else {
        return Ok(false);
    };
    Ok(grants_above(execution, view, &record, rename.needed_above())?
        && check.permits(Target::Entry, execution.needed_on_entry(RENAME))
        && destination.is_granted(execution, view)
        && check_access(&check.named(rename.target.clone()), &rename.modifications).is_ok())
}

struct Prepared {
    plan: Plan,
    old_name: Dn,
    new_name: Dn,
    pre_read: Option<Vec<u8>>,
}

/// Every check that can refuse the operation, on the entry as it is.
fn prepare(
    execution: &Execution<'_, '_>,
    id: EntryId,
    rename: &Rename,
    modifications: &[Modification],
) -> Result<Prepared, OperationError> {
    let view = execution.view();
    let record = checks::record_of(view, id)?;
    let requester = execution.requester();
    let old_name = view.dn(id)?;
    require(
        grants_above(execution, view, &record, rename.needed_above())?,
        ModifyDnRefusal::NoAccessToParent,
    )?;
    execution.check_assertion(view, &record)?;
    let check = WriteCheck::on_record(requester, &record, view);
    require(
        check.permits(Target::Entry, execution.needed_on_entry(RENAME)),
        ModifyDnRefusal::NoAccessToEntry,
    )?;
    checks::refuse_referral(execution, view, &record)?;
    let superior = destination(execution, view, &old_name, rename)?;
    let new_name = superior.child(&rename.new_rdn);
    match view.locate(&new_name)? {
        Location::Entry(other) if other != id => return Err(ModifyDnRefusal::Exists.into()),
        Location::Entry(_) | Location::Missing { .. } => {}
    }
    let pre_read = read_entry::pre_read(execution, view, &record)?;
    if !requester.subject.is_root {
        // The rules see the entry under its new name.
        check_access(&check.named(new_name.clone()), modifications)?;
    }
    let options = Options {
        relax: execution.is_relaxed(),
        may_be_dynamic: overlays_of(execution.context).keeps_dynamic_entries(),
        permissive: false,
        watched: &overlays_of(requester.context).watched,
        budget: Some(execution.budget),
    };
    let judge = |draft: &Draft<'_, '_>| {
        checks::check_outcome(
            execution,
            Outcome {
                name: &new_name,
                change: OutcomeChange::Modify {
                    former: &record,
                    modifications,
                },
                state: draft,
            },
        )
    };
    let plan = plan(
        requester.configuration,
        &record,
        &new_name,
        modifications,
        &options,
        judge,
    )?;
    Ok(Prepared {
        plan,
        old_name,
        new_name,
        pre_read,
    })
}

/// Whether the access rules grant something on the children of an entry's superior.
fn grants_above(
    execution: &Execution<'_, '_>,
    view: View<'_>,
    record: &Record<'_>,
    needed: Privileges,
) -> Result<bool, OperationError> {
    let requester = execution.requester();
    if record.parent() == 0 {
        return Ok(grants_on_root(execution, needed));
    }
    let parent = checks::record_of(view, record.parent())?;
    Ok(WriteCheck::on_record(requester, &parent, view).permits(Target::Children, needed))
}

/// The superior that an entry will have.
enum Destination<'t> {
    /// The present superior.
    Same(Dn),
    Root,
    Other(Record<'t>),
}

impl<'t> Destination<'t> {
    /// `None`: there is no such entry.
    fn find(
        execution: &Execution<'_, '_>,
        view: View<'t>,
        old_name: &Dn,
        rename: &Rename,
    ) -> Result<Option<Self>, OperationError> {
        let parent = old_name.parent().unwrap_or_default();
        let Some(wanted) = rename.new_superior.as_ref().filter(|wanted| **wanted != parent) else {
            return Ok(Some(Self::Same(parent)));
        };
        Ok(match execution.place_of(wanted)? {
            Location::Entry(id) => Some(Self::Other(checks::record_of(view, id)?)),
            Location::Missing { .. } => wanted.is_root().then_some(Self::Root),
        })
    }

    /// Whether the access rules allow an entry here.
    fn is_granted(&self, execution: &Execution<'_, '_>, view: View<'_>) -> bool {
        let requester = execution.requester();
        match self {
            Self::Same(_) => true,
            Self::Root => grants_on_root(execution, Privileges::ADD),
            Self::Other(record) => {
                WriteCheck::on_record(requester, record, view).permits(Target::Children, Privileges::ADD)
            }
        }
    }
}

/// The name of the superior that the entry will have.
fn destination(
    execution: &Execution<'_, '_>,
    view: View<'_>,
    old_name: &Dn,
    rename: &Rename,
) -> Result<Dn, OperationError> {
    let Some(destination) = Destination::find(execution, view, old_name, rename)? else {
        return Err(ModifyDnRefusal::NoNewSuperior.into());
    };
    require(
        destination.is_granted(execution, view),
        ModifyDnRefusal::NoAccessToNewSuperior,
    )?;
    let record = match destination {
        Destination::Same(parent) => return Ok(parent),
        Destination::Root => return Ok(Dn::root()),
        Destination::Other(record) => record,
    };
    if record.is_alias() {
        return Err(ModifyDnRefusal::NewSuperiorIsAlias.into());
    }
    if record.is_referral() {
        return Err(ModifyDnRefusal::NewSuperiorIsReferral.into());
    }
    Ok(view.dn(record.id)?)
}
