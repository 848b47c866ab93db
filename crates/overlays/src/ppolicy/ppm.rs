//! The rules of LTB's password module ppm, as pwdCheckModuleArg of a policy or a file has them.
//!
//! A line is `<parameter> <value> [<least> [<for a point> [<most>]]]`. Characters are those of Unicode; ppm counts
//! octets.

use std::{borrow::Cow, collections::HashMap};

use ironbark_model::{Entry, Schema};

/// Rules for new passwords.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Ppm {
    /// Points that a password needs: one for each class of which it has enough.
    least_points: usize,
    checks_rdn: bool,
    attributes: Vec<String>,
    forbidden: Vec<char>,
    /// Characters of one class that may follow each other; 0: any number.
    most_in_sequence: usize,
    /// Whether a dictionary is asked.
    pub(super) asks_dictionary: bool,
    classes: Vec<Class>,
}

/// A set of characters.
#[derive(Clone, PartialEq, Debug)]
struct Class {
    /// With the prefix `class-`.
    name: String,
    characters: Vec<char>,
    least: usize,
    /// How many give a point.
    for_point: usize,
    /// 0: any number.
    most: usize,
}

/// Octets of rules.
pub(super) const MOST_OCTETS: usize = 64 << 10;
const MOST_CLASSES: usize = 50;
/// Octets of a password that is checked.
const MOST_PASSWORD_OCTETS: usize = 10_000;
/// Words of an entry that are looked for in a password.
const MOST_WORDS: usize = 10_000;
const RDN_DELIMITERS: &[char] = &[' ', ',', ';', '-', '_', '£', '\t'];
const VALUE_DELIMITERS: &[char] = &[' ', ',', ';', '-', '_', '@', '\t'];

impl Default for Ppm {
    fn default() -> Self {
        let class = |name: &str, characters: &str| Class {
            name: format!("class-{name}"),
            characters: characters.chars().collect(),
            least: 0,
            for_point: 1,
            most: 0,
        };
        Self {
            least_points: 3,
            checks_rdn: false,
            attributes: Vec::new(),
            forbidden: Vec::new(),
            most_in_sequence: 0,
            asks_dictionary: false,
            classes: vec![
                class("upperCase", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
                class("lowerCase", "abcdefghijklmnopqrstuvwxyz"),
                class("digit", "0123456789"),
                class("special", "<>,?;.:/!§ù%*µ^¨$£²&é~\"#'{([-|è`_\\ç^à@)]°=}+"),
            ],
        }
    }
}

/// Why rules are refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(super) enum PpmError {
    #[error("the rules are longer than 64 KiB")]
    TooLong,
    #[error("the rules are not UTF-8")]
    NotUtf8,
    #[error("\"{text}\" of {name} is no number")]
    NoNumber { text: String, name: String },
    #[error("there are more than {MOST_CLASSES} classes")]
    TooManyClasses,
    #[error("the parameter \"{0}\" is unknown")]
    Unknown(String),
}

