//! The dereference control (draft-masarati-ldap-deref): attributes of the entries whose DNs are values of an entry.

use std::{collections::HashSet, ops::ControlFlow};

use ironbark_ldap_proto::{
    List, PartialAttribute,
    controls::{Control, DereferenceRequest, DereferenceResult, EncodedDereferences, RequestControls},
};
use ironbark_model::{AttributeDescription, Budget, Dn, Schema, budget::cost, syntax};
use ironbark_store::{Derived, DerivedAttributes, HeldSnapshot, Location, Purpose, Record, StoreError, View, Wanted};
use smallvec::SmallVec;

use super::{Selection, run::SearchRun, selection::DereferenceSpecification};
use crate::{
    NamingContext, OperationError,
    access::{self, Requester, Source, VisibleEntry},
    overlay::{derived::DerivedFor, overlays_of},
    refusal::DereferenceRefusal,
};

/// DNs that are looked up for one entry. Further DNs are left out.
const LOOK_UP_LIMIT: usize = 100_000;
/// Octets of results for one entry. Beyond that the result is adminLimitExceeded.
const MOST_OCTETS: usize = 16 << 20;
/// Steps for following a DN.
const LINK_STEPS: u64 = 50;
/// This many specifications are not counted as work.
const FEW_SPECIFICATIONS: usize = 8;

/// The results for one entry.
#[derive(Default)]
struct Gathering {
    encoded: Vec<u8>,
    looked_up: usize,
    /// One snapshot for each database, by the number of its context.
    snapshots: SmallVec<[(i32, HeldSnapshot); 1]>,
}

/// The returned attributes of one entry that a DN names.
type Found = Vec<(Vec<u8>, Vec<Vec<u8>>)>;

/// The specifications of the dereference control. Empty if an uncritical control names an attribute whose values are
/// not DNs. Meaningless if the steps have run out.
fn specifications(
    schema: &Schema,
    control: &Control<DereferenceRequest<'_>>,
    budget: Option<&Budget>,
) -> Result<Vec<DereferenceSpecification>, DereferenceRefusal> {
    let mut specifications: Vec<DereferenceSpecification> = Vec::new();
    let mut known = HashSet::new();
    for specification in &control.value.0 {
        let attribute = schema
            .attribute_description(specification.attribute)
            .map_err(|_| DereferenceRefusal::UndefinedAttribute)?;
        let syntax = schema.attribute_type(attribute.attribute_type).syntax.oid;
        if ![syntax::oid::DN, syntax::oid::NAME_AND_OPTIONAL_UID].contains(&syntax) {
            if control.critical {
                return Err(DereferenceRefusal::NoDnSyntax);
            }
            return Ok(Vec::new());
        }
        // Thus each value is followed once.
        if !known.insert(attribute.clone()) {
            return Err(DereferenceRefusal::RepeatedAttribute);
        }
        let mut selection = Selection::default();
        selection.resolve(schema, specification.attributes.iter(), budget);
        if budget.is_some_and(Budget::is_exhausted) {
            return Ok(Vec::new());
        }
        let mut names = specification.attributes.iter();
        if names.any(|name| schema.attribute_description(name).is_err()) {
            return Err(DereferenceRefusal::UndefinedResult);
        }
        specifications.push(DereferenceSpecification {
            attribute,
            name: specification.attribute.into(),
            selection,
        });
    }
    Ok(specifications)
}

impl SearchRun {
    /// Resolves the attribute names in the dereference control, if there is one.
    ///
    /// # Errors
    /// `protocolError` for an invalid name. An attribute whose values are not DNs is an error only in a
    /// critical control.
    pub(super) fn resolve_dereference(
        &mut self,
        schema: &Schema,
        controls: &RequestControls<'_>,
        budget: Option<&Budget>,
    ) -> Result<(), OperationError> {
        if let (Some(extras), Some(control)) = (&mut self.extras, &controls.dereference) {
            extras.dereference = specifications(schema, control, budget)?;
        }
        Ok(())
    }
}

/// The response control for an entry. `None`: the entry has none of the attributes, or the steps have run out.
pub(super) fn response(
    run: &SearchRun,
    entry: &VisibleEntry<'_>,
    specifications: &[DereferenceSpecification],
) -> Result<Option<Control<EncodedDereferences>>, OperationError> {
    let Source::Record(record, view) = entry.source() else {
        return Ok(None);
    };
    let mut gathering = Gathering::default();
    for (number, specification) in specifications.iter().enumerate() {
        if number >= FEW_SPECIFICATIONS && !view.spend(1) {
            return Ok(None);
        }
        let mut failure = None;
        let mut look = |value: &[u8]| {
            gathering.looked_up += 1;
            if gathering.looked_up > LOOK_UP_LIMIT || !view.spend(LINK_STEPS + cost(value.len())) {
                return ControlFlow::Break(());
            }
            if !entry.may_read(&specification.attribute, Some(value)) {
                return ControlFlow::Continue(());
            }
            match gathering.follow(run, view, specification, value) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    failure = Some(error);
                    ControlFlow::Break(())
                }
            }
        };
        let derived = record.derived(&specification.attribute, Purpose::Show)?;
        if derived.is_empty() {
            if let Some(attribute) = record.values(&specification.attribute) {
                attribute.for_each(&mut look)?;
            }
        } else {
            let all = derived.merged(record, &specification.attribute)?;
            let _ = all.iter().try_for_each(|value| look(value));
        }
        if let Some(error) = failure {
            return Err(error);
        }
    }
    let encoded = gathering.encoded;
    Ok((!encoded.is_empty()).then(|| Control::optional(EncodedDereferences(encoded))))
}

