//! slapo-refint(5): when entries are deleted or renamed, names of them in other entries are changed in the same
//! transaction.
//!
//! If a change cannot be followed (an entry would lose a value that it must have), it is logged and left, as slapd
//! leaves it.

mod references;
mod rows;
mod settings;

use std::sync::Arc;

use ironbark_config::{
    SettingError,
    overlay::{AnySettings, Occurrence, OverlayClass, OverlayDescriptor},
};
use ironbark_directory::{
    Modification, ModificationKind, OperationError, edit,
    overlay::{AppliedEffect, EffectHooks, Execution, Overlay},
};
use ironbark_model::{AttributeDescription, Dn, ResultCode, Schema, syntax::oid};
use ironbark_store::{Effect, EntryId, Location};

pub use settings::RefintConfig;

use crate::row::Row;

/// Maximum number of effects of one operation; beyond it the operation is refused with `adminLimitExceeded`.
const EFFECT_LIMIT: usize = 1_000_000;

/// What there is to know of it.
pub(crate) const ROW: Row = Row {
    descriptor: OverlayDescriptor {
        name: "refint",
        modules: &[],
        occurrence: Occurrence::Many,
        class: Some(OverlayClass {
            names: &["olcRefintConfig"],
            oid: "3.11.1",
        }),
        settings: rows::ROWS,
        controls: &[],
        fresh: AnySettings::of::<RefintConfig>,
        schema: "",
        introduction: "",
    },
    make: |config, schema| make(config.settings()?, schema),
};

/// The overlay.
pub struct Refint {
    schema: Arc<Schema>,
    /// Attributes whose values are names.
    attributes: Vec<AttributeDescription>,
    nothing: Option<Dn>,
    modifier: Vec<u8>,
    modifiers_name: AttributeDescription,
    max_read: u32,
}

/// A name that was deleted or replaced by another one.
#[derive(Clone, Copy, Debug)]
struct Change<'a> {
    old: &'a Dn,
    /// `None`: deleted.
    new: Option<&'a Dn>,
    /// Whether it applies to all names below as well.
    is_subtree: bool,
}

impl Refint {
    /// Makes it from its settings.
    ///
    /// # Errors
    /// The schema lacks an attribute.
    pub fn new(settings: &RefintConfig, schema: &Arc<Schema>) -> Result<Self, SettingError> {
        let attribute = |name: &str| {
            schema
                .attribute_description(name.as_bytes())
                .map_err(|error| format!("attribute \"{name}\": {error}"))
        };
        let mut attributes = Vec::new();
        for name in &settings.attributes {
            let description = attribute(name)?;
            let syntax = schema.attribute_type(description.attribute_type).syntax;
            if [oid::DN, oid::NAME_AND_OPTIONAL_UID].contains(&syntax.oid) {
                attributes.push(description);
            }
        }
        let modifier = settings
            .modifiers_name
            .as_ref()
            .map_or(RefintConfig::MODIFIER, Dn::pretty);
        Ok(Self {
            schema: Arc::clone(schema),
            attributes,
            nothing: settings.nothing.clone(),
            modifier: modifier.as_bytes().to_vec(),
            modifiers_name: attribute("modifiersName")?,
            max_read: settings.max_read,
        })
    }

    fn deleted(&self, execution: &mut Execution<'_, '_>, dn: &Dn, tree: Option<&Dn>) -> Result<(), OperationError> {
        let mut change = Change {
            old: dn,
            new: None,
            is_subtree: false,
        };
        let Some(top) = tree else {
            let found = references::to_name(self, execution.view(), dn)?;
            let ids = match found {
                Some(ids) => ids,
                None => references::by_reading_all(self, execution, change)?,
            };
            return self.follow(execution, &ids, change);
        };
        // With indexes, each name of the tree is looked up when it is deleted. Without indexes, all entries are read
        // once, after the last one was deleted.
        let ids = match references::to_name(self, execution.view(), dn)? {
            Some(ids) => references::outside(execution.view(), ids, top)?,
            None if dn == top => {
                change.is_subtree = true;
                references::by_reading_all(self, execution, change)?
            }
            None => return Ok(()),
        };
        self.follow(execution, &ids, change)
    }

    fn renamed(&self, execution: &mut Execution<'_, '_>, old: &Dn, new: &Dn) -> Result<(), OperationError> {
        let Location::Entry(id) = execution.view().locate(new)? else {
            return Ok(());
        };
        let change = Change {
            old,
            new: Some(new),
            is_subtree: execution.view().has_subordinates(id)?,
        };
        let found = if change.is_subtree {
            references::to_subtree(self, execution.view(), id, old, new)?
        } else {
            references::to_name(self, execution.view(), old)?
        };
        let ids = match found {
            Some(ids) => ids,
            None => references::by_reading_all(self, execution, change)?,
        };
        self.follow(execution, &ids, change)
    }

