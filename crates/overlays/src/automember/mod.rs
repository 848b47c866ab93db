//! The overlay automember: new entries become members of groups, as the Auto Membership plugin of 389 Directory Server
//! makes them.
//!
//! - `rules.rs`: the groups of an entry.
//!
//! Only requests of clients count: what a provider sends has the groups' changes beside it. The groups change in the
//! transaction of the request, with its timestamps.

mod rows;
mod rules;
mod settings;

use std::sync::Arc;

use ironbark_config::{
    SettingError,
    overlay::{AnySettings, Occurrence, OverlayClass, OverlayDescriptor},
};
use ironbark_directory::{
    Modification, ModificationKind, OperationError, edit,
    overlay::{AppliedEffect, ContentHooks, EffectHooks, Execution, Overlay, Renaming},
};
use ironbark_model::{Attribute, AttributeDescription, Budget, Dn, Entry, ResultCode, Schema, syntax::oid};
use ironbark_store::{Effect, Location, ValueChange};

use self::{rules::Rules, settings::AutomemberConfig};
use crate::{Row, after::normal_form, under_way::UnderWay};

pub(crate) const ROW: Row = Row {
    descriptor: OverlayDescriptor {
        name: "automember",
        modules: &[],
        occurrence: Occurrence::Many,
        class: Some(OverlayClass {
            names: &["olcAutomemberConfig"],
            oid: "+42",
        }),
        settings: rows::ROWS,
        controls: &[],
        fresh: AnySettings::of::<AutomemberConfig>,
        schema: "",
        introduction: "New entries become members of groups, as with the Auto Membership plugin of 389 Directory Server. \
            Each overlay has one definition; configure several for several. The groups change in the same \
            transaction; the client needs no rights to them. When a modify changes what a definition looks at, the \
            entry moves between its groups; after a modify DN it becomes a member under its new name. Former names \
            and deleted entries are removed by overlay refint. Overlay memberof sees the changes. See \
            docs/accounts.md.",
    },
    make: |config, schema| make(config.settings()?, schema),
};

/// The overlay.
struct Automember {
    schema: Arc<Schema>,
    rules: Rules,
    member: AttributeDescription,
    /// The attribute that gives the value; `None`: the name.
    value: Option<AttributeDescription>,
    /// What the decisions depend on.
    watched: Vec<AttributeDescription>,
    /// The entry of the client's request under way, if it may belong to a group.
    pending: UnderWay<Dn>,
}

fn make(settings: &AutomemberConfig, schema: &Arc<Schema>) -> Result<Overlay, SettingError> {
    let described = |name: &str| {
        let description = schema.attribute_description(name.as_bytes());
        description.map_err(|error| SettingError::Wrong(format!("{name}: {error}")))
    };
    let member = described(&settings.member)?;
    let value = settings.value.as_deref().map(described).transpose()?;
    let syntax = schema.attribute_type(member.attribute_type).syntax;
    if value.is_none() && ![oid::DN, oid::NAME_AND_OPTIONAL_UID].contains(&syntax.oid) {
        return Err(format!("automember-grouping-attr: {} cannot have names", settings.member).into());
    }
    let rules = Rules::new(settings, schema)?;
    let mut watched = rules.attributes();
    watched.extend(value.clone());
    watched.sort_unstable();
    watched.dedup();
    let automember = Arc::new(Automember {
        schema: Arc::clone(schema),
        rules,
        member,
        value,
        watched,
        pending: UnderWay::default(),
    });
    Ok(Overlay {
        content: Some(Arc::clone(&automember) as _),
        effects: Some(automember),
        ..Overlay::new("automember")
    })
}

impl ContentHooks for Automember {
    fn before_add(&self, execution: &mut Execution<'_, '_>, entry: &mut Entry) -> Result<(), OperationError> {
        self.expect(execution, &entry.dn, true);
        Ok(())
    }

    fn before_modify(
        &self,
        execution: &mut Execution<'_, '_>,
        dn: &Dn,
        modifications: &mut Vec<Modification>,
    ) -> Result<(), OperationError> {
        let is_touched = modifications.iter().any(|change| self.watches(&change.description));
        self.expect(execution, dn, is_touched);
        Ok(())
    }

    fn before_modify_dn(
        &self,
        execution: &mut Execution<'_, '_>,
        renaming: Renaming<'_>,
    ) -> Result<(), OperationError> {
        self.expect(execution, renaming.target, true);
        Ok(())
    }
}

impl EffectHooks for Automember {
    fn in_transaction(
        &self,
        execution: &mut Execution<'_, '_>,
        applied: AppliedEffect<'_>,
    ) -> Result<(), OperationError> {
        let Some(dn) = self.pending.take(execution) else {
            return Ok(());
        };
        let (name, changes): (_, &[ValueChange]) = match applied.effect {
            Effect::Add { dn, .. } => (dn, &[]),
            Effect::Modify { dn, changes } => (dn, changes),
            Effect::Rename { new_dn, .. } => (new_dn, &[]),
            Effect::Delete { .. } => return Ok(()),
        };
        // Other entries change with it.
        if Dn::parse(&self.schema, name.as_bytes()).is_ok_and(|name| name == dn) {
            let is_modify = matches!(applied.effect, Effect::Modify { .. });
            let former = is_modify.then_some(Former {
                changes,
                before: applied.attributes_before,
            });
            return self.follow(execution, &dn, former);
        }
        Ok(())
    }

    fn watched(&self) -> &[AttributeDescription] {
        &self.watched
    }

    /// So that memberof sees the changes of the groups.
    fn acts_last(&self) -> bool {
        true
    }
}

