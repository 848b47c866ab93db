//! `pwdPolicySubentry` of entries that name no policy: the name of the one that applies.

use std::sync::Arc;

use ironbark_directory::overlay::{Derivation, Derive, DerivingEntry, DerivingLook, Entries, Reads};
use ironbark_model::AttributeDescription;
use ironbark_store::{Derived, DerivedCandidates, FilterItem, StoreError, Wanted};

use super::state::Ppolicy;

/// Derives it.
#[derive(Clone)]
pub(super) struct PolicyNames(pub(super) Arc<Ppolicy>);

impl Derivation for PolicyNames {
    fn reads(&self) -> Reads {
        Reads::NothingChosen
    }

    fn facts(&self, _: Entries<'_>) -> Result<Arc<dyn Derive>, StoreError> {
        Ok(Arc::new(self.clone()))
    }
}

impl Derive for PolicyNames {
    fn attributes(&self) -> &[AttributeDescription] {
        std::slice::from_ref(&self.0.names.policy_subentry)
    }

    fn is_off_under_manage_dsa_it(&self) -> bool {
        true
    }

    fn derive(&self, entry: &DerivingEntry<'_>, _: &Wanted<'_>, found: &mut Derived) -> Result<(), StoreError> {
        let attribute = &self.0.names.policy_subentry;
        if entry.record.values(attribute).is_some() {
            return Ok(());
        }
        let whole = entry.record.to_entry(entry.dn()?)?;
        if let Some(name) = self.0.rules.choose(&self.0, entry.look.entries(), &whole)? {
            found.add(attribute, [name.pretty().as_bytes().to_vec()]);
        }
        Ok(())
    }

    fn candidates(&self, look: &DerivingLook<'_>, item: &FilterItem<'_>) -> Result<DerivedCandidates, StoreError> {
        let attribute = &self.0.names.policy_subentry;
        let default = self.0.settings.default.iter();
        let default = default.map(|name| Some(name.pretty().as_bytes().to_vec()));
        let mut all = default.chain(self.0.rules.policies());
        let is_named = all.any(|name| name.is_none_or(|name| item.holds(look.view, attribute, &[name])));
        Ok(if is_named {
            DerivedCandidates::Everything
        } else {
            DerivedCandidates::nothing()
        })
    }
}
