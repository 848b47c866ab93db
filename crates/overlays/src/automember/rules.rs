//! The groups of an entry by the rules of a definition.

use ironbark_config::SettingError;
use ironbark_model::{
    AttributeDescription, Budget, CompiledFilter, Dn, Entry, Filter, PosixRegex, Schema, Truth, entry::EntrySource,
    filter::MAX_DEPTH,
};

use super::settings::{AutomemberConfig, RuleSetting};

/// A definition: which entries it is about, and which groups they get.
pub(super) struct Rules {
    pub(super) scope: Dn,
    filter: CompiledFilter,
    default_groups: Vec<Dn>,
    inclusive: Vec<Rule>,
    exclusive: Vec<Rule>,
}

struct Rule {
    group: Dn,
    attribute: AttributeDescription,
    regex: PosixRegex,
}

impl Rules {
    /// # Errors
    /// The schema lacks an attribute.
    pub(super) fn new(settings: &AutomemberConfig, schema: &Schema) -> Result<Self, SettingError> {
        let text = settings.filter.as_deref().unwrap_or("(objectClass=*)");
        let parsed = Filter::parse(text.as_bytes(), MAX_DEPTH).map_err(|_| format!("bad filter \"{text}\""))?;
        let mut filter = CompiledFilter::default();
        filter.compile(schema, &parsed);
        let rules = |settings: &[RuleSetting]| {
            let rules = settings.iter().map(|rule| Rule::new(rule, schema));
            rules.collect::<Result<Vec<_>, SettingError>>()
        };
        Ok(Self {
            scope: settings.scope.clone().unwrap_or_else(Dn::root),
            filter,
            default_groups: settings.default_groups.clone(),
            inclusive: rules(&settings.inclusive)?,
            exclusive: rules(&settings.exclusive)?,
        })
    }

    /// The attributes that decide.
    pub(super) fn attributes(&self) -> Vec<AttributeDescription> {
        let rules = self.inclusive.iter().chain(&self.exclusive);
        let of_rules = rules.map(|rule| rule.attribute.clone());
        self.filter.slots.iter().cloned().chain(of_rules).collect()
    }

    /// Whether an entry in the scope is one that the definition is about. Meaningless if the budget is exhausted.
    pub(super) fn matches(&self, schema: &Schema, entry: &Entry, work: &Budget) -> bool {
        let source = EntrySource::new(schema, &self.filter, entry).within(Some(work));
        self.filter.evaluate(schema, &source, &mut Vec::new()) == Truth::True
    }

    /// The groups of such an entry, without repetition. Meaningless if the budget is exhausted.
    pub(super) fn groups_of(&self, entry: &Entry, work: &Budget) -> Vec<&Dn> {
        let is_excluded = |group: &Dn| {
            let mut rules = self.exclusive.iter();
            rules.any(|rule| rule.group == *group && rule.matches(entry, work))
        };
        let mut groups: Vec<&Dn> = Vec::new();
        for rule in &self.inclusive {
            if !groups.contains(&&rule.group) && rule.matches(entry, work) && !is_excluded(&rule.group) {
                groups.push(&rule.group);
            }
        }
        if groups.is_empty() {
            groups.extend(&self.default_groups);
        }
        groups
    }
}

impl Rule {
    fn new(setting: &RuleSetting, schema: &Schema) -> Result<Self, SettingError> {
        let attribute = schema.attribute_description(setting.attribute.as_bytes());
        Ok(Self {
            group: setting.group.clone(),
            attribute: attribute.map_err(|error| format!("{}: {error}", setting.attribute))?,
            regex: setting.regex.clone(),
        })
    }

    fn matches(&self, entry: &Entry, work: &Budget) -> bool {
        let Some(held) = entry.attribute(&self.attribute) else {
            return false;
        };
        let mut values = held
            .values
            .iter()
            .take_while(|value| work.spend(1 + (value.len() / OCTETS_PER_STEP) as u64));
        values.any(|value| self.regex.is_match(value))
    }
}

/// Octets that an expression is compared with in a step, a microsecond.
const OCTETS_PER_STEP: usize = 16;