/// The changes of a modify, and the watched attributes as they were.
#[derive(Clone, Copy)]
struct Former<'a> {
    changes: &'a [ValueChange],
    /// The attributes before the changes.
    before: &'a [Attribute],
}

impl Automember {
    /// Notes the entry of a request, if it may need to become a member.
    fn expect(&self, execution: &Execution<'_, '_>, dn: &Dn, is_touched: bool) {
        let is_meant = is_touched && dn.is_within(&self.rules.scope);
        self.pending.note(execution, is_meant.then(|| dn.clone()));
    }

    fn watches(&self, name: &AttributeDescription) -> bool {
        let mut watched = self.watched.iter();
        watched.any(|watched| self.schema.is_description_subtype(name, watched))
    }

    /// Changes the groups of an entry that was written.
    fn follow(
        &self,
        execution: &mut Execution<'_, '_>,
        dn: &Dn,
        former: Option<Former<'_>>,
    ) -> Result<(), OperationError> {
        let Some(entry) = self.entry(execution, dn)? else {
            return Ok(());
        };
        let work = Budget::new(MATCH_STEPS);
        let groups = self.groups_of(&entry, &work)?;
        let Some((groups, value)) = groups.zip(self.value_of(&entry)) else {
            return Ok(());
        };
        for group in &groups {
            self.change(execution, group, &value, ModificationKind::AddIfAbsent)?;
        }
        let Some(former) = former else { return Ok(()) };
        let former = self.before(entry, former);
        for group in self.groups_of(&former, &work)?.unwrap_or_default() {
            if !groups.contains(&group) {
                self.change(execution, group, &value, ModificationKind::Delete)?;
            }
        }
        Ok(())
    }

    /// The groups that an entry belongs to; `None`: the definition is not about it.
    ///
    /// # Errors
    /// `adminLimitExceeded`.
    fn groups_of(&self, entry: &Entry, work: &Budget) -> Result<Option<Vec<&Dn>>, OperationError> {
        let is_meant = self.rules.matches(&self.schema, entry, work);
        let groups = is_meant.then(|| self.rules.groups_of(entry, work));
        if work.is_exhausted() {
            let text = "automember: it takes too much work to find the groups of the entry";
            return Err(OperationError::new(ResultCode::ADMIN_LIMIT_EXCEEDED, text));
        }
        Ok(groups)
    }

    /// The entry with the watched attributes.
    fn entry(&self, execution: &Execution<'_, '_>, dn: &Dn) -> Result<Option<Entry>, OperationError> {
        let view = execution.view();
        let Location::Entry(id) = view.locate(dn)? else {
            return Ok(None);
        };
        let Some(record) = view.record(id)? else {
            return Ok(None);
        };
        let mut entry = Entry::new(dn.clone());
        for stored in record.attributes().filter(|stored| self.watches(stored.description())) {
            entry.attributes.push(stored.to_attribute()?);
        }
        Ok(Some(entry))
    }

    /// The entry as it was. A big set of values of which some were added counts as if it had not been there: the entry
    /// then stays in a group that it should leave.
    fn before(&self, mut entry: Entry, former: Former<'_>) -> Entry {
        for change in former.changes {
            let Ok(name) = self.schema.attribute_description(change.attribute().as_bytes()) else {
                continue;
            };
            let former = former.before.iter().find(|attribute| attribute.description == name);
            entry.set_values(&name, former.map_or_else(Vec::new, |former| former.values.clone()));
        }
        entry
    }

    /// The value for the groups.
    fn value_of(&self, entry: &Entry) -> Option<Vec<u8>> {
        let Some(name) = &self.value else {
            return Some(entry.dn.pretty().as_bytes().to_vec());
        };
        let value = entry.attribute(name)?.values.first()?;
        let syntax = self.schema.attribute_type(self.member.attribute_type).syntax;
        (syntax.validate)(&self.schema, value).ok()?;
        Some(value.clone())
    }

    /// Adds a value to a group, or deletes it there. As in 389, a group that does not exist is passed over.
    ///
    /// # Errors
    /// `unwillingToPerform`: the group cannot have the value; the storage failed.
    fn change(
        &self,
        execution: &mut Execution<'_, '_>,
        group: &Dn,
        value: &[u8],
        kind: ModificationKind,
    ) -> Result<(), OperationError> {
        let view = execution.view();
        let is_held = match view.locate(group)? {
            Location::Entry(id) => match view.record(id)? {
                Some(record) => {
                    let normal = normal_form(&self.schema, &self.member, value);
                    let held = record.values(&self.member);
                    held.map_or(Ok(false), |held| held.holds_normalized(&normal))?
                }
                None => return Ok(()),
            },
            Location::Missing { .. } => {
                execution.warn(format_args!("automember: there is no group \"{}\"", group.pretty()));
                return Ok(());
            }
        };
        let is_new = kind != ModificationKind::Delete;
        if is_held == is_new {
            return Ok(());
        }
        let change = Modification::internal(&self.schema, kind, &self.member, vec![value.to_vec()]);
        let Some(refusal) = edit::modify_as_server(execution, group, vec![change])? else {
            return Ok(());
        };
        let (name, code, text) = (group.pretty(), refusal.result_code.0, refusal.diagnostic_message);
        execution.warn(format_args!(
            "automember: changing \"{name}\" failed: err={code} {text}"
        ));
        if is_new {
            // The client need not know the group.
            let text = "automember: a group cannot have the entry as a member";
            return Err(OperationError::new(ResultCode::UNWILLING_TO_PERFORM, text));
        }
        Ok(())
    }
}

/// Steps that finding the groups of an entry may take, on the thread that all writes wait for: about 100 ms.
const MATCH_STEPS: u64 = 1_000_000;