impl Ppm {
    /// Reads rules. What they leave out is as in ppm.
    ///
    /// # Errors
    /// [`PpmError`].
    pub(super) fn parse(text: &[u8]) -> Result<Self, PpmError> {
        if text.len() > MOST_OCTETS {
            return Err(PpmError::TooLong);
        }
        let text = std::str::from_utf8(text).map_err(|_| PpmError::NotUtf8)?;
        let mut rules = Self::default();
        for line in text.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
            let mut words = line.split_ascii_whitespace();
            if let (Some(name), Some(value)) = (words.next(), words.next()) {
                rules.set(name, value, words)?;
            }
        }
        Ok(rules)
    }

    fn set<'t>(&mut self, name: &str, value: &str, mut rest: impl Iterator<Item = &'t str>) -> Result<(), PpmError> {
        let number = |text: &str| -> Result<usize, PpmError> {
            let parsed = text.parse::<u32>().ok().and_then(|number| usize::try_from(number).ok());
            parsed.ok_or_else(|| PpmError::NoNumber {
                text: text.to_owned(),
                name: name.to_owned(),
            })
        };
        match name {
            "minQuality" => self.least_points = number(value)?,
            "checkRDN" => self.checks_rdn = number(value)? == 1,
            "checkAttributes" => self.attributes = value.split(',').map(str::to_owned).collect(),
            "forbiddenChars" => self.forbidden = value.chars().collect(),
            "maxConsecutivePerClass" => self.most_in_sequence = number(value)?,
            "useCracklib" => self.asks_dictionary = number(value)? > 0,
            // The dictionary is that of the overlay.
            "cracklibDict" => {}
            _ if name.starts_with("class-") => {
                let mut next = || rest.next().map_or(Ok(0), number);
                let class = Class {
                    name: name.to_owned(),
                    characters: value.chars().collect(),
                    least: next()?,
                    for_point: next()?,
                    most: next()?,
                };
                if let Some(known) = self.classes.iter_mut().find(|known| known.name == name) {
                    *known = class;
                } else if self.classes.len() < MOST_CLASSES {
                    self.classes.push(class);
                } else {
                    return Err(PpmError::TooManyClasses);
                }
            }
            _ => return Err(PpmError::Unknown(name.to_owned())),
        }
        Ok(())
    }

    /// Checks a password in the clear.
    ///
    /// # Errors
    /// It breaks a rule: the text for the client, as ppm has it.
    pub(super) fn check(&self, schema: &Schema, clear: &str, entry: &Entry) -> Result<(), Cow<'static, str>> {
        let name = String::from_utf8_lossy(entry.dn.normalized()).into_owned();
        let refuse = |reason: &str| Err(format!("Password for dn=\"{name}\" {reason}").into());
        if clear.len() > MOST_PASSWORD_OCTETS {
            return refuse("is too long to be checked");
        }
        let counted = self.count(clear);
        let of_classes = || self.classes.iter().zip(&counted);
        let points = of_classes()
            .filter(|(class, counted)| counted.number >= class.for_point)
            .count();
        if points < self.least_points {
            let needed = self.least_points;
            return refuse(&format!(
                "does not pass required number of strength checks ({points} of {needed})"
            ));
        }
        if let Some((class, _)) = of_classes().find(|(class, counted)| counted.number < class.least) {
            let (least, name) = (class.least, &class.name);
            return refuse(&format!(
                "has not reached the minimum number of characters ({least}) for class {name}"
            ));
        }
        let too_many = |limit: usize, class: &Class| {
            let name = &class.name;
            refuse(&format!(
                "has reached the maximum number of characters ({limit}) for class {name}"
            ))
        };
        if let Some((class, _)) = of_classes().find(|(class, counted)| class.most > 0 && counted.number > class.most) {
            return too_many(class.most, class);
        }
        let forbidden = clear
            .chars()
            .filter(|character| self.forbidden.contains(character))
            .count();
        if forbidden > 0 {
            let all: String = self.forbidden.iter().collect();
            return refuse(&format!("contains {forbidden} forbidden characters in {all}"));
        }
        let most = self.most_in_sequence;
        if let Some((class, _)) = of_classes().find(|(_, counted)| most > 0 && counted.in_sequence > most) {
            return too_many(most, class);
        }
        self.check_words(schema, &clear.to_lowercase(), entry).or_else(refuse)
    }

    /// The characters of each class in a password.
    fn count(&self, clear: &str) -> Vec<Counted> {
        // The classes of a character, as bits: there are no more than 64.
        let mut bits: HashMap<char, u64> = HashMap::new();
        for (place, class) in self.classes.iter().enumerate() {
            for character in &class.characters {
                *bits.entry(*character).or_default() |= 1 << place;
            }
        }
        let mut counted: Vec<_> = self.classes.iter().map(|_| Counted::default()).collect();
        for character in clear.chars() {
            let classes = bits.get(&character).copied().unwrap_or_default();
            for (place, counted) in counted.iter_mut().enumerate() {
                counted.take(classes >> place & 1 == 1);
            }
        }
        counted
    }

    /// `lower` is the password in small letters.
    fn check_words(&self, schema: &Schema, lower: &str, entry: &Entry) -> Result<(), &'static str> {
        let has_word_of = |values: &[Vec<u8>], delimiters: &[char]| {
            let values = values.iter().map(|value| String::from_utf8_lossy(value).to_lowercase());
            let words = values.flat_map(|value| value.split(delimiters).map(str::to_owned).collect::<Vec<_>>());
            let mut words = words
                .filter(|word| word.len() > 2 && word.len() <= lower.len())
                .take(MOST_WORDS);
            words.any(|word| lower.contains(&word))
        };
        if self.checks_rdn {
            let named: Vec<_> = entry
                .dn
                .leaf_assertions(schema)
                .into_iter()
                .take(1)
                .map(|(_, value)| value)
                .collect();
            if has_word_of(&named, RDN_DELIMITERS) {
                return Err("contains tokens from the RDN");
            }
        }
        for name in &self.attributes {
            let description = schema.attribute_description(name.as_bytes()).ok();
            let held = description.and_then(|description| entry.attribute(&description));
            if held.is_some_and(|held| has_word_of(&held.values, VALUE_DELIMITERS)) {
                return Err("is too simple: it contains part of an attribute");
            }
        }
        Ok(())
    }
}

/// The characters of one class in a password.
#[derive(Default)]
struct Counted {
    number: usize,
    /// The most that follow each other.
    in_sequence: usize,
    run: usize,
}

impl Counted {
    fn take(&mut self, is_in_class: bool) {
        if !is_in_class {
            self.run = 0;
            return;
        }
        self.number += 1;
        self.run += 1;
        self.in_sequence = self.in_sequence.max(self.run);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read_as_ppm_reads_them() {
        assert_eq!(Ppm::parse(b""), Ok(Ppm::default()));
        let rules = Ppm::parse(
            b"# comment\n  minQuality 4\r\nforbiddenChars .?,\ncheckRDN 1\ncheckAttributes mail,uid\nforbiddenChars\n\
              class-upperCase ABC 0 5 0\nclass-myClass :) 1 1\nuseCracklib 0\ncracklibDict /var/x\n\n",
        );
        let rules = rules.expect("right");
        assert_eq!(
            (rules.least_points, rules.checks_rdn, rules.asks_dictionary),
            (4, true, false)
        );
        assert_eq!(rules.forbidden, ['.', '?', ',']);
        assert_eq!(rules.attributes, ["mail", "uid"]);
        assert_eq!(rules.classes.len(), 5);
        let class = rules.classes.last().expect("one");
        assert_eq!((class.least, class.for_point, class.most), (1, 1, 0));
        for wrong in [
            "minQuality x",
            "minQuality -1",
            "minquality 3",
            "class-a abc 1 x",
            "other 1",
        ] {
            assert!(Ppm::parse(wrong.as_bytes()).is_err(), "{wrong}");
        }
        assert!(Ppm::parse(b"minQuality 3\xff").is_err());
        assert!(Ppm::parse(&vec![b'#'; MOST_OCTETS + 1]).is_err());
        let many: Vec<_> = (0..60).map(|number| format!("class-{number} a 0 0 0")).collect();
        assert!(Ppm::parse(many.join("\n").as_bytes()).is_err());
    }
}
