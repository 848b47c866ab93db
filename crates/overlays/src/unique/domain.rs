//! One URI of a domain: its entries and attributes, and the search for an entry that already has a value.

use ironbark_config::SettingError;
use ironbark_directory::{
    OperationError,
    overlay::{Execution, Question, Rights},
};
use ironbark_model::{
    AttributeDescription, Budget, CompiledFilter, Dn, Entry, Filter, ResultCode, Schema, Truth,
    budget::cost_of,
    entry::EntrySource,
    filter::{Assertion, FilterNode, MAX_DEPTH},
    ldap_url::UrlScope,
};
use ironbark_store::{DitScope, EntryId};

use super::settings::{UniqueDomain, UniqueUri};

/// Values that one search looks for.
pub(super) const CLAIMS_AT_ONCE: usize = 512;
/// Names of attributes that are compared in about one step.
const NAMES_PER_STEP: usize = 8;

/// See the module.
pub(super) struct Domain {
    base: Option<Dn>,
    scope: DitScope,
    attributes: Vec<AttributeDescription>,
    ignore: bool,
    pub(super) strict: bool,
    /// Text and compiled form.
    filter: Option<(String, CompiledFilter)>,
}

/// What an entry claims for itself: a value, or (without one) an attribute.
pub(super) struct Claim {
    name: String,
    value: Option<Vec<u8>>,
}

impl Claim {
    pub(super) fn value(schema: &Schema, name: &AttributeDescription, value: &[u8]) -> Self {
        Self {
            name: schema.description_text(name),
            value: Some(value.to_vec()),
        }
    }

    pub(super) fn presence(schema: &Schema, name: &AttributeDescription) -> Self {
        Self {
            name: schema.description_text(name),
            value: None,
        }
    }

    /// The refusal of a value that another entry of the same request has.
    pub(super) fn refusal(&self) -> OperationError {
        not_unique(&Filter::Or(vec![self.filter()]))
    }

    fn filter(&self) -> Filter<'_> {
        let name = self.name.as_bytes();
        match &self.value {
            None => Filter::Present(name.into()),
            Some(value) => Filter::Equality(Assertion {
                attribute: name.into(),
                value: value.into(),
            }),
        }
    }
}

impl Domain {
    pub(super) fn new(domain: &UniqueDomain, uri: &UniqueUri, schema: &Schema) -> Result<Self, SettingError> {
        let attribute = |name: &String| {
            schema
                .attribute_description(name.as_bytes())
                .map_err(|error| format!("unique: attribute: {name}: {error}"))
        };
        let filter = match &uri.filter {
            None => None,
            Some(text) => {
                let filter = parse(text)?;
                let mut compiled = CompiledFilter::default();
                compiled.compile(schema, &filter);
                Some((text.clone(), compiled))
            }
        };
        Ok(Self {
            base: uri.base.clone(),
            scope: match uri.scope {
                UrlScope::Base => DitScope::Base,
                UrlScope::OneLevel => DitScope::OneLevel,
                UrlScope::Subtree => DitScope::Subtree,
                UrlScope::Children => DitScope::Children,
            },
            attributes: uri.attributes.iter().map(attribute).collect::<Result<_, _>>()?,
            ignore: domain.ignore,
            strict: domain.strict,
            filter,
        })
    }

    /// Whether the domain covers entries of this name. As in slapd, the scope does not count here; it counts only in
    /// the search for values.
    pub(super) fn is_below_base(&self, dn: &Dn) -> bool {
        self.base.as_ref().is_none_or(|base| dn.is_within(base))
    }

    /// Whether values of an attribute must be unique.
    pub(super) fn covers(&self, schema: &Schema, name: &AttributeDescription) -> bool {
        !schema.attribute_type(name.attribute_type).is_operational()
            && (self.attributes.is_empty() || self.attributes.contains(name) != self.ignore)
    }

    /// Whether an attribute affects which entries belong to the domain.
    pub(super) fn filter_names(&self, schema: &Schema, name: &AttributeDescription) -> bool {
        let Some((_, filter)) = &self.filter else {
            return false;
        };
        filter
            .slots
            .iter()
            .any(|slot| schema.is_description_subtype(name, slot))
            || filter
                .nodes
                .iter()
                .any(|node| matches!(node, FilterNode::AnyAttribute { .. }))
    }

