//! Random rules over random data: each answer of the server must equal the answer of the manual, read literally.

use std::collections::BTreeMap;

use ironbark_client::proto::{ModifyOperation, ResultCode, Scope};
use ironbark_testkit::Flavor;

use super::{
    evaluator::Evaluator,
    model::{Directory, Entry, is_equal, is_within, normal, parent},
    random::{PLAIN, Random, environment},
    site::{CHANGES, COMPARES, DATA, IDENTITIES, SEARCHES, Site},
};

/// Directories, and sets of rules for each.
const DIRECTORIES: u64 = 4;
const SETS: u64 = 12;
const SEED: u64 = 0x5eed_acce_55ed_0002;

/// The expected answers of the server: the lines of [`Site::survey`].
struct Expected<'a> {
    rules: &'a [String],
    directory: &'a mut Directory,
}

impl Expected<'_> {
    fn survey(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        for dn in IDENTITIES {
            let who = dn.get(4..7).unwrap_or("-");
            for (base, scope, filter) in SEARCHES {
                let answer = self.search(dn, base, *scope, filter);
                lines.push(format!("{who} searches {base} {filter}: {answer}"));
            }
            for (entry, attribute, value) in COMPARES {
                let answer = self.compare(dn, entry, attribute, value);
                lines.push(format!("{who} compares {entry} {attribute}={value}: {answer}"));
            }
            for (entry, operation, attribute, values) in CHANGES {
                let code = self.change(dn, entry, *operation, (attribute, values));
                lines.push(format!("{who} changes {entry} {operation:?} {attribute}: {}", code.0));
            }
        }
        lines
    }

    fn asks<'e>(&'e self, who: &'e str, entry: &'e Entry) -> Evaluator<'e> {
        Evaluator {
            rules: self.rules,
            directory: self.directory,
            who,
            entry,
        }
    }

    /// noSuchObject, with the closest superior entry if that may be disclosed.
    fn missing(&self, who: &str, dn: &str) -> String {
        let ancestor = self.directory.ancestor(dn);
        let ancestor = ancestor.filter(|entry| self.asks(who, entry).permits(("entry", None), 'd'));
        shown(ResultCode::NO_SUCH_OBJECT, ancestor.map_or("", |entry| &entry.dn))
    }

    /// "The search operation requires search privileges on the entry pseudo-attribute of the searchBase. Then, for each
    /// entry, it requires search privileges on the attributes that are in the filter. The resulting entries are finally
    /// tested for read privileges on the pseudo-attribute entry and for read access on each value of each attribute
    /// that is requested."
    fn search(&self, who: &str, base: &str, scope: Scope, filter: &str) -> String {
        let Some(object) = self.directory.find(base) else {
            return format!("{} {{}}", self.missing(who, base));
        };
        let asks = self.asks(who, object);
        if !asks.permits(("entry", None), 's') {
            let code = if asks.permits_or_left(("entry", None), 'd') {
                ResultCode::INSUFFICIENT_ACCESS_RIGHTS
            } else {
                ResultCode::NO_SUCH_OBJECT
            };
            return format!("{} {{}}", shown(code, ""));
        }
        let mut entries = BTreeMap::new();
        for entry in &self.directory.0 {
            let is_in_scope = match scope {
                Scope::BaseObject => normal(&entry.dn) == normal(base),
                Scope::SingleLevel => normal(parent(&entry.dn)) == normal(base),
                _ => is_within(&entry.dn, base),
            };
            let asks = self.asks(who, entry);
            let may_search = |attribute: &str, value: Option<&str>| asks.permits((attribute, value), 's');
            if !is_in_scope || entry.matches(filter, &may_search) != Some(true) || !asks.permits(("entry", None), 'r') {
                continue;
            }
            let mut attributes = Vec::new();
            for (name, values) in &entry.attributes {
                let mut seen: Vec<&str> = values.iter().map(String::as_str).collect();
                seen.retain(|value| asks.permits((name, Some(value)), 'r'));
                seen.sort_unstable();
                if !seen.is_empty() {
                    attributes.push(format!("{name}={}", seen.join("+")));
                }
            }
            attributes.sort();
            entries.insert(entry.dn.clone(), attributes.join(" "));
        }
        format!("{} {entries:?}", shown(ResultCode::SUCCESS, ""))
    }

    /// "The compare operation requires compare privileges on the attribute that is being compared." Errors are reported
    /// if the entry may be disclosed. Values that may not be compared count as missing.
    fn compare(&self, who: &str, dn: &str, attribute: &str, value: &str) -> String {
        let Some(entry) = self.directory.find(dn) else {
            return self.missing(who, dn);
        };
        let asks = self.asks(who, entry);
        let values: Vec<_> = entry
            .values(attribute)
            .filter(|(name, held)| asks.permits((name, Some(held)), 'c'))
            .collect();
        let code = if !asks.permits((attribute, Some(value)), 'c') {
            ResultCode::INSUFFICIENT_ACCESS_RIGHTS
        } else if values.is_empty() {
            ResultCode::NO_SUCH_ATTRIBUTE
        } else if values.iter().any(|(_, held)| is_equal(attribute, held, value)) {
            ResultCode::COMPARE_TRUE
        } else {
            ResultCode::COMPARE_FALSE
        };
        let is_answer = [ResultCode::COMPARE_TRUE, ResultCode::COMPARE_FALSE].contains(&code);
        if is_answer || asks.permits(("entry", None), 'd') {
            shown(code, "")
        } else {
            shown(ResultCode::NO_SUCH_OBJECT, "")
        }
    }

    /// "The modify operation requires write privileges on the attributes being modified": `add` for new values,
    /// `delete` for deleted ones, both for a replacement.
    fn change(
        &mut self,
        who: &str,
        dn: &str,
        operation: ModifyOperation,
        (attribute, values): (&str, &[&str]),
    ) -> ResultCode {
        if who.is_empty() {
            return ResultCode::STRONGER_AUTH_REQUIRED;
        }
        let entry = self.directory.find(dn).unwrap();
        let asks = self.asks(who, entry);
        let each = |privilege| {
            values
                .iter()
                .all(|value| asks.permits((attribute, Some(value)), privilege))
        };
        let is_granted = match operation {
            ModifyOperation::Add => each('a'),
            ModifyOperation::Delete => each('z'),
            _ => asks.permits((attribute, None), 'z') && each('a'),
        };
        if !is_granted {
            return ResultCode::INSUFFICIENT_ACCESS_RIGHTS;
        }
        let held = &mut self.directory.find_mut(dn).unwrap().attributes;
        let list = held.entry(attribute.to_owned()).or_default();
        let value = values[0];
        let place = list.iter().position(|held| is_equal(attribute, held, value));
        let code = match (operation, place) {
            (ModifyOperation::Add, Some(_)) => ResultCode::ATTRIBUTE_OR_VALUE_EXISTS,
            (ModifyOperation::Delete, None) => ResultCode::NO_SUCH_ATTRIBUTE,
            (ModifyOperation::Delete, Some(place)) => {
                list.remove(place);
                ResultCode::SUCCESS
            }
            (ModifyOperation::Add, None) => {
                list.push(value.to_owned());
                ResultCode::SUCCESS
            }
            _ => {
                *list = vec![value.to_owned()];
                ResultCode::SUCCESS
            }
        };
        held.retain(|_, values| !values.is_empty());
        code
    }
}

