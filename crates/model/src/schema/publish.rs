//! The values of the subschema subentry (RFC 4512 §4.2), in slapd's text form, without the elements that slapd hides.

use std::collections::BTreeMap;

use super::{AttributeType, Schema, print};
use crate::{
    matching::{self, MatchingRule},
    syntax::Syntax,
};

impl Schema {
    /// `attributeTypes`.
    pub fn attribute_type_definitions(&self) -> impl Iterator<Item = &str> {
        self.attribute_types
            .iter()
            .filter(|found| !found.hidden)
            .map(|found| &*found.definition)
    }

    /// `objectClasses`.
    pub fn object_class_definitions(&self) -> impl Iterator<Item = &str> {
        self.object_classes
            .iter()
            .filter(|found| !found.hidden)
            .map(|found| &*found.definition)
    }

    /// `dITContentRules`.
    pub fn dit_content_rule_definitions(&self) -> impl Iterator<Item = &str> {
        self.content_rules.iter().map(|rule| &*rule.definition)
    }

    /// `ldapSyntaxes`.
    pub fn syntax_definitions(&self) -> impl Iterator<Item = &str> {
        self.syntaxes
            .iter()
            .filter(|row| !row.hidden)
            .map(|row| &*row.definition)
    }

    /// `matchingRules`.
    pub fn matching_rule_definitions(&self) -> impl Iterator<Item = String> {
        matching::all()
            .filter(|rule| !rule.hidden)
            .map(MatchingRule::definition)
    }

    /// `matchingRuleUse`: the rules that extensible match may name, with the attribute types that they apply to. Rules
    /// that apply to no type are left out.
    pub fn matching_rule_use_definitions(&self) -> impl Iterator<Item = String> {
        // Hundreds of types have a few dozen syntaxes.
        let mut of_syntaxes: BTreeMap<&str, (&Syntax, Vec<usize>)> = BTreeMap::new();
        for (number, found) in self.attribute_types.iter().enumerate() {
            if !found.hidden {
                let (_, types) = of_syntaxes
                    .entry(found.syntax.oid)
                    .or_insert((found.syntax, Vec::new()));
                types.push(number);
            }
        }
        matching::all()
            .filter(|rule| rule.extensible && !rule.hidden)
            .filter_map(move |rule| {
                let usable = of_syntaxes.values().filter(|(syntax, _)| rule.is_usable_with(syntax));
                let mut numbers: Vec<usize> = usable.flat_map(|(_, types)| types).copied().collect();
                if numbers.is_empty() {
                    return None;
                }
                numbers.sort_unstable();
                let types = numbers.iter().filter_map(|number| self.attribute_types.get(*number));
                let types: Vec<&str> = types.map(AttributeType::name).collect();
                let mut text = format!("( {} NAME '{}'", rule.oid, rule.name);
                print::oids(&mut text, " APPLIES ", &types);
                text.push_str(" )");
                Some(text)
            })
    }
}
