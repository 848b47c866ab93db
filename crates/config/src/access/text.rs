//! Printing rules, as cn=config shows them.

use ironbark_model::{Schema, schema::ClassNumber};

use super::{
    AccessRule, AttributeTarget, By, DnPattern, GroupName, NameCondition, StrengthFactor, TextPattern, ValuePattern,
    What, Who,
};
use crate::reader::{quote_value, quoted_after};

impl AccessRule {
    /// The value of `access`.
    pub(crate) fn text(&self, schema: &Schema) -> String {
        // slapd puts two blanks between them.
        let mut words = vec!["to".to_owned(), what_words(schema, &self.what).join("  ")];
        for by in &self.by {
            // And before the first.
            words.push(" by".to_owned());
            words.extend(by_words(schema, by));
        }
        words.join(" ")
    }
}

fn what_words(schema: &Schema, what: &What) -> Vec<String> {
    let mut words = Vec::new();
    match &what.dn {
        None => {}
        Some(DnPattern::Name(name)) => {
            words.push(quoted_after(&format!("dn.{}=", name.scope.word()), name.dn.pretty()));
        }
        Some(DnPattern::Regex(regex)) => words.push(quoted_after("dn.regex=", regex.as_str())),
    }
    if let Some(filter) = &what.filter {
        words.push(quoted_after("filter=", filter));
    }
    if !what.attributes.is_empty() {
        let names: Vec<String> = what
            .attributes
            .iter()
            .map(|attribute| attribute_text(schema, attribute))
            .collect();
        words.push(format!("attrs={}", names.join(",")));
    }
    match &what.value {
        None => {}
        Some(ValuePattern::Exact { rule: None, value }) => words.push(quoted_after("val.exact=", value)),
        Some(ValuePattern::Exact {
            rule: Some(rule),
            value,
        }) => words.push(quoted_after(&format!("val/{rule}.exact="), value)),
        Some(ValuePattern::Regex(regex)) => words.push(quoted_after("val.regex=", regex.as_str())),
        Some(ValuePattern::Name(name)) => {
            words.push(quoted_after(&format!("val.{}=", name.scope.word()), name.dn.pretty()));
        }
    }
    words.extend(what.operation.iter().map(|operation| format!("op={}", operation.text)));
    words.extend(what.control.iter().map(|(text, _)| format!("control={text}")));
    if words.is_empty() {
        words.push("*".to_owned());
    }
    words
}

fn attribute_text(schema: &Schema, attribute: &AttributeTarget) -> String {
    match attribute {
        AttributeTarget::Entry => "entry".to_owned(),
        AttributeTarget::Children => "children".to_owned(),
        AttributeTarget::Attribute(description) => schema.description_text(description),
        AttributeTarget::Class(class) => format!("@{}", class_name(schema, *class)),
        AttributeTarget::NotClass(class) => format!("!{}", class_name(schema, *class)),
    }
}

fn class_name(schema: &Schema, number: ClassNumber) -> &str {
    let class = schema.object_classes().iter().find(|class| class.number == number);
    class.map_or("", |class| {
        class.names.first().map_or(class.oid.as_ref(), AsRef::as_ref)
    })
}

fn by_words(schema: &Schema, by: &By) -> Vec<String> {
    let mut words: Vec<String> = by.who.iter().map(|who| who_text(schema, who)).collect();
    words.push(by.grant.text());
    words.extend(by.control.words());
    words
}

pub(super) fn who_text(schema: &Schema, who: &Who) -> String {
    let real = |is_real: &bool| if *is_real { "real" } else { "" };
    let styled = |name: &str, (style, text): (&str, &str)| quoted_after(&format!("{name}.{style}="), text);
    match who {
        Who::Name { is_real, is } => format!("{}{}", real(is_real), name_text(is)),
        Who::DnAttribute { is_real, attribute } => {
            format!("{}dnattr={}", real(is_real), schema.description_text(attribute))
        }
        Who::Group {
            class,
            attribute,
            group,
        } => {
            let attribute = schema.description_text(attribute);
            let words = match group {
                GroupName::Exact(dn) => ("exact", dn.pretty()),
                GroupName::Expanded(template) => ("expand", template.as_str()),
            };
            styled(&format!("group/{}/{attribute}", class_name(schema, *class)), words)
        }
        Who::Peer(pattern) => styled("peername", pattern.words()),
        Who::SocketName(pattern) => styled("sockname", pattern.words()),
        Who::Domain { pattern, is_subtree } => {
            let (_, text) = pattern.words();
            let style = match pattern {
                _ if *is_subtree => "subtree",
                TextPattern::Regex(_) => "regex",
                _ => "exact",
            };
            let expand = if matches!(pattern, TextPattern::Expanded(_)) {
                ",expand"
            } else {
                ""
            };
            quote_value(&format!("domain.{style}{expand}={text}"))
        }
        Who::SocketUrl(pattern) => styled("sockurl", pattern.words()),
        Who::Set { template, is_expanded } => styled(
            "set",
            (if *is_expanded { "expand" } else { "exact" }, template.as_str()),
        ),
        Who::Strength { factor, least } => {
            let word = StrengthFactor::WORDS.iter().find(|(_, known)| known == factor);
            format!("{}={least}", word.map_or("", |(word, _)| *word))
        }
    }
}

fn name_text(is: &NameCondition) -> String {
    match is {
        NameCondition::Anyone => "*".to_owned(),
        NameCondition::Anonymous => "anonymous".to_owned(),
        NameCondition::Users => "users".to_owned(),
        NameCondition::SelfEntry(0) => "self".to_owned(),
        NameCondition::SelfEntry(level) => format!("self.level{{{level}}}"),
        NameCondition::Dn(name) => quoted_after(&format!("dn.{}=", name.scope.word()), name.dn.pretty()),
        NameCondition::Expanded(scope, template) => {
            quoted_after(&format!("dn.{},expand=", scope.word()), template.as_str())
        }
        NameCondition::Regex(regex) => quoted_after("dn.regex=", regex.as_str()),
    }
}
