//! A subtree that moves into a domain: all its entries bring their values, not only the top.

use std::collections::HashSet;

use ironbark_directory::{
    OperationError,
    overlay::{Execution, Renaming},
};
use ironbark_model::{AttributeDescription, Budget, Dn, Entry, Schema, budget::cost_of};
use ironbark_store::EntryId;

use super::domain::{CLAIMS_AT_ONCE, Claim, Domain};
use crate::after::{self, normal_form};

/// Steps for remembering one value: it keeps the memory of the largest subtree that can be checked under 100 MB.
const VALUE_STEPS: u64 = 16;
/// Steps for reading one entry.
const ENTRY_STEPS: u64 = 8;

/// The values of entries that come together.
struct Arrivals<'a> {
    domain: &'a Domain,
    schema: &'a Schema,
    work: &'a Budget,
    /// Attributes and normal forms.
    seen: HashSet<(AttributeDescription, Vec<u8>)>,
    /// What was not looked for yet.
    claims: Vec<Claim>,
}

/// Refuses the move of a subtree from elsewhere into a domain, if one of its entries below the top has a value that an
/// entry of the domain, or another one of the subtree, has too. `after` is the top as it will be.
///
/// # Errors
/// `constraintViolation`; `adminLimitExceeded`: this work, together with earlier work, is too much.
pub(super) fn check(
    domain: &Domain,
    schema: &Schema,
    execution: &Execution<'_, '_>,
    renaming: Renaming<'_>,
    id: EntryId,
    after: &Entry,
    work: &Budget,
) -> Result<(), OperationError> {
    let mut waiting = below(execution, id, work)?;
    if waiting.is_empty() {
        return Ok(());
    }
    let mut arrivals = Arrivals {
        domain,
        schema,
        work,
        seen: HashSet::new(),
        claims: Vec::new(),
    };
    arrivals.take(after)?;
    // The top was looked for already.
    arrivals.claims.clear();
    while let Some(id) = waiting.pop() {
        work.spend(ENTRY_STEPS);
        waiting.extend(below(execution, id, work)?);
        let mut entry = after::copy(&|name| domain.wants(schema, name), execution, id)?;
        if let Some(target) = Dn::rebase(&entry.dn, renaming.dn, renaming.target) {
            entry.dn = target;
        }
        arrivals.take(&entry)?;
        if arrivals.claims.len() >= CLAIMS_AT_ONCE || work.is_exhausted() {
            arrivals.look(execution)?;
        }
    }
    arrivals.look(execution)
}

/// The entries immediately below one; fewer if the budget is exhausted.
fn below(execution: &Execution<'_, '_>, id: EntryId, work: &Budget) -> Result<Vec<EntryId>, OperationError> {
    let children = execution.view().children(id)?;
    Ok(children.take_while(|_| work.spend(1)).collect::<Result<_, _>>()?)
}

impl Arrivals<'_> {
    /// Takes the values of one entry.
    fn take(&mut self, entry: &Entry) -> Result<(), OperationError> {
        if !self.domain.may_have(self.schema, entry, self.work) {
            return Ok(());
        }
        let is_covered = |name: &AttributeDescription| self.domain.covers(self.schema, name);
        let covered = entry
            .attributes
            .iter()
            .filter(|attribute| is_covered(&attribute.description));
        for attribute in covered {
            let name = &attribute.description;
            for value in &attribute.values {
                if !self.work.spend(VALUE_STEPS + cost_of(value)) {
                    return Ok(());
                }
                let claim = Claim::value(self.schema, name, value);
                if !self.seen.insert((name.clone(), normal_form(self.schema, name, value))) {
                    return Err(claim.refusal());
                }
                self.claims.push(claim);
            }
        }
        Ok(())
    }

    /// Looks for the values in the domain.
    fn look(&mut self, execution: &Execution<'_, '_>) -> Result<(), OperationError> {
        self.domain.check(execution, None, &self.claims, self.work)?;
        self.claims.clear();
        Ok(())
    }
}
