//! slapo-unique(5): no two entries of a domain share a value of an attribute.
//!
//! Writes are executed one after the other in the transaction of the one writer, so two clients never both get a value.
//! All other writes wait meanwhile, so the cost of the checks of one operation is bounded.

mod domain;
mod rows;
mod settings;
mod subtree;

use std::sync::Arc;

use ironbark_config::{
    SettingError,
    overlay::{AnySettings, Occurrence, OverlayClass, OverlayDescriptor},
};
use ironbark_directory::{
    Modification, ModificationKind, OperationError,
    overlay::{ContentHooks, Execution, Overlay, Renaming},
};
use ironbark_model::{Budget, Dn, Entry, Schema, budget::cost_of};
use ironbark_store::{EntryId, Location};

use domain::{Claim, Domain};
pub use settings::UniqueConfig;

use crate::{after, row::Row};

/// What there is to know of it.
pub(crate) const ROW: Row = Row {
    descriptor: OverlayDescriptor {
        name: "unique",
        modules: &[],
        occurrence: Occurrence::Once,
        class: Some(OverlayClass {
            names: &["olcUniqueConfig"],
            oid: "3.10.1",
        }),
        settings: rows::ROWS,
        controls: &[],
        fresh: AnySettings::of::<UniqueConfig>,
        schema: "",
        introduction: "",
    },
    make: |config, schema| make(config.settings()?, schema),
};

/// The overlay.
pub struct Unique {
    schema: Arc<Schema>,
    /// One for each URI.
    domains: Vec<Domain>,
}

impl Unique {
    /// Makes it from its settings.
    ///
    /// # Errors
    /// The schema lacks an attribute.
    pub fn new(settings: &UniqueConfig, schema: &Arc<Schema>) -> Result<Self, SettingError> {
        let mut domains = Vec::new();
        for domain in settings.domains().iter() {
            for uri in &domain.uris {
                domains.push(Domain::new(domain, uri, schema)?);
            }
        }
        Ok(Self {
            schema: Arc::clone(schema),
            domains,
        })
    }

    /// The entry that a request is about, if there is one.
    fn target(execution: &Execution<'_, '_>, dn: &Dn) -> Result<Option<EntryId>, OperationError> {
        match execution.view().locate(dn)? {
            Location::Entry(id) => Ok(Some(id)),
            Location::Missing { .. } => Ok(None),
        }
    }

    /// The relax rules control lets a manager of the entry do anything.
    fn is_exempt(execution: &Execution<'_, '_>, id: Option<EntryId>) -> Result<bool, OperationError> {
        match id {
            Some(id) if execution.is_relaxed() => Ok(execution.may_manage(&execution.entry(id)?)),
            _ => Ok(false),
        }
    }
}

/// The overlay.
///
/// # Errors
/// The schema lacks an attribute.
fn make(settings: &UniqueConfig, schema: &Arc<Schema>) -> Result<Overlay, SettingError> {
    let unique = Unique::new(settings, schema)?;
    let is_used = !unique.domains.is_empty();
    Ok(Overlay {
        content: is_used.then(|| Arc::new(unique) as _),
        ..Overlay::new("unique")
    })
}

impl ContentHooks for Unique {
    fn before_add(&self, execution: &mut Execution<'_, '_>, entry: &mut Entry) -> Result<(), OperationError> {
        if execution.is_relaxed() && execution.may_manage(entry) {
            return Ok(());
        }
        let own = Self::target(execution, &entry.dn)?;
        let work = Budget::new(CHECK_STEPS);
        for domain in &self.domains {
            work.spend(domain.cost_of_names(entry.attributes.len()));
            if domain.is_below_base(&entry.dn) && domain.may_have(&self.schema, entry, &work) {
                let claims = domain.claims_of(&self.schema, entry, &work);
                domain.check(execution, own, &claims, &work)?;
            }
        }
        Ok(())
    }

