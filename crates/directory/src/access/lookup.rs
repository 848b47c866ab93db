//! Look-ups of rules in other entries: groups, and the values that sets follow. Access rules do not restrict these
//! look-ups.

use std::rc::Rc;

use ironbark_config::access::NameScope;
use ironbark_model::{
    AttributeDescription, CompiledFilter, Dn, Filter, Schema, Truth,
    budget::cost,
    ldap_url::{LdapUrl, UrlScope},
    schema::ClassNumber,
};
use ironbark_store::{DitScope, EntryId, Location, Record, StoreError, View};

use super::{
    check::{Check, Held},
    entry_seen::EntrySeenByRules,
    target::Source,
    who::{holds_names, normal_values},
};
use crate::{Configuration, backend::tree_attributes::SeenByRules, rules::set::World};

/// Entries that one URL of a set may find.
const MAX_FOUND: usize = 10_000;
/// Steps for looking at an entry.
const CANDIDATE_STEPS: u64 = 10;
/// Steps for finding an entry by its name.
const LINK_STEPS: u64 = 20;
/// Nesting of filters in URLs.
const FILTER_DEPTH: usize = 100;

/// The properties of a subject that other entries define.
pub(crate) struct Lookup<'a> {
    configuration: &'a Configuration,
    /// The subject.
    dn: &'a Dn,
    /// The rules that look up, with the entry that they are applied to. The stored entry may differ, or not exist yet.
    asked_by: Option<&'a Check<'a>>,
}

/// Why a look-up has no answer. A rule that needs one grants nothing then.
enum Unknown {
    /// The storage failed; it has been logged.
    Failed,
    /// There are too many results.
    TooMany,
}

impl From<StoreError> for Unknown {
    fn from(error: StoreError) -> Self {
        tracing::error!(target: "any", "an access rule could not be evaluated: {error}");
        Self::Failed
    }
}

impl<'a> Lookup<'a> {
    /// Looks up stored entries for a subject.
    pub(crate) fn new(configuration: &'a Configuration, dn: &'a Dn) -> Self {
        Self {
            configuration,
            dn,
            asked_by: None,
        }
    }

    /// Gives an entry to `read`: the entry at hand, or a stored one. `None`: there is none, or the storage failed.
    fn with_entry<R>(&self, name: &Dn, read: impl FnOnce(Source<'_>) -> R) -> Option<R> {
        if let Some(check) = self.asked_by.filter(|check| check.dn() == name) {
            return Some(read(check.source));
        }
        let found = with_stored(self.configuration, self.asked_by, name, |view| {
            let Location::Entry(id) = view.locate(name)? else {
                return Ok(None);
            };
            Ok(view.record(id)?.map(|record| read(Source::Record(&record, view))))
        });
        let unknown = |_| {
            if let Some(check) = self.asked_by {
                check.fail();
            }
            None
        };
        found.map_or_else(unknown, Option::flatten)
    }

    /// Whether a group entry of the class names the subject in the attribute.
    pub(crate) fn is_member(&self, class: ClassNumber, attribute: &AttributeDescription, group: &Dn) -> bool {
        let schema = &*self.configuration.schema;
        let is_static = holds_names(schema, attribute);
        let found = self.with_entry(group, |source| {
            let classes = values_of(schema, source, &self.configuration.well_known.object_class);
            let is_of_class = classes.iter().any(|value| {
                let held = schema.find_object_class(value);
                held.is_some_and(|held| schema.is_subclass(held.number, class))
            });
            if !is_of_class {
                return (false, Vec::new());
            }
            if is_static {
                let name = self.dn.normalized();
                let is_named = match source {
                    Source::Record(record, _) => record
                        .values(attribute)
                        .is_some_and(|members| members.holds_normalized(name).unwrap_or_default()),
                    Source::Memory(_) => normalized_values(schema, source, attribute)
                        .iter()
                        .any(|held| held == name),
                };
                return (is_named, Vec::new());
            }
            (false, values_of(schema, source, attribute))
        });
        let Some((is_named, urls)) = found else { return false };
        is_named || urls.iter().any(|url| self.is_found_by(url))
    }

    /// Whether a URL of a dynamic group finds the subject.
    fn is_found_by(&self, url: &[u8]) -> bool {
        let schema = &*self.configuration.schema;
        let Some(url) = local_url(url) else { return false };
        let Ok(base) = Dn::parse(schema, url.dn.as_bytes()) else {
            return false;
        };
        let scope = match url.scope {
            None | Some(UrlScope::Base) => NameScope::Base,
            Some(UrlScope::OneLevel) => NameScope::OneLevel,
            Some(UrlScope::Subtree) => NameScope::Subtree,
            Some(UrlScope::Children) => NameScope::Children,
        };
        if !scope.holds(&base, self.dn) {
            return false;
        }
        let Some(filter) = compiled(schema, url.filter.as_deref()) else {
            return false;
        };
        let is_found = self.with_entry(self.dn, |source| evaluate(self.configuration, &filter, source));
        is_found.unwrap_or_default()
    }
}

impl Check<'_> {
    /// Looks up other entries for the subject.
    pub(super) fn lookup(&self) -> Lookup<'_> {
        Lookup {
            configuration: self.configuration,
            dn: self.subject.dn,
            asked_by: Some(self),
        }
    }

    /// Values of an attribute of the entries that a URL finds, and of the attributes that it names.
    fn values_by_url(&self, url: &[u8], attribute: &AttributeDescription) -> Option<Vec<Vec<u8>>> {
        let schema = &*self.configuration.schema;
        let url = local_url(url)?;
        let base = Dn::parse(schema, url.dn.as_bytes()).ok()?;
        let filter = compiled(schema, url.filter.as_deref())?;
        let scope = match url.scope {
            None | Some(UrlScope::Base) => DitScope::Base,
            Some(UrlScope::OneLevel) => DitScope::OneLevel,
            Some(UrlScope::Subtree) => DitScope::Subtree,
            Some(UrlScope::Children) => DitScope::Children,
        };
        let named = url.attributes.iter();
        let mut attributes: Vec<_> = named
            .filter_map(|name| schema.attribute_description(name.as_bytes()).ok())
            .collect();
        attributes.push(attribute.clone());
        let found = with_stored(self.configuration, Some(self), &base, |view| {
            let Location::Entry(id) = view.locate(&base)? else {
                return Ok(None);
            };
            let view = view.deriving(&self.configuration.tree_attributes);
            found_values(schema, view, id, scope, &filter, &attributes).map(Some)
        });
        let unknown = |_| {
            self.fail();
            None
        };
        found.map_or_else(unknown, Option::flatten)
    }
}

