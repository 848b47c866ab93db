//! A derivation for tests: definitions give values to the entries around them.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use ironbark_directory::overlay::{Derivation, Derive, DerivingEntry, DerivingLook, Entries, Overlay, Reads};
use ironbark_model::{AttributeDescription, Dn, Schema};
use ironbark_store::{
    Derived, DerivedCandidates, DitScope, FilterItem, Location, Purpose, Record, StoreError, View, Wanted,
};

use ironbark_harness::Site;

/// An entry with `source` is a definition. Its superior and all entries below that have its values in `target`, but
/// for the definitions.
#[derive(Clone, Copy)]
#[allow(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
pub(crate) struct Rule {
    pub(crate) source: &'static str,
    pub(crate) target: &'static str,
    /// The values stand in place of the stored ones.
    pub(crate) replaces: bool,
    pub(crate) is_off_under_manage_dsa_it: bool,
    /// Whether it knows which entries may have a value.
    pub(crate) knows_candidates: bool,
    /// Whether it answers [`Derive::holds`], for some values.
    pub(crate) looks_up: bool,
    /// An option: it gives `target` with this option, although it might also give `target` itself.
    pub(crate) option: Option<&'static str>,
}

pub(crate) const ADDS: Rule = Rule {
    source: "street",
    target: "description",
    replaces: false,
    is_off_under_manage_dsa_it: false,
    knows_candidates: true,
    looks_up: false,
    option: None,
};

pub(crate) const REPLACES: Rule = Rule { replaces: true, ..ADDS };

/// A rule in force.
pub(crate) struct Streets {
    rule: Rule,
    source: AttributeDescription,
    target: AttributeDescription,
    /// All that it may give.
    attributes: Vec<AttributeDescription>,
    /// How often facts were read.
    reads: Arc<AtomicUsize>,
}

/// The definitions of one state.
struct Definitions {
    rule: Rule,
    source: AttributeDescription,
    target: AttributeDescription,
    attributes: Vec<AttributeDescription>,
    all: Vec<Definition>,
}

struct Definition {
    superior: Dn,
    values: Vec<Vec<u8>>,
}

impl Streets {
    pub(crate) fn new(schema: &Schema, rule: Rule, reads: &Arc<AtomicUsize>) -> Self {
        let plain = attribute(schema, rule.target);
        let optional = rule
            .option
            .map(|option| attribute(schema, &format!("{};{option}", rule.target)));
        Self {
            rule,
            source: attribute(schema, rule.source),
            target: optional.clone().unwrap_or_else(|| plain.clone()),
            attributes: std::iter::once(plain).chain(optional).collect(),
            reads: Arc::clone(reads),
        }
    }
}

/// The attribute of this name.
pub(crate) fn attribute(schema: &Schema, name: &str) -> AttributeDescription {
    schema.attribute_description(name.as_bytes()).expect("a known name")
}

/// A site with a rule, and how often its facts were read.
pub(crate) fn site(lines: &str, rule: Rule) -> (Site, Arc<AtomicUsize>) {
    let reads = Arc::<AtomicUsize>::default();
    let given = Arc::clone(&reads);
    let site = Site::open_with(&format!("{lines}\noverlay tested"), move |_, schema| {
        Ok(Overlay {
            derivation: Some(Arc::new(Streets::new(schema, rule, &given))),
            ..Overlay::new("streets")
        })
    });
    (site, reads)
}

impl Derivation for Streets {
    fn reads(&self) -> Reads {
        Reads::NothingChosen
    }

    fn depends_on(&self) -> &[AttributeDescription] {
        std::slice::from_ref(&self.source)
    }

