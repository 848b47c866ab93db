//! The entries of `retcode-item`, as searches find them below their parent.

use std::sync::Arc;

use ironbark_config::Operations;
use ironbark_directory::{Configuration, complete_entries};
use ironbark_model::{Attribute, Dn, Entry};

use super::settings::Item;

/// slapd's names of operations in `errOp`, in its order.
const OPERATIONS: [(Operations, &str); 8] = [
    (Operations::ADD, "add"),
    (Operations::BIND, "bind"),
    (Operations::COMPARE, "compare"),
    (Operations::DELETE, "delete"),
    (Operations::EXTENDED, "extended"),
    (Operations::MODIFY, "modify"),
    (Operations::RENAME, "rename"),
    (Operations::SEARCH, "search"),
];

/// All of them, below `parent`.
pub(super) fn of(items: &[Item], parent: &Dn, configuration: &Configuration) -> Arc<[Entry]> {
    let entries = items.iter().map(|item| entry(item, parent, configuration));
    complete_entries(configuration, entries.collect())
}

fn entry(item: &Item, parent: &Dn, configuration: &Configuration) -> Entry {
    let schema = &configuration.schema;
    let mut entry = Entry::new(parent.child(&item.rdn));
    let mut put = |name: &str, values: Vec<Vec<u8>>| {
        let Ok(description) = schema.attribute_description(name.as_bytes()) else {
            return;
        };
        if !values.is_empty() {
            entry.attributes.push(Attribute { description, values });
        }
    };
    let text = |text: &str| text.as_bytes().to_vec();
    put("objectClass", vec![text("errObject"), text("extensibleObject")]);
    for (description, value) in item.rdn.leaf_assertions(schema) {
        put(&schema.description_text(&description), vec![value]);
    }
    put("errCode", vec![text(&item.code.to_string())]);
    put("ref", item.referrals.iter().map(|url| text(url)).collect());
    put("errText", item.text.iter().map(|words| text(words)).collect());
    put(
        "errMatchedDN",
        item.matched.iter().map(|dn| text(dn.pretty())).collect(),
    );
    if item.sleep_s != 0 {
        put("errSleepTime", vec![text(&item.sleep_s.to_string())]);
    }
    let operations = OPERATIONS
        .iter()
        .filter(|(operation, _)| item.operations.contains(*operation));
    put("errOp", operations.map(|(_, name)| text(name)).collect());
    entry
}
