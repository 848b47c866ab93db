//! Which attributes of the provider are taken. A log has operational attributes that a search does not return, so the
//! provider's schema says which ones these are.

use std::collections::HashSet;

/// The operational attributes that are taken.
pub(crate) const STAMPS: [&str; 4] = ["creatorsName", "createTimestamp", "modifiersName", "modifyTimestamp"];
/// The attribute that identifies an entry at the provider.
pub(crate) const UNIQUE_ID: &str = "nsUniqueId";
/// These are this server's.
const OWN: [&str; 4] = ["nsuniqueid", "entryuuid", "entrycsn", "structuralobjectclass"];
/// 389 Directory Server can be told to log passwords in clear, under names that begin so.
const CLEAR: &str = "unhashed#";

/// Decides which attributes are taken. Names are in lower case.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    operational: HashSet<String>,
    chosen: HashSet<String>,
    /// Whether only the chosen ones are taken.
    only_chosen: bool,
}

impl Kept {
    /// `definitions`: values of `attributeTypes` of the provider; `chosen`: `attrs` of the line.
    pub(crate) fn of<'d>(definitions: impl IntoIterator<Item = &'d str>, chosen: &[String]) -> Self {
        let only_chosen = !chosen.is_empty() && !chosen.iter().any(|name| name == "*" || name.starts_with(['@', '!']));
        let by_name = chosen.iter().map(String::as_str);
        Self {
            operational: definitions.into_iter().flat_map(operational_names).collect(),
            chosen: by_name
                .chain(STAMPS)
                .chain(["objectClass"])
                .map(str::to_ascii_lowercase)
                .collect(),
            only_chosen,
        }
    }

    /// Whether an attribute with this description is taken.
    pub(crate) fn takes(&self, description: &str) -> bool {
        let name = description.split(';').next().unwrap_or_default().to_ascii_lowercase();
        if OWN.contains(&name.as_str()) || name.starts_with(CLEAR) {
            return false;
        }
        self.chosen.contains(&name) || !self.only_chosen && !self.operational.contains(&name)
    }
}

/// The names of an attribute type, if it is an operational one.
fn operational_names(definition: &str) -> Vec<String> {
    let (mut names, mut usage, mut in_names) = (Vec::new(), "", false);
    // Every second part is in quotes.
    for (number, part) in definition.split('\'').enumerate() {
        if number % 2 == 1 {
            if in_names {
                names.push(part.to_ascii_lowercase());
            }
            continue;
        }
        let mut words = part.split_ascii_whitespace();
        in_names = match words.clone().last() {
            Some("NAME") => true,
            Some("(") => words.clone().any(|word| word == "NAME"),
            Some(_) => false,
            None => in_names,
        };
        if words.any(|word| word == "USAGE") {
            usage = words.next().unwrap_or_default();
        }
    }
    match usage {
        "" | "userApplications" => Vec::new(),
        _ => names,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_says_which_attributes_are_operational() {
        for (definition, expected) in [
            (
                "( 1.2 NAME 'aci' DESC 'USAGE of' USAGE directoryOperation X-ORIGIN 'a' )",
                &["aci"][..],
            ),
            (
                "( 1.2 NAME ( 'nsRole' 'b' ) SYNTAX 1.3 USAGE dSAOperation )",
                &["nsrole", "b"],
            ),
            ("( 1.2 NAME 'cn' DESC 'the NAME ' SYNTAX 1.3 )", &[]),
            ("( 1.2 NAME 'cn' USAGE userApplications )", &[]),
            ("( 1.2 NAME 'cn' DESC 'a USAGE directoryOperation' )", &[]),
        ] {
            assert_eq!(operational_names(definition), expected, "{definition}");
        }
    }

    #[test]
    fn what_a_search_returns_is_taken() {
        let schema = [
            "( 1 NAME 'aci' USAGE directoryOperation )",
            "( 2 NAME 'creatorsName' USAGE directoryOperation )",
        ];
        let all = Kept::of(schema, &[]);
        let some = Kept::of(schema, &["sn".to_owned()]);
        let named = Kept::of(schema, &["*".to_owned(), "ACI".to_owned()]);
        for (name, expected) in [
            ("cn;lang-de", [true, false, true]),
            ("SN", [true, true, true]),
            ("aci", [false, false, true]),
            ("CreatorsName", [true, true, true]),
            ("objectClass", [true, true, true]),
            ("entryUUID", [false; 3]),
            ("nsUniqueId", [false; 3]),
            ("unhashed#user#password", [false; 3]),
        ] {
            assert_eq!([&all, &some, &named].map(|kept| kept.takes(name)), expected, "{name}");
        }
    }
}