    /// Changes entries that may hold an affected name.
    fn follow(
        &self,
        execution: &mut Execution<'_, '_>,
        ids: &[EntryId],
        change: Change<'_>,
    ) -> Result<(), OperationError> {
        for &id in ids {
            let modifications = self.modifications(execution, id, change)?;
            if modifications.is_empty() {
                continue;
            }
            if execution.record().effects.len() >= EFFECT_LIMIT {
                let text = "too many entries refer to what is changed";
                return Err(OperationError::new(ResultCode::ADMIN_LIMIT_EXCEEDED, text));
            }
            let name = execution.view().dn(id)?;
            // memberof follows deletions and renames by itself, but it does not know the name that replaces a deleted
            // one.
            let is_new_name = |change: &Modification| change.kind == ModificationKind::AddIfAbsent;
            let refusal = if change.new.is_none() && modifications.iter().any(is_new_name) {
                edit::modify_before_others(execution, &name, &modifications)?
            } else {
                edit::modify_internally(execution, &name, &modifications)?
            };
            if let Some(refusal) = refusal {
                let origin = execution.origin;
                execution.warn(format_args!(
                    "conn={} op={}: refint: \"{name}\" keeps a reference to \"{}\": err={} {}",
                    origin.connection, origin.operation, change.old, refusal.result_code.0, refusal.diagnostic_message,
                ));
            }
        }
        Ok(())
    }

    /// The modifications of one entry; empty if it holds none of the names.
    fn modifications(
        &self,
        execution: &Execution<'_, '_>,
        id: EntryId,
        change: Change<'_>,
    ) -> Result<Vec<Modification>, OperationError> {
        let mut modifications = Vec::new();
        let Some(record) = execution.view().record(id)? else {
            return Ok(modifications);
        };
        for stored in references::attributes(self, &record) {
            let gone = references::values(self, &stored, change)?;
            if gone.is_empty() {
                continue;
            }
            let mut come: Vec<Vec<u8>> = Vec::new();
            if let Some(new) = change.new {
                let moved = gone.iter().filter_map(|name| name.rebase(change.old, new));
                come.extend(moved.map(|name| name.pretty().as_bytes().to_vec()));
            } else if let Some(nothing) = self.nothing.as_ref().filter(|_| gone.len() == stored.len()) {
                come.push(nothing.pretty().as_bytes().to_vec());
            }
            let gone = gone.iter().map(|name| name.pretty().as_bytes().to_vec()).collect();
            let internal = |kind, values| Modification::internal(&self.schema, kind, stored.description(), values);
            modifications.push(internal(ModificationKind::Delete, gone));
            if !come.is_empty() {
                modifications.push(internal(ModificationKind::AddIfAbsent, come));
            }
        }
        if !modifications.is_empty() && execution.context.settings.last_modified {
            let modifier = vec![self.modifier.clone()];
            let kind = ModificationKind::Replace;
            modifications.push(Modification::internal(
                &self.schema,
                kind,
                &self.modifiers_name,
                modifier,
            ));
        }
        Ok(modifications)
    }

    fn name_in(&self, text: &str) -> Option<Dn> {
        Dn::parse(&self.schema, text.as_bytes()).ok()
    }
}

/// The overlay.
///
/// # Errors
/// The schema lacks an attribute.
fn make(settings: &RefintConfig, schema: &Arc<Schema>) -> Result<Overlay, SettingError> {
    let refint = Refint::new(settings, schema)?;
    let is_used = !refint.attributes.is_empty();
    Ok(Overlay {
        effects: is_used.then(|| Arc::new(refint) as _),
        ..Overlay::new("refint")
    })
}

impl EffectHooks for Refint {
    fn acts_last(&self) -> bool {
        // slapd's overlay works after the operation, when memberof has already made its own changes.
        true
    }

    fn in_transaction(
        &self,
        execution: &mut Execution<'_, '_>,
        applied: AppliedEffect<'_>,
    ) -> Result<(), OperationError> {
        match applied.effect {
            Effect::Delete { dn, .. } => match self.name_in(dn) {
                Some(dn) => self.deleted(execution, &dn, applied.deleted_tree),
                None => Ok(()),
            },
            Effect::Rename { dn, new_dn, .. } if dn != new_dn => match (self.name_in(dn), self.name_in(new_dn)) {
                (Some(old), Some(new)) => self.renamed(execution, &old, &new),
                _ => Ok(()),
            },
            Effect::Rename { .. } | Effect::Add { .. } | Effect::Modify { .. } => Ok(()),
        }
    }
}