    /// Whether an attribute is covered, or named by the filter.
    pub(super) fn wants(&self, schema: &Schema, name: &AttributeDescription) -> bool {
        self.covers(schema, name) || self.filter_names(schema, name)
    }

    pub(super) fn has_filter(&self) -> bool {
        self.filter.is_some()
    }

    /// Steps for checking whether so many attributes are covered, and what the filter names.
    pub(super) fn cost_of_names(&self, count: usize) -> u64 {
        let slots = self.filter.as_ref().map_or(0, |(_, filter)| filter.slots.len());
        let names = 1 + (self.attributes.len() + slots) / NAMES_PER_STEP;
        (count as u64).saturating_mul(names as u64)
    }

    /// Whether an entry may match the filter.
    pub(super) fn may_have(&self, schema: &Schema, entry: &Entry, work: &Budget) -> bool {
        let Some((_, filter)) = &self.filter else {
            return true;
        };
        let source = EntrySource::new(schema, filter, entry).within(Some(work));
        filter.evaluate(schema, &source, &mut Vec::new()) != Truth::False
    }

    /// Whether a stored entry may match the filter.
    pub(super) fn has(
        &self,
        execution: &Execution<'_, '_>,
        id: EntryId,
        work: &Budget,
    ) -> Result<bool, OperationError> {
        let Some((_, filter)) = &self.filter else {
            return Ok(true);
        };
        let record = execution.view().under(work).record(id)?;
        Ok(record.is_some_and(|record| record.evaluate(filter, &mut Vec::new()) != Truth::False))
    }

    /// All values of an entry that must be unique.
    pub(super) fn claims_of(&self, schema: &Schema, entry: &Entry, work: &Budget) -> Vec<Claim> {
        let covered = entry
            .attributes
            .iter()
            .filter(|attribute| self.covers(schema, &attribute.description));
        covered
            .flat_map(|attribute| {
                let values = attribute.values.iter().take_while(|value| work.spend(cost_of(value)));
                values.map(|value| Claim::value(schema, &attribute.description, value))
            })
            .collect()
    }

    /// Refuses claims that another entry of the domain than `own` already has.
    ///
    /// # Errors
    /// `constraintViolation`; `adminLimitExceeded` if this work, together with earlier work, is too much.
    pub(super) fn check(
        &self,
        execution: &Execution<'_, '_>,
        own: Option<EntryId>,
        claims: &[Claim],
        work: &Budget,
    ) -> Result<(), OperationError> {
        affordable(work)?;
        for claims in claims.chunks(CLAIMS_AT_ONCE) {
            let wanted = Filter::Or(claims.iter().map(Claim::filter).collect());
            let filter = match &self.filter {
                None => wanted,
                Some((text, _)) => {
                    let own_filter =
                        parse(text).map_err(|error| OperationError::new(error.result_code(), error.to_string()))?;
                    Filter::And(vec![own_filter, wanted])
                }
            };
            let question = Question {
                base: self.base.as_ref(),
                scope: self.scope,
                filter: &filter,
                except: own,
                rights: Rights::Server,
            };
            let is_found = execution.finds(&question, work)?;
            affordable(work)?;
            if is_found {
                return Err(not_unique(&filter));
            }
        }
        Ok(())
    }
}

fn not_unique(filter: &Filter<'_>) -> OperationError {
    let text = format!("non-unique attributes found with {filter}");
    OperationError::new(ResultCode::CONSTRAINT_VIOLATION, text)
}

/// Whether results found within the budget can be trusted.
///
/// # Errors
/// `adminLimitExceeded`: the budget is exhausted.
fn affordable(work: &Budget) -> Result<(), OperationError> {
    if !work.is_exhausted() {
        return Ok(());
    }
    let text = "unique: looking for the values takes too much work: index the attributes that are to be unique";
    Err(OperationError::new(ResultCode::ADMIN_LIMIT_EXCEEDED, text))
}

fn parse(text: &str) -> Result<Filter<'_>, SettingError> {
    Filter::parse(text.as_bytes(), MAX_DEPTH).map_err(|_| "unique: bad filter".into())
}