    fn facts(&self, entries: Entries<'_>) -> Result<Arc<dyn Derive>, StoreError> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        let view = entries.view();
        let mut all = Vec::new();
        for record in view.entries(0)? {
            let record = record?;
            if let (Some(held), Some(superior)) = (record.values(&self.source), view.dn(record.id)?.parent()) {
                let values = held.to_attribute()?.values;
                all.push(Definition { superior, values });
            }
        }
        Ok(Arc::new(Definitions {
            rule: self.rule,
            source: self.source.clone(),
            target: self.target.clone(),
            attributes: self.attributes.clone(),
            all,
        }))
    }
}

impl Definitions {
    /// What an entry gets, each value once.
    fn values(&self, record: &Record<'_>, schema: &Schema) -> Result<Vec<Vec<u8>>, StoreError> {
        let mut values: Vec<Vec<u8>> = Vec::new();
        if record.values(&self.source).is_some() {
            return Ok(values);
        }
        let dn = record.view().dn(record.id)?;
        for definition in self.all.iter().filter(|one| dn.is_within(&one.superior)) {
            for value in &definition.values {
                if !values
                    .iter()
                    .any(|known| normal(schema, &self.target, known) == normal(schema, &self.target, value))
                {
                    values.push(value.clone());
                }
            }
        }
        Ok(values)
    }
}

/// Where a definition has its effect: nowhere, everywhere, or at some entries.
fn reach(view: View<'_>, definition: &Definition) -> Result<DerivedCandidates, StoreError> {
    match view.locate(&definition.superior)? {
        Location::Entry(id) => view.may_be_in_scope(id, DitScope::Subtree, FEW),
        Location::Missing { .. } => Ok(DerivedCandidates::nothing()),
    }
}

/// More entries than these are everything to a derivation.
const FEW: u64 = 4;

/// The normal form of a value.
fn normal(schema: &Schema, attribute: &AttributeDescription, value: &[u8]) -> Vec<u8> {
    let rule = schema
        .attribute_type(attribute.attribute_type)
        .equality
        .expect("a rule");
    let mut normal = Vec::new();
    (rule.normalize_value)(schema, value, &mut normal).expect("a good value");
    normal
}

impl Derive for Definitions {
    fn attributes(&self) -> &[AttributeDescription] {
        &self.attributes
    }

    fn is_off_under_manage_dsa_it(&self) -> bool {
        self.rule.is_off_under_manage_dsa_it
    }

    fn derive(&self, entry: &DerivingEntry<'_>, wanted: &Wanted<'_>, found: &mut Derived) -> Result<(), StoreError> {
        assert!(self.attributes.iter().any(|one| wanted.has(one)), "asked in vain");
        if !wanted.has(&self.target) {
            return Ok(());
        }
        let values = self.values(&entry.record, entry.look.view.schema())?;
        match (values.is_empty(), self.rule.replaces) {
            (true, _) => {}
            (false, true) => found.replace(&self.target, values),
            (false, false) => found.add(&self.target, values),
        }
        Ok(())
    }

    fn holds(
        &self,
        entry: &DerivingEntry<'_>,
        target: &AttributeDescription,
        wanted: &[u8],
        _: Purpose,
    ) -> Result<Option<bool>, StoreError> {
        // Not all values are easy to look up.
        if !self.rule.looks_up || wanted.starts_with(b"g") {
            return Ok(None);
        }
        let schema = entry.look.view.schema();
        let mut all = Vec::new();
        if *target == self.target {
            all = self.values(&entry.record, schema)?;
        }
        if !self.rule.replaces || all.is_empty() {
            all.extend(entry.values(target, Purpose::Match)?);
        }
        Ok(Some(all.iter().any(|value| normal(schema, target, value) == wanted)))
    }

    fn candidates(&self, look: &DerivingLook<'_>, item: &FilterItem<'_>) -> Result<DerivedCandidates, StoreError> {
        if !self.rule.knows_candidates {
            return Ok(DerivedCandidates::Unknown);
        }
        let mut found = DerivedCandidates::nothing();
        for definition in &self.all {
            if item.holds(look.view, &self.target, &definition.values) {
                found = found.or(reach(look.view, definition)?);
            }
        }
        Ok(found)
    }
}