/// Gives `read` the database that holds a name. If it is the database of the rules' transaction, it is read in that
/// transaction, otherwise as of its last commit.
fn with_stored<R>(
    configuration: &Configuration,
    asked_by: Option<&Check<'_>>,
    name: &Dn,
    read: impl FnOnce(View<'_>) -> Result<R, Unknown>,
) -> Result<Option<R>, Unknown> {
    let Some(database) = configuration.context_of(name).and_then(|context| context.database()) else {
        return Ok(None);
    };
    if let Some(view) = asked_by
        .and_then(|check| check.view)
        .filter(|view| view.is_of(database))
    {
        let view = asked_by
            .and_then(Check::budget)
            .map_or(view, |budget| view.under(budget));
        return read(view).map(Some);
    }
    let snapshot = match asked_by.and_then(|check| check.standing) {
        // A decision that is remembered depends on the version that it was made in.
        Some(standing) => standing.consult(database)?,
        None => Rc::new(database.hold()?),
    };
    let view = snapshot.view();
    let view = asked_by
        .and_then(Check::budget)
        .map_or(view, |budget| view.under(budget));
    read(view).map(Some)
}

fn found_values(
    schema: &Schema,
    view: View<'_>,
    base: EntryId,
    scope: DitScope,
    filter: &CompiledFilter,
    attributes: &[AttributeDescription],
) -> Result<Vec<Vec<u8>>, Unknown> {
    let plan = view.plan(base, scope, filter)?;
    let mut candidates = view.candidates(&plan, 0)?;
    let (mut values, mut found) = (Vec::new(), 0);
    while let Some(record) = candidates.next_record()? {
        if !view.spend(CANDIDATE_STEPS) {
            return Err(Unknown::TooMany);
        }
        if !record.is_in_scope(base, scope)? || record.evaluate(filter, &mut Vec::new()) != Truth::True {
            continue;
        }
        found += 1;
        if found > MAX_FOUND {
            return Err(Unknown::TooMany);
        }
        for attribute in attributes {
            values.extend(of_record(schema, &record, view, attribute));
        }
    }
    Ok(values)
}

/// An LDAP URL of this server.
fn local_url(text: &[u8]) -> Option<LdapUrl> {
    let url = LdapUrl::parse(std::str::from_utf8(text).ok()?).ok()?;
    (url.host.is_empty() && url.extensions.is_empty()).then_some(url)
}

fn compiled(schema: &Schema, text: Option<&str>) -> Option<CompiledFilter> {
    let text = text.unwrap_or("(objectClass=*)");
    let filter = Filter::parse(text.as_bytes(), FILTER_DEPTH).ok()?;
    let mut compiled = CompiledFilter::default();
    compiled.compile(schema, &filter);
    Some(compiled)
}

fn evaluate(configuration: &Configuration, filter: &CompiledFilter, source: Source<'_>) -> bool {
    let truth = match source {
        Source::Record(record, _) => {
            let tree = SeenByRules(&configuration.tree_attributes);
            record.deriving(&tree).evaluate(filter, &mut Vec::new())
        }
        Source::Memory(entry) => EntrySeenByRules::new(configuration, filter, entry).evaluate(),
    };
    truth == Truth::True
}

/// Values of exactly this attribute, unchanged.
fn values_of(_: &Schema, source: Source<'_>, attribute: &AttributeDescription) -> Vec<Vec<u8>> {
    match source {
        Source::Record(record, _) => {
            let held = record.values(attribute).and_then(|held| held.to_attribute().ok());
            held.map(|held| held.values).unwrap_or_default()
        }
        Source::Memory(entry) => {
            let held = entry.attributes.iter().find(|held| held.description == *attribute);
            held.map(|held| held.values.clone()).unwrap_or_default()
        }
    }
}

/// The same in their normal forms.
fn normalized_values(schema: &Schema, source: Source<'_>, attribute: &AttributeDescription) -> Vec<Vec<u8>> {
    match source {
        Source::Record(record, view) => of_record(schema, record, view, attribute),
        Source::Memory(entry) => {
            let held = entry.attributes.iter().find(|held| held.description == *attribute);
            held.map(|held| normal_values(schema, &Held::Memory(held)))
                .unwrap_or_default()
        }
    }
}

/// Normal forms of the values of an attribute of a record; its name for `entryDN`.
fn of_record(schema: &Schema, record: &Record<'_>, view: View<'_>, attribute: &AttributeDescription) -> Vec<Vec<u8>> {
    if is_entry_dn(schema, attribute) {
        return view
            .dn(record.id)
            .map(|dn| dn.normalized().to_vec())
            .into_iter()
            .collect();
    }
    let held = record.values(attribute);
    held.map(|held| normal_values(schema, &Held::Stored(&held)))
        .unwrap_or_default()
}

fn is_entry_dn(schema: &Schema, attribute: &AttributeDescription) -> bool {
    schema
        .attribute_type(attribute.attribute_type)
        .name()
        .eq_ignore_ascii_case("entryDN")
}

impl World for Check<'_> {
    fn this(&self) -> Vec<u8> {
        self.dn().normalized().to_vec()
    }

    fn user(&self) -> Option<Vec<u8>> {
        (!self.subject.is_anonymous()).then(|| self.subject.dn.normalized().to_vec())
    }

    fn values(&self, name: &[u8], attribute: &str) -> Option<Vec<Vec<u8>>> {
        let schema = &*self.configuration.schema;
        let attribute = schema.attribute_description(attribute.as_bytes()).ok()?;
        if !self.spend(LINK_STEPS + cost(name.len())) {
            return None;
        }
        if name
            .get(..8)
            .is_some_and(|start| start.eq_ignore_ascii_case(b"ldap:///"))
        {
            return self.values_by_url(name, &attribute);
        }
        let dn = Dn::parse(schema, name).ok()?;
        if is_entry_dn(schema, &attribute) {
            return Some(vec![dn.normalized().to_vec()]);
        }
        self.followed(name, &attribute, || {
            self.lookup()
                .with_entry(&dn, |source| normalized_values(schema, source, &attribute))
        })
    }

    fn ancestor(&self, name: &[u8], levels: usize) -> Vec<u8> {
        let dn = Dn::parse(&self.configuration.schema, name).unwrap_or_default();
        dn.ancestor_forms(dn.depth().saturating_sub(levels)).1.to_vec()
    }

    fn too_big(&self) {
        self.fail();
    }

    fn is_attribute(&self, attribute: &str) -> bool {
        self.configuration
            .schema
            .attribute_description(attribute.as_bytes())
            .is_ok()
    }

    fn spend(&self, steps: u64) -> bool {
        self.budget().is_none_or(|budget| budget.spend(steps))
    }
}
