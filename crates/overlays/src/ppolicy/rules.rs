//! Which policy applies to an entry that names none: `ppolicy_rules`, then `ppolicy_default`.

use ironbark_config::{
    SettingError,
    access::{DnPattern, Submatches, Template},
};
use ironbark_directory::overlay::Entries;
use ironbark_model::{
    AttributeDescription, CompiledFilter, Dn, Entry, Filter, Schema, Truth, entry::EntrySource, schema::ClassNumber,
};
use ironbark_store::StoreError;

use super::{
    settings::{PolicyRule, PpolicyConfig},
    state::Ppolicy,
};

/// The rules, compiled.
pub(super) struct Rules {
    rules: Vec<Rule>,
}

struct Rule {
    settings: PolicyRule,
    filter: Option<CompiledFilter>,
    group: Option<(ClassNumber, AttributeDescription)>,
}

/// Nesting of filters.
const FILTER_DEPTH: usize = 100;

impl Rules {
    /// # Errors
    /// The schema lacks something that a rule names.
    pub(super) fn new(settings: &PpolicyConfig, schema: &Schema) -> Result<Self, SettingError> {
        let rules = settings.rules.iter().map(|rule| Rule::new(rule, schema));
        Ok(Self {
            rules: rules.collect::<Result<_, _>>()?,
        })
    }

    /// The policies that rules may choose; `None`: the name depends on that of the entry.
    pub(super) fn policies(&self) -> impl Iterator<Item = Option<Vec<u8>>> {
        let templates = self.rules.iter().filter_map(|rule| rule.settings.policy.as_ref());
        templates.map(|template| template.expand(Submatches::default(), Submatches::default()))
    }

    /// The name of the policy.
    pub(super) fn choose(
        &self,
        overlay: &Ppolicy,
        entries: Entries<'_>,
        entry: &Entry,
    ) -> Result<Option<Dn>, StoreError> {
        let has_password = entry.attribute(&overlay.names.password).is_some();
        let mut chosen = has_password.then(|| overlay.settings.default.clone()).flatten();
        for rule in &self.rules {
            if rule.settings.require_password && !has_password {
                continue;
            }
            let Some(decision) = rule.decide(overlay, entries, entry)? else {
                continue;
            };
            chosen = decision;
            if rule.settings.stop {
                break;
            }
        }
        Ok(chosen)
    }
}

impl Rule {
    fn new(rule: &PolicyRule, schema: &Schema) -> Result<Self, SettingError> {
        let filter = match &rule.filter {
            Some(text) => {
                let parsed = Filter::parse(text.as_bytes(), FILTER_DEPTH).map_err(|_| format!("bad filter: {text}"))?;
                let mut compiled = CompiledFilter::default();
                compiled.compile(schema, &parsed);
                Some(compiled)
            }
            None => None,
        };
        let group = match &rule.group {
            Some(group) => {
                let class = schema.find_object_class(group.class.as_bytes());
                let class = class.ok_or_else(|| format!("group objectclass \"{}\" unknown", group.class))?;
                let attribute = schema.attribute_description(group.attribute.as_bytes());
                let attribute =
                    attribute.map_err(|error| format!("group attribute \"{}\": {error}", group.attribute))?;
                Some((class.number, attribute))
            }
            None => None,
        };
        Ok(Self {
            settings: rule.clone(),
            filter,
            group,
        })
    }

    #[expect(clippy::option_option, reason = "no decision, no policy, or one")]
    /// `None`: the rule does not apply, or its policy does not exist; `Some(None)`: no policy.
    fn decide(&self, overlay: &Ppolicy, entries: Entries<'_>, entry: &Entry) -> Result<Option<Option<Dn>>, StoreError> {
        let schema = &*overlay.schema;
        let mut spans = Vec::new();
        match &self.settings.object {
            Some(DnPattern::Name(name)) if !name.scope.holds(&name.dn, &entry.dn) => return Ok(None),
            Some(DnPattern::Regex(regex)) => match regex.find(entry.dn.normalized()) {
                Some(found) => spans = found,
                None => return Ok(None),
            },
            Some(DnPattern::Name(_)) | None => {}
        }
        let matched = Submatches {
            text: Some(entry.dn.normalized()),
            spans: &spans,
            limit: spans.len().max(1),
        };
        let named = |template: &Template| {
            let text = template.expand(matched, Submatches::default())?;
            Dn::parse(schema, &text).ok()
        };
        if let (Some(group), Some((class, attribute))) = (&self.settings.group, &self.group) {
            let Some(name) = named(&group.name) else {
                return Ok(None);
            };
            let found = entries.find(&name)?;
            let found = found.filter(|found| found.is_of_class(schema, *class));
            let is_member = found.is_some_and(|found| found.has_value(schema, attribute, entry.dn.normalized()));
            if !is_member {
                return Ok(None);
            }
        }
        if let Some(filter) = &self.filter {
            let source = EntrySource::new(schema, filter, entry);
            if filter.evaluate(schema, &source, &mut Vec::new()) != Truth::True {
                return Ok(None);
            }
        }
        let Some(policy) = &self.settings.policy else {
            return Ok(Some(None));
        };
        let Some(name) = named(policy) else { return Ok(None) };
        let found = entries.find(&name)?;
        let found = found.filter(|found| overlay.names.is_policy(schema, found));
        Ok(found.map(|found| Some(found.dn)))
    }
}