    fn before_modify(
        &self,
        execution: &mut Execution<'_, '_>,
        dn: &Dn,
        modifications: &mut Vec<Modification>,
    ) -> Result<(), OperationError> {
        let own = Self::target(execution, dn)?;
        if Self::is_exempt(execution, own)? {
            return Ok(());
        }
        let work = Budget::new(CHECK_STEPS);
        for domain in self.domains.iter().filter(|domain| domain.is_below_base(dn)) {
            work.spend(domain.cost_of_names(modifications.len()));
            let is_touched = modifications.iter().any(|modification| {
                let comes = modification.kind != ModificationKind::Delete;
                comes && domain.covers(&self.schema, &modification.description)
                    || domain.filter_names(&self.schema, &modification.description)
            });
            if !is_touched {
                continue;
            }
            let needs_sum = |change: &Modification| change.kind == ModificationKind::Increment;
            let after = match own {
                Some(id) if domain.has_filter() || modifications.iter().any(needs_sum) => Some(after::modified(
                    &|name| domain.wants(&self.schema, name),
                    &self.schema,
                    execution,
                    id,
                    modifications,
                    &work,
                )?),
                _ => None,
            };
            let claims = match (&after, own) {
                (Some(after), _) if !domain.may_have(&self.schema, after, &work) => Vec::new(),
                (Some(after), Some(id)) if !domain.has(execution, id, &work)? => {
                    domain.claims_of(&self.schema, after, &work)
                }
                (after, _) => claims_of_changes(domain, &self.schema, modifications, after.as_ref(), &work),
            };
            domain.check(execution, own, &claims, &work)?;
        }
        Ok(())
    }

    fn before_modify_dn(
        &self,
        execution: &mut Execution<'_, '_>,
        renaming: Renaming<'_>,
    ) -> Result<(), OperationError> {
        let own = Self::target(execution, renaming.dn)?;
        if Self::is_exempt(execution, own)? {
            return Ok(());
        }
        let named = renaming.new_rdn.leaf_assertions(&self.schema);
        let work = Budget::new(CHECK_STEPS);
        for domain in &self.domains {
            if !domain.is_below_base(renaming.target) {
                continue;
            }
            let was_below = domain.is_below_base(renaming.dn);
            let after = match own {
                Some(id) if domain.has_filter() || !was_below => Some(after::renamed(
                    &|name| domain.wants(&self.schema, name),
                    &self.schema,
                    execution,
                    id,
                    renaming,
                    &work,
                )?),
                _ => None,
            };
            let claims = match (&after, own) {
                (Some(after), _) if !domain.may_have(&self.schema, after, &work) => Vec::new(),
                (Some(after), Some(id)) if !(was_below && domain.has(execution, id, &work)?) => {
                    domain.claims_of(&self.schema, after, &work)
                }
                _ => {
                    let covered = named.iter().filter(|(name, _)| domain.covers(&self.schema, name));
                    let claim = |(name, value): &(_, Vec<u8>)| Claim::value(&self.schema, name, value);
                    covered.map(claim).collect()
                }
            };
            domain.check(execution, own, &claims, &work)?;
            if let (Some(after), Some(id), false) = (&after, own, was_below) {
                subtree::check(domain, &self.schema, execution, renaming, id, after, &work)?;
            }
        }
        Ok(())
    }
}

/// The values that modifications add; fewer if the budget is exhausted.
fn claims_of_changes(
    domain: &Domain,
    schema: &Schema,
    modifications: &[Modification],
    after: Option<&Entry>,
    work: &Budget,
) -> Vec<Claim> {
    let mut claims = Vec::new();
    for modification in modifications {
        let name = &modification.description;
        if modification.kind == ModificationKind::Delete || !domain.covers(schema, name) {
            continue;
        }
        if modification.values.is_empty() && domain.strict {
            claims.push(Claim::presence(schema, name));
            continue;
        }
        let values = match after {
            // The request has the amount to add; the resulting value is the sum.
            _ if modification.kind != ModificationKind::Increment => &modification.values[..],
            Some(after) => after.attribute(name).map_or(&[][..], |attribute| &attribute.values),
            None => &[],
        };
        let values = values.iter().take_while(|value| work.spend(cost_of(value)));
        claims.extend(values.map(|value| Claim::value(schema, name, value)));
    }
    claims
}

/// Steps that the checks of one operation may take, on the thread that all writes of a database wait for. This is a
/// fraction of a second, enough to look for a value without an index in a database of some million entries.
const CHECK_STEPS: u64 = 10_000_000;