fn shown(code: ResultCode, matched: &str) -> String {
    format!("{} {}", code.0, normal(matched))
}

/// ACCESS_DIRECTORIES and ACCESS_SETS set larger numbers, ACCESS_SEED another seed.
#[tokio::test]
async fn every_answer_is_what_the_manual_says() {
    let mut random = Random::new(environment("ACCESS_SEED").unwrap_or(SEED));
    for _ in 0..environment("ACCESS_DIRECTORIES").unwrap_or(DIRECTORIES) {
        let mut directory = Directory::parse(DATA);
        directory.vary(&mut random);
        let site = Site::with(Flavor::Ironbark, &directory.ldif()).await;
        for _ in 0..environment("ACCESS_SETS").unwrap_or(SETS) {
            let rules = random.rules(&PLAIN);
            let result = site.set_rules(&rules).await;
            assert!(result.is_success(), "{rules:#?}: {result}");
            let before = directory.ldif();
            let mut expected = Expected {
                rules: &rules,
                directory: &mut directory,
            };
            let (expected, found) = (expected.survey(), site.survey().await);
            let different = expected.iter().zip(&found).find(|(expected, found)| expected != found);
            assert_eq!(expected.len(), found.len());
            if let Some((expected, found)) = different {
                panic!("{rules:#?}\n{before}\nmanual: {expected}\nserver: {found}");
            }
        }
    }
}
