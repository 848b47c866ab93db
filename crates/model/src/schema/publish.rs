//! The values of the subschema subentry (RFC 4512 §4.2), in slapd's text form, without the elements that slapd hides.

use super::{AttributeType, Schema, print};
use crate::matching::{self, MatchingRule};

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
        matching::all()
            .filter(|rule| rule.extensible && !rule.hidden)
            .filter_map(|rule| {
                let types: Vec<&str> = self
                    .attribute_types
                    .iter()
                    .filter(|found| !found.hidden && rule.is_usable_with(found.syntax))
                    .map(AttributeType::name)
                    .collect();
                if types.is_empty() {
                    return None;
                }
                let mut text = format!("( {} NAME '{}'", rule.oid, rule.name);
                print::oids(&mut text, " APPLIES ", &types);
                text.push_str(" )");
                Some(text)
            })
    }
}
