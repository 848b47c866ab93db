//! Printing rules, as cn=config shows them.

use ironbark_model::{Schema, schema::ClassNumber};

use super::{AccessRule, AttributeTarget, By, Control, What, Who};
use crate::limits::quote_always;

impl AccessRule {
    /// The value of `access`.
    pub(crate) fn text(&self, schema: &Schema) -> String {
        let mut words = vec!["to".to_owned()];
        words.extend(what_words(schema, &self.what));
        for by in &self.by {
            // slapd puts two blanks before it.
            words.push(" by".to_owned());
            words.extend(by_words(schema, by));
        }
        words.join(" ")
    }
}

fn what_words(schema: &Schema, what: &What) -> Vec<String> {
    let mut words = Vec::new();
    if let Some(name) = &what.dn {
        words.push(format!("dn.{}={}", name.scope.word(), quote_always(name.dn.pretty())));
    }
    if let Some(filter) = &what.filter {
        words.push(format!("filter={}", quote_always(filter)));
    }
    if !what.attributes.is_empty() {
        let names: Vec<String> = what
            .attributes
            .iter()
            .map(|attribute| attribute_text(schema, attribute))
            .collect();
        words.push(format!("attrs={}", names.join(",")));
    }
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
    if by.control != Control::Stop {
        words.extend(
            Control::WORDS
                .iter()
                .filter(|(_, control)| *control == by.control)
                .map(|(word, _)| (*word).to_owned()),
        );
    }
    words
}

fn who_text(schema: &Schema, who: &Who) -> String {
    match who {
        Who::Anyone => "*".to_owned(),
        Who::Anonymous => "anonymous".to_owned(),
        Who::Users => "users".to_owned(),
        Who::SelfEntry => "self".to_owned(),
        Who::Dn(name) => format!("dn.{}={}", name.scope.word(), quote_always(name.dn.pretty())),
        Who::DnAttribute(attribute) => format!("dnattr={}", schema.description_text(attribute)),
        Who::Group { class, attribute, dn } => {
            let attribute = schema.description_text(attribute);
            format!(
                "group/{}/{attribute}.exact={}",
                class_name(schema, *class),
                quote_always(dn.pretty())
            )
        }
    }
}