impl Gathering {
    /// Adds the result for one DN.
    fn follow(
        &mut self,
        run: &SearchRun,
        asking: View<'_>,
        specification: &DereferenceSpecification,
        value: &[u8],
    ) -> Result<(), OperationError> {
        let Ok(dn) = Dn::parse(&run.configuration.schema, value) else {
            return Ok(());
        };
        let found = match run.configuration.context_of(&dn) {
            Some(context) => self.look_up(run, asking, context, specification, &dn)?,
            None => Found::new(),
        };
        let values: Vec<Vec<&[u8]>> = found
            .iter()
            .map(|(_, values)| values.iter().map(Vec::as_slice).collect())
            .collect();
        let attributes: Vec<PartialAttribute<'_>> = found
            .iter()
            .zip(&values)
            .map(|((name, _), values)| PartialAttribute {
                description: name,
                values: List::new(values),
            })
            .collect();
        let result = DereferenceResult {
            attribute: &specification.name,
            value,
            attributes: List::new(&attributes),
        };
        result.append(&mut self.encoded);
        Ok(self.check_room(0)?)
    }

    /// The requested attributes of the entry with this name, if the subject may read them.
    fn look_up(
        &mut self,
        run: &SearchRun,
        asking: View<'_>,
        context: &NamingContext,
        specification: &DereferenceSpecification,
        dn: &Dn,
    ) -> Result<Found, OperationError> {
        let Some(database) = context.database() else {
            return Ok(Found::new());
        };
        if !self.snapshots.iter().any(|(number, _)| *number == context.number) {
            self.snapshots.push((context.number, database.hold()?));
        }
        let Some((_, snapshot)) = self.snapshots.iter().find(|(number, _)| *number == context.number) else {
            return Ok(Found::new());
        };
        let view = match asking.budget() {
            Some(budget) => snapshot.view().under(budget),
            None => snapshot.view(),
        };
        let Location::Entry(id) = view.locate(dn)? else {
            return Ok(Found::new());
        };
        let Some(record) = view.record(id)? else {
            return Ok(Found::new());
        };
        let configuration = &run.configuration;
        let requester = Requester::of(configuration, context, &run.origin);
        let source = Source::Record(&record, view);
        let check = access::check(requester, source);
        let Some(visible) = access::visible(check.as_ref(), source, dn.pretty()) else {
            return Ok(Found::new());
        };
        self.gather(run, context, &record, &visible, specification)
    }

    /// The requested attributes of an entry that the subject may see.
    fn gather(
        &self,
        run: &SearchRun,
        context: &NamingContext,
        record: &Record<'_>,
        visible: &VisibleEntry<'_>,
        specification: &DereferenceSpecification,
    ) -> Result<Found, OperationError> {
        let view = record.view();
        let schema = &run.configuration.schema;
        let wanted = |one: &AttributeDescription| specification.selection.selects(schema, one, view.budget());
        let derived = derived_of(run, context, record, &wanted)?;
        let (mut found, mut octets) = (Found::new(), 0_usize);
        let mut take = |values: &mut Vec<Vec<u8>>, description: &AttributeDescription, value: &[u8]| {
            if !view.spend(cost(value.len())) {
                return ControlFlow::Break(());
            }
            if visible.may_read(description, Some(value)) {
                octets += value.len();
                values.push(value.to_vec());
            }
            match self.check_room(octets) {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        };
        for attribute in record.attributes() {
            let description = attribute.description();
            if !view.spend(1) {
                break;
            }
            if !wanted(description) || derived.get(description).is_some() {
                continue;
            }
            let mut values = Vec::new();
            attribute.for_each(&mut |value| take(&mut values, description, value))?;
            if !values.is_empty() {
                found.push((attribute.name().to_vec(), values));
            }
        }
        for one in derived.attributes() {
            let (description, mut values) = (&one.description, Vec::new());
            for value in derived.merged(record, description)? {
                if take(&mut values, description, &value).is_break() {
                    break;
                }
            }
            if !values.is_empty() {
                found.push((schema.description_text(description).into_bytes(), values));
            }
        }
        self.check_room(octets)?;
        Ok(found)
    }

    /// Checks that `more` octets fit the limit.
    fn check_room(&self, more: usize) -> Result<(), DereferenceRefusal> {
        if self.encoded.len().saturating_add(more) <= MOST_OCTETS {
            return Ok(());
        }
        Err(DereferenceRefusal::TooMuch)
    }
}

/// The derived attributes of an entry that a DN names.
fn derived_of(
    run: &SearchRun,
    context: &NamingContext,
    record: &Record<'_>,
    attributes: &dyn Fn(&AttributeDescription) -> bool,
) -> Result<Derived, StoreError> {
    let configuration = &run.configuration;
    let overlays = overlays_of(context);
    let facts = overlays.known_facts.of(configuration, context, record.view())?;
    let derived = DerivedFor {
        configuration,
        context,
        facts: facts.as_deref(),
        asker: Requester::of(configuration, context, &run.origin),
        manages_dsa_it: run.options.manage_dsa_it,
    };
    let mut found = Derived::default();
    let wanted = Wanted {
        purpose: Purpose::Show,
        new_name: None,
        attributes,
        operational: attributes,
    };
    derived.derive(record, &wanted, &mut found)?;
    Ok(found)
}
